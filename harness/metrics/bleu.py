"""BLEU (Papineni et al. 2002) as sacreBLEU 2.6 computes it, corpus and sentence level.

A row holds clipped matches, output n-grams and reference n-grams for each order, and the two lengths; corpus BLEU is a
function of their sum, never a mean of sentence scores. Tokens are those of sacreBLEU's tokenizers.

>>> bleu = Bleu(tokenize="none", max_order=2)
>>> rows = bleu.statistics(Batch(["gato no tapete"], [["o gato está no tapete"]]))
>>> [round(float(x), 4) for x in bleu.score(rows.sum(0))]  # bleu, p1, p2, r1, r2, bp, then ratio and lengths
[36.3041, 100.0, 50.0, 60.0, 25.0, 0.5134, 0.6, 3.0, 5.0]
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from harness.inputs.installed import version
from harness.metrics import columns
from harness.metrics.alphabets import warn_of_whole_sentences
from harness.metrics.columns import Chunk
from harness.metrics.means import by_parts
from harness.metrics.tokenizers import Tokenizer, lowered, tokenizer
from harness.types import Array, Batch, HarnessError, Integers, Metric, check_choice

SMOOTHING = ("exp", "floor", "add-k", "none")
SMOOTH_DEFAULTS = {"floor": 0.1, "add-k": 1.0}  # Chen and Cherry 2014, as in sacreBLEU


class Bleu(Metric):
    name = "bleu"
    title = "BLEU"
    digits = 2
    multiplied = True
    bounds = (0.0, 100.0)
    reads = ("outputs", "references")
    threads = True
    counts = ("bleu.sys_len", "bleu.ref_len")
    plain = ("tokenize", "lowercase", "smooth_method", "smooth_value", "max_order", "effective_order", "weights")

    def __init__(
        self,
        tokenize: str = "13a",
        lowercase: bool = False,
        smooth_method: str = "exp",
        smooth_value: float | None = None,
        max_order: int = 4,
        effective_order: bool = False,
        weights: Sequence[float] | None = None,
    ) -> None:
        """`weights`: of each order in the geometric mean; None is all the same, as in sacreBLEU."""
        check_choice("metrics.bleu.smooth_method", smooth_method, SMOOTHING)
        if smooth_value is not None and smooth_method not in SMOOTH_DEFAULTS:
            raise HarnessError(
                f"metrics.bleu.smooth_value={smooth_value} with smooth_method={smooth_method}, which has none; "
                f"expected smooth_method={' or '.join(SMOOTH_DEFAULTS)}"
            )
        if smooth_value is not None and smooth_value < 0:
            raise HarnessError(f"metrics.bleu.smooth_value={smooth_value}; expected 0 or more")
        if not 1 <= max_order <= 9:
            raise HarnessError(f"metrics.bleu.max_order={max_order}; expected 1 to 9")
        if weights is not None and (len(weights) != max_order or min(weights) < 0 or not any(weights)):
            raise HarnessError(
                f"metrics.bleu.weights={list(weights)}; expected {max_order} numbers of 0 or more, not all 0, "
                f"one for each order (metrics.bleu.max_order={max_order})"
            )
        self.tokenize, self.lowercase = tokenize, lowercase
        self.smooth_method = smooth_method
        self.smooth_value = SMOOTH_DEFAULTS.get(smooth_method) if smooth_value is None else smooth_value
        self.order, self.effective_order = max_order, effective_order
        self.weights = None if weights is None else tuple(map(float, weights))
        orders = range(1, max_order + 1)
        self.columns = (
            "sys_len",
            "ref_len",
            *(f"{count}{n}" for count in ("correct", "total", "reference") for n in orders),
        )
        self.counted = self.columns
        ngrams = (f"bleu.{letter}{n}" for letter in "pr" for n in orders)
        self.score_names = ("bleu", *ngrams, "bleu.bp", "bleu.ratio", "bleu.sys_len", "bleu.ref_len")

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        return tokenizer(self.tokenize)

    def fit(self, references: Sequence[Sequence[str]]) -> Bleu:
        """The same, with a warning where the tokenizer takes whole sentences for words."""
        warn_of_whole_sentences(self.tokenize, references)
        return self

    def statistics(self, batch: Batch) -> Array:
        return columns.rows(batch, len(self.columns), self._rows, self.advance)

    def _rows(self, chunk: Chunk) -> Array:
        tokens = self._tokenizer(lowered(chunk.all) if self.lowercase else chunk.all)
        matches, merged = columns.overlap(tokens, chunk.output, chunk.first, self.order)
        size = tokens.lengths[chunk.output]
        ours, theirs = (tokens.lengths[places] for places in chunk.pairs)
        nearest = np.abs(theirs - ours) << 32 | theirs  # the smaller of two equally near
        closest = np.minimum.reduceat(nearest, chunk.each[:-1]) & 0xFFFFFFFF
        return np.column_stack([size, closest, matches, columns.totals(size, self.order), merged])

    def score(self, sums: Array) -> Array:
        return self._score(sums, self.effective_order)

    def score_examples(self, rows: Array) -> Array:
        """Sentence BLEU: effective order, as sacreBLEU's `sentence_bleu`."""
        return by_parts(lambda part: self._score(part, True), rows)

    def _score(self, sums: Array, effective: bool) -> Array:
        """(..., k) to (..., s); the same steps as sacreBLEU's compute_bleu, on all rows at once."""
        order = self.order
        sys_len, ref_len, *counts = np.ascontiguousarray(np.moveaxis(sums, -1, 0))  # a column at a time
        matched, total, wanted = counts[:order], counts[order : 2 * order], counts[2 * order :]
        added = (self.smooth_value or 0.0) if self.smooth_method == "add-k" else None
        scores = np.empty((*np.shape(sums)[:-1], len(self.score_names)))
        with np.errstate(divide="ignore", invalid="ignore"):
            penalty = np.where(sys_len < ref_len, np.exp(1 - ref_len / sys_len), 1.0)
            alive = np.any([matches > 0 for matches in matched], axis=0)
            halving = np.ones_like(sys_len)
            length = np.full_like(sys_len, 0.0 if effective else order)
            precisions = []
            for n in range(order):
                correct, possible = matched[n], total[n]
                if added is not None and n:
                    correct, possible = correct + added, possible + added
                alive = alive & (possible > 0)
                length = np.where(alive, n + 1.0, length) if effective else length
                hit = correct > 0
                if self.smooth_method == "exp":
                    halving = np.where(alive & ~hit, halving * 2, halving)
                    missed = 100.0 / (halving * possible)
                elif self.smooth_method == "floor":
                    missed = 100.0 * np.float64(self.smooth_value or 0.0) / possible
                else:
                    missed = np.zeros_like(sys_len)
                precision = np.where(hit, 100.0 * correct / possible, missed)
                precisions.append(np.where(alive, precision, 0.0))
                recall = 100.0 * matched[n] / wanted[n]
                scores[..., 1 + n] = precisions[n]
                scores[..., 1 + order + n] = np.where(np.isnan(wanted[n]) | np.isfinite(recall), recall, 0.0)
            scores[..., 0] = np.where(length > 0, penalty * np.exp(self._mean(precisions, length)), 0.0)
            ratio = np.where(ref_len > 0, sys_len / ref_len, 0.0)
        for i, column in enumerate((penalty, ratio, sys_len, ref_len), start=1 + 2 * order):
            scores[..., i] = column
        scores[np.isnan(sums[..., 0])] = np.nan
        return scores

    def _mean(self, precisions: Sequence[Array], length: Array) -> Array:
        """The mean logarithm of the precisions of the first `length` orders."""
        if self.weights is None:
            logs = [np.where(n < length, np.log(precision), 0.0) for n, precision in enumerate(precisions)]
            # of up to seven numbers NumPy's sum is the plain one
            summed = sum(logs[1:], logs[0]) if len(logs) < 8 else np.stack(logs, axis=-1).sum(-1)
            return np.asarray(summed / length)
        # NLTK's, of precisions from 0 to 1; orders that are left out leave their weight to the others
        weights, used = np.array(self.weights), np.arange(self.order) < length[..., None]
        logs = np.where(used & (weights > 0), weights * np.log(np.stack(precisions, axis=-1) / 100), 0.0).sum(-1)
        left = np.where(used, weights, 0.0).sum(-1)
        return np.where(left > 0, np.log(100) + logs * weights.sum() / left, -np.inf)

    def doubt(self, sums: Array) -> str | None:
        """An order without a match is made up by smoothing, or makes the score 0: resamples say nothing of it."""
        missing = self._unmatched(sums)
        if not len(missing):
            return None
        return f"no {missing[0] + 1}-gram of the outputs is in a reference: the interval may hold less than stated"

    def unseen(self, rows: Array) -> Array | None:
        """An order without a match has at most as many as the one below: all of its n-grams could have gone on."""
        missing = self._unmatched(rows.sum(0))
        if not len(missing):
            return None
        filled = rows.copy()
        for n in missing:
            filled[:, 2 + n] = np.minimum(filled[:, 1 + n], rows[:, 2 + self.order + n])
        return filled

    def _unmatched(self, sums: Array) -> Integers:
        """The orders, from 0, of whose n-grams none matches, though some of shorter ones do."""
        matched, total = sums[2 : 2 + self.order], sums[2 + self.order : 2 + 2 * self.order]
        return np.flatnonzero((matched == 0) & (total > 0)) if matched.any() else np.empty(0, np.int64)

    def digits_of(self, score: str) -> int:
        return 4 if score in ("bleu.bp", "bleu.ratio") else super().digits_of(score)  # of 1, where BLEU is of 100

    def definition(self) -> dict[str, str]:
        smooth = self.smooth_method + ("" if self.smooth_value is None else f"[{self.smooth_value:.2f}]")
        order = {} if self.order == 4 else {"order": str(self.order)}
        weights = {} if self.weights is None else {"weights": ",".join(f"{w:g}" for w in self.weights)}
        return {
            "case": "lc" if self.lowercase else "mixed",
            "eff": "yes" if self.effective_order else "no",
            "tok": self._tokenizer.signature,
            "smooth": smooth,
            **order,
            **weights,
        }

    def provenance(self) -> dict[str, str]:
        return {"version": version("sacrebleu")}
