"""chrF (Popović 2015) and chrF++ (Popović 2017) as sacreBLEU 2.6 computes them, corpus and sentence level.

A row holds, for each order of character n-grams and then of word n-grams, those of the output, those of the reference
and the matches, with the reference of the highest sentence score where there are several; chrF is a function of their
sum. White space counts for nothing unless asked for.

>>> chrf = Chrf()
>>> rows = chrf.statistics(Batch(["The cat sat on mat."], [["The cat sat on the mat."]]))
>>> round(float(chrf.score(rows.sum(0))[0]), 4)
66.6781
"""

from __future__ import annotations

import numpy as np

from harness.inputs.installed import version
from harness.metrics import columns
from harness.metrics.columns import Chunk
from harness.metrics.means import by_parts
from harness.metrics.tokenizers import chrf_words, lowered, white_space
from harness.types import Array, Batch, HarnessError, Metric

MOST = 100
"""Of orders and beta: beyond all use, and a run folder that asks for a billion costs nothing."""
_EPSILON = 1e-16  # chrF++.py's, Moses' and NLTK's too


class Chrf(Metric):
    name = "chrf"
    title = "chrF"
    digits = 2
    bounds = (0.0, 100.0)
    reads = ("outputs", "references")
    threads = True
    plain = ("char_order", "word_order", "beta", "lowercase", "whitespace", "eps_smoothing")

    def __init__(
        self,
        char_order: int = 6,
        word_order: int = 0,
        beta: int = 2,
        lowercase: bool = False,
        whitespace: bool = False,
        eps_smoothing: bool = False,
    ) -> None:
        """`beta`: how many times more recall weighs than precision. `eps_smoothing`: orders without n-grams count as
        almost 0 instead of being left out."""
        options = {"char_order": (char_order, 1), "word_order": (word_order, 0), "beta": (beta, 1)}
        for option, (value, least) in options.items():
            if not least <= value <= MOST:
                raise HarnessError(f"metrics.{self.name}.{option}={value}; expected {least} to {MOST}")
        self.char_order, self.word_order, self.beta = char_order, word_order, beta
        self.lowercase, self.whitespace, self.eps_smoothing = lowercase, whitespace, eps_smoothing
        kinds = [
            f"{kind}{n}" for kind, order in (("char", char_order), ("word", word_order)) for n in range(1, order + 1)
        ]
        self.columns = tuple(f"{count}_{kind}" for kind in kinds for count in ("output", "reference", "match"))
        self.counted = self.columns
        self.score_names = (self.name,)

    def statistics(self, batch: Batch) -> Array:
        return columns.rows(batch, len(self.columns), self._rows, self.advance)

    def _rows(self, chunk: Chunk) -> Array:
        column = lowered(chunk.all) if self.lowercase else chunk.all
        kinds = [(columns.characters(column, white_space(), self.whitespace), self.char_order)]
        if self.word_order:
            kinds.append((columns.tokenized(column, chrf_words()), self.word_order))
        ours, theirs = chunk.pairs
        alone = np.append(theirs, len(column))  # each reference by itself
        parts = []
        for tokens, order in kinds:
            matches, _ = columns.overlap(tokens, ours, alone, order)
            total = columns.totals(tokens.lengths, order)
            wanted = total[theirs]
            # n-grams of the output count only where the reference has any
            parts.append(np.stack([np.where(wanted > 0, total[ours], 0), wanted, matches], axis=-1))
        rows: Array = np.concatenate(parts, axis=1).reshape(len(ours), -1)
        if len(rows) == len(chunk):
            return rows
        return rows[columns.best(self.score(rows), chunk.each)[:, 0]]

    def score(self, sums: Array) -> Array:
        """(..., k) to (..., 1); the same steps as sacreBLEU's, order after order, on all rows at once."""
        factor = self.beta**2
        smoothed = np.zeros(sums.shape[:-1])
        precisions, recalls, orders = np.zeros_like(smoothed), np.zeros_like(smoothed), np.zeros_like(smoothed)
        with np.errstate(divide="ignore", invalid="ignore"):
            for i in range(0, len(self.columns), 3):
                produced, wanted, matched = sums[..., i], sums[..., i + 1], sums[..., i + 2]
                precision = np.where(produced > 0, matched / produced, _EPSILON)
                recall = np.where(wanted > 0, matched / wanted, _EPSILON)
                below = factor * precision + recall
                smoothed += np.where(below > 0, (1 + factor) * precision * recall / below, _EPSILON)
                both = (produced > 0) & (wanted > 0)
                precisions += np.where(both, precision, 0)
                recalls += np.where(both, recall, 0)
                orders += both
            if self.eps_smoothing:
                scores = 100 * smoothed / (self.char_order + self.word_order)
            else:
                precision = np.where(orders > 0, precisions / orders, 0)
                recall = np.where(orders > 0, recalls / orders, 0)
                average = (1 + factor) * precision * recall / (factor * precision + recall)
                scores = np.where(precision + recall > 0, 100 * average, 0)
        return np.where(np.isnan(sums[..., 0]), np.nan, scores)[..., None]

    def score_examples(self, rows: Array) -> Array:
        return by_parts(self.score, rows)

    def definition(self) -> dict[str, str]:
        beta = {} if self.beta == 2 else {"beta": str(self.beta)}
        return {
            "case": "lc" if self.lowercase else "mixed",
            "eff": "no" if self.eps_smoothing else "yes",
            "nc": str(self.char_order),
            "nw": str(self.word_order),
            "space": "yes" if self.whitespace else "no",
            **beta,
        }

    def provenance(self) -> dict[str, str]:
        return {"version": version("sacrebleu")}


class ChrfPlusPlus(Chrf):
    """chrF++: words and pairs of words count as well."""

    name = "chrfpp"
    title = "chrF++"

    def __init__(
        self,
        char_order: int = 6,
        word_order: int = 2,
        beta: int = 2,
        lowercase: bool = False,
        whitespace: bool = False,
        eps_smoothing: bool = False,
    ) -> None:
        super().__init__(char_order, word_order, beta, lowercase, whitespace, eps_smoothing)
