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

import re
import string
from abc import abstractmethod
from collections import Counter
from functools import cache
from typing import Any

import numpy as np

from harness.metrics.means import means
from harness.types import Array, Batch, Metric

_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")


def normalise(text: str) -> str:
    """
    >>> normalise("An apple, THE_end (a.k.a. 'the' end)")
    'apple theend aka end'
    """
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


class _Squad(Metric):
    """The mean over examples of what the best reference gives."""

    reads = ("outputs", "references")
    averaged = True
    bounds = (0.0, 100.0)

    def statistics(self, batch: Batch) -> Array:
        prepare = cache(self._prepare)  # references repeat, and so do short answers
        rows = np.ones((len(batch), len(self.columns)))
        for row, output, refs in zip(rows, batch.outputs, batch.references, strict=True):
            row[0] = max(self._match(prepare(output), prepare(reference)) for reference in refs)
            self.advance(1)
        return rows

    @abstractmethod
    def _prepare(self, text: str) -> Any:
        """A text in the form that is compared."""

    @abstractmethod
    def _match(self, output: Any, reference: Any) -> float:
        """0 to 1."""

    def score(self, sums: Array) -> Array:
        return means(np.multiply(sums, (100.0, 1.0)))

    def definition(self) -> dict[str, str]:
        return {"norm": "squad1.1", "refs": "max"}


class ExactMatch(_Squad):
    name = "exact_match"
    title = "Exact match"
    columns, counted = ("exact_match", "count"), ("count",)
    score_names = ("exact_match",)

    def _prepare(self, text: str) -> str:
        return normalise(text)

    def _match(self, output: str, reference: str) -> float:
        return float(output == reference)


class TokenF1(_Squad):
    name = "token_f1"
    title = "Token F1"
    columns, counted = ("token_f1", "count"), ("count",)
    score_names = ("token_f1",)

    def _prepare(self, text: str) -> Counter[str]:
        return Counter(normalise(text).split())

    def _match(self, output: Counter[str], reference: Counter[str]) -> float:
        common = (output & reference).total()
        if not common:
            return 0.0
        precision, recall = common / output.total(), common / reference.total()
        return 2 * precision * recall / (precision + recall)
