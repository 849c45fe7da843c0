"""BLEU and exact match as the package `evaluate` of Hugging Face defines them: not what sacreBLEU and SQuAD do.
Its other metrics call the reference packages, as ours are tested to equal them.

>>> bleu = EvaluateBleu()
>>> rows = bleu.statistics(Batch(["the cat sat on a mat"], [["the cat sat on the mat", "the cat"]]))
>>> round(float(bleu.score(rows.sum(0))[0]), 4)  # of 1; the brevity is against the shortest reference
0.5373
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any

import numpy as np

from harness.metrics.bleu import Bleu
from harness.metrics.columns import Chunk
from harness.metrics.squad import ExactMatch
from harness.types import Array, Batch

__all__ = ["Batch", "EvaluateBleu", "EvaluateExactMatch", "words_for_tokens"]


def words_for_tokens(tokenizer: Callable[[str], Iterable[str]]) -> Callable[[Any], Any]:
    """What gives texts, and lists of them, a word of our own for each token of a tokenizer of the user's: whatever
    tokens hold, metrics see the same words where they are the same. Lines are tokenized one by one.

    >>> worded = words_for_tokens(str.split)
    >>> worded("The cat, the"), worded(["cat, The", "a"])
    ('w0 w1 w2', ['w1 w0', 'w3'])
    """
    words: dict[str, str] = {}

    def worded(text: Any) -> Any:
        if isinstance(text, str):
            lines = (tokenizer(line) for line in text.split("\n"))
            return "\n".join(" ".join(words.setdefault(token, f"w{len(words)}") for token in line) for line in lines)
        return [worded(each) for each in text] if isinstance(text, list | tuple) else text

    return worded


class EvaluateBleu(Bleu):
    """BLEU of 1 as TensorFlow's NMT code has it: no smoothing, or 1 added to all counts; the length of the shortest
    reference; 0 where an order has no match."""

    title, digits, bounds = "BLEU (of 1)", 4, (0.0, 1.0)

    def __init__(self, tokenize: str = "13a", max_order: int = 4, smooth: bool = False) -> None:
        super().__init__(tokenize, smooth_method="none", max_order=max_order)
        self.smooth = smooth

    def _rows(self, chunk: Chunk) -> Array:
        rows, tokens = super()._rows(chunk), self._tokenizer(chunk.all)
        rows[:, 1] = np.minimum.reduceat(tokens.lengths[chunk.first[0] :], chunk.each[:-1])
        return rows

    def _score(self, sums: Array, effective: bool) -> Array:
        order, added = self.order, 1.0 if self.smooth else 0.0
        scores = super()._score(sums, False)
        matches, possible = sums[..., 2 : 2 + order] + added, sums[..., 2 + order : 2 + 2 * order] + added
        with np.errstate(divide="ignore", invalid="ignore"):
            precisions = np.where(possible > 0, matches / possible, 0.0)
            mean = np.exp(np.log(precisions).mean(-1))
        penalty = scores[..., 1 + 2 * order]
        scores[..., 0] = np.where(precisions.min(-1) > 0, mean * penalty, 0.0)
        scores[..., 1 : 1 + order] = precisions
        scores[..., 1 + order : 1 + 2 * order] /= 100
        scores[np.isnan(sums[..., 0])] = np.nan
        return scores

    def definition(self) -> dict[str, str]:
        return {**super().definition(), "smooth": "1" if self.smooth else "none", "reflen": "shortest", "of": "1"}


class EvaluateExactMatch(ExactMatch):
    """Equal texts, letter for letter but for what is asked to be ignored."""

    threads = False

    def __init__(
        self,
        regexes_to_ignore: Sequence[str] | None = None,
        ignore_case: bool = False,
        ignore_punctuation: bool = False,
        ignore_numbers: bool = False,
    ) -> None:
        self.patterns = [re.compile(pattern) for pattern in regexes_to_ignore or ()]
        self.ignore_case = ignore_case
        dropped = string.punctuation * ignore_punctuation + string.digits * ignore_numbers
        self.dropped = str.maketrans("", "", dropped)
        self._definition = {
            "norm": "none",
            **({"without": "|".join(pattern.pattern for pattern in self.patterns)} if self.patterns else {}),
            **({"case": "lc"} if ignore_case else {}),
            **({"dropped": dropped} if dropped else {}),
        }

    def statistics(self, batch: Batch) -> Array:
        prepare = cache(self._prepare)  # references repeat, and so do short answers
        rows = np.ones((len(batch), 2))
        for row, output, references in zip(rows, batch.outputs, batch.references, strict=True):
            row[0] = prepare(output) in map(prepare, references)
        self.advance(len(batch))
        return rows

    def _prepare(self, text: str) -> str:
        for pattern in self.patterns:
            text = pattern.sub("", text)
        return (text.lower() if self.ignore_case else text).translate(self.dropped)

    def definition(self) -> dict[str, str]:
        return self._definition
