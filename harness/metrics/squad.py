"""Exact match and token F1 as the evaluation script of SQuAD 1.1 (Rajpurkar et al. 2016) computes them, 0 to 100.

Output and references are lower-cased, then lose ASCII punctuation, English articles and extra white space. The
best reference counts; the score of a run is the mean over examples.

Where output and reference are both empty after that, exact match is 100 and F1, having no token in common, is 0. The
script of SQuAD 2.0 differs there: its F1 is 100.

>>> f1 = TokenF1()
>>> rows = f1.statistics(Batch(["The Normans, in France"], [["France", "in France."]]))
>>> round(float(f1.score(rows.sum(0))[0]), 4)  # normans in france; in france
80.0
"""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from harness.metrics import columns
from harness.metrics.columns import Chunk, Integers, Tokens
from harness.metrics.means import means
from harness.metrics.tokenizers import squad_words
from harness.types import Array, Batch, Metric
from harness.types.texts import places_of


class _Squad(Metric):
    """The mean over examples of what the best reference gives."""

    reads = ("outputs", "references")
    averaged = True
    threads = True
    bounds = (0.0, 100.0)

    def statistics(self, batch: Batch) -> Array:
        return columns.rows(batch, len(self.columns), self._rows, self.advance)

    def _rows(self, chunk: Chunk) -> Array:
        values = self._matched(squad_words(chunk.all), *chunk.pairs)
        return np.column_stack([np.maximum.reduceat(values, chunk.each[:-1]), np.ones(len(chunk))])

    @abstractmethod
    def _matched(self, tokens: Tokens, outputs: Integers, references: Integers) -> Array:
        """(pairs,) 0 to 1 of each pair of texts; the references follow one another and are the last texts."""

    def score(self, sums: Array) -> Array:
        return means(np.multiply(sums, (100.0, 1.0)))

    def definition(self) -> dict[str, str]:
        return {"norm": "squad1.1", "refs": "max"}


class ExactMatch(_Squad):
    name = "exact_match"
    title = "Exact match"
    columns, counted = ("exact_match", "count"), ("count",)
    score_names = ("exact_match",)

    def _matched(self, tokens: Tokens, outputs: Integers, references: Integers) -> Array:
        equal = tokens.lengths[outputs] == tokens.lengths[references]
        alike = np.flatnonzero(equal)
        words = tokens.starts.astype(np.int64)
        ours, starts = places_of(words, outputs[alike].astype(np.int64))
        theirs, _ = places_of(words, references[alike].astype(np.int64))
        pairs = np.repeat(alike, np.diff(starts))
        equal[pairs[tokens.ids[ours] != tokens.ids[theirs]]] = False
        matched: Array = equal.astype(np.float64)
        return matched


class TokenF1(_Squad):
    name = "token_f1"
    title = "Token F1"
    columns, counted = ("token_f1", "count"), ("count",)
    score_names = ("token_f1",)

    def _matched(self, tokens: Tokens, outputs: Integers, references: Integers) -> Array:
        alone = np.append(references, references[-1] + 1)  # each reference by itself
        common = columns.overlap(tokens, outputs, alone, 1)[0][:, 0]
        some = common > 0
        values = np.zeros(len(common))
        precision = common[some] / tokens.lengths[outputs[some]]
        recall = common[some] / tokens.lengths[references[some]]
        values[some] = 2 * precision * recall / (precision + recall)
        return values
