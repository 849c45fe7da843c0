"""BLEU (Papineni et al. 2002) as sacreBLEU 2.6 computes it, corpus and sentence level.

A row holds clipped matches, output n-grams and reference n-grams for each order, and the two lengths; corpus BLEU is a
function of their sum, never a mean of sentence scores. Tokenizers are sacreBLEU's own.

>>> bleu = Bleu(tokenize="none", max_order=2)
>>> rows = bleu.statistics(["gato no tapete"], [["o gato está no tapete"]], [None])
>>> [round(float(x), 4) for x in bleu.score(rows.sum(0))]  # bleu, p1, p2, r1, r2, bp
[36.3041, 100.0, 50.0, 60.0, 25.0, 0.5134]
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from harness.types import Array, HarnessError, Metric

SMOOTHING = ("exp", "floor", "add-k", "none")
SMOOTH_DEFAULTS = {"floor": 0.1, "add-k": 1.0}  # Chen and Cherry 2014, as in sacreBLEU


class Bleu(Metric):
    name = "bleu"

    def __init__(
        self,
        tokenize: str = "13a",
        lowercase: bool = False,
        smooth_method: str = "exp",
        smooth_value: float | None = None,
        max_order: int = 4,
        effective_order: bool = False,
    ) -> None:
        if smooth_method not in SMOOTHING:
            raise HarnessError(f"metrics.bleu.smooth_method={smooth_method}; expected one of {', '.join(SMOOTHING)}")
        if smooth_value is not None and smooth_value < 0:
            raise HarnessError(f"metrics.bleu.smooth_value={smooth_value}; expected 0 or more")
        if not 1 <= max_order <= 9:
            raise HarnessError(f"metrics.bleu.max_order={max_order}; expected 1 to 9")
        self.tokenize, self.lowercase = tokenize, lowercase
        self.smooth_method = smooth_method
        self.smooth_value = SMOOTH_DEFAULTS.get(smooth_method) if smooth_value is None else smooth_value
        self.order, self.effective_order = max_order, effective_order
        orders = range(1, max_order + 1)
        self.columns = (
            "sys_len",
            "ref_len",
            *(f"{what}{n}" for what in ("correct", "total", "reference") for n in orders),
        )
        self.score_names = ("bleu", *(f"bleu.{what}{n}" for what in "pr" for n in orders), "bleu.bp")

    @cached_property
    def _tokenizer(self) -> Any:
        from sacrebleu.metrics.bleu import BLEU

        if self.tokenize not in BLEU.TOKENIZERS:
            raise HarnessError(
                f"metrics.bleu.tokenize={self.tokenize}; expected one of {', '.join(sorted(BLEU.TOKENIZERS))}"
            )
        try:
            return BLEU(tokenize=self.tokenize).tokenizer
        except (ImportError, RuntimeError, OSError) as error:
            raise HarnessError(f"metrics.bleu.tokenize={self.tokenize} cannot be had: {error}") from error

    def _ngrams(self, text: str) -> tuple[Counter[tuple[str, ...]], int]:
        text = text.lower() if self.lowercase else text
        tokens = self._tokenizer(text.rstrip()).split()
        counts: Counter[tuple[str, ...]] = Counter()
        for n in range(1, self.order + 1):
            counts.update(tuple(tokens[i : i + n]) for i in range(len(tokens) - n + 1))
        return counts, len(tokens)

    def statistics(
        self, outputs: Sequence[str], references: Sequence[Sequence[str]], sources: Sequence[str | None]
    ) -> Array:
        rows = np.zeros((len(outputs), len(self.columns)))
        for row, output, refs in zip(rows, outputs, references, strict=True):
            found, length = self._ngrams(output)
            merged: Counter[tuple[str, ...]] = Counter()
            lengths = []
            for reference in refs:
                counts, ref_length = self._ngrams(reference)
                merged |= counts
                lengths.append(ref_length)
            row[0] = length
            row[1] = min(lengths, key=lambda x: (abs(x - length), x))
            correct, total, reference_total = (row[2 + i * self.order :][: self.order] for i in range(3))
            for ngram, count in found.items():
                total[len(ngram) - 1] += count
                correct[len(ngram) - 1] += min(count, merged[ngram])
            for ngram, count in merged.items():
                reference_total[len(ngram) - 1] += count
            self.advance(1)
        return rows

    def score(self, sums: Array) -> Array:
        return self._score(sums, self.effective_order)

    def score_examples(self, rows: Array) -> Array:
        """Sentence BLEU: effective order, as sacreBLEU's `sentence_bleu`."""
        return self._score(rows, True)

    def _score(self, sums: Array, effective: bool) -> Array:
        """(..., k) to (..., s); the same steps as sacreBLEU's compute_bleu, on all rows at once."""
        order = self.order
        sys_len, ref_len = sums[..., 0], sums[..., 1]
        matched = sums[..., 2 : 2 + order]
        correct, total = matched.copy(), sums[..., 2 + order : 2 + 2 * order].copy()
        if self.smooth_method == "add-k":
            correct[..., 1:] += self.smooth_value or 0.0
            total[..., 1:] += self.smooth_value or 0.0
        with np.errstate(divide="ignore", invalid="ignore"):
            penalty = np.where(sys_len < ref_len, np.exp(1 - ref_len / sys_len), 1.0)
            precisions = np.zeros_like(correct)
            alive = (matched > 0).any(-1)
            halving = np.ones_like(sys_len)
            length = np.full_like(sys_len, 0.0 if effective else order)
            for n in range(order):
                alive = alive & (total[..., n] > 0)
                length = np.where(alive, n + 1.0, length) if effective else length
                hit = correct[..., n] > 0
                if self.smooth_method == "exp":
                    halving = np.where(alive & ~hit, halving * 2, halving)
                    missed = 100.0 / (halving * total[..., n])
                elif self.smooth_method == "floor":
                    missed = 100.0 * np.float64(self.smooth_value or 0.0) / total[..., n]
                else:
                    missed = np.zeros_like(sys_len)
                precision = np.where(hit, 100.0 * correct[..., n] / total[..., n], missed)
                precisions[..., n] = np.where(alive, precision, 0.0)
            used = np.arange(order) < length[..., None]
            logs = np.where(used, np.log(precisions), 0.0).sum(-1)
            bleu = np.where(length > 0, penalty * np.exp(logs / length), 0.0)
            recalls = 100.0 * matched / sums[..., 2 + 2 * order :]
        recalls = np.where(np.isnan(sums[..., 2 + 2 * order :]) | np.isfinite(recalls), recalls, 0.0)
        scores = np.concatenate([bleu[..., None], precisions, recalls, penalty[..., None]], axis=-1)
        return np.where(np.isnan(sums[..., :1]), np.nan, scores)

    def definition(self) -> dict[str, str]:
        smooth = self.smooth_method + ("" if self.smooth_value is None else f"[{self.smooth_value:.2f}]")
        order = {} if self.order == 4 else {"order": str(self.order)}
        return {
            "case": "lc" if self.lowercase else "mixed",
            "eff": "yes" if self.effective_order else "no",
            "tok": str(self._tokenizer.signature()),
            "smooth": smooth,
            **order,
        }

    def provenance(self) -> dict[str, str]:
        import sacrebleu

        return {"version": sacrebleu.__version__}
