"""Distinct-n (Li et al. 2016): the different n-grams of all outputs together, over all their n-grams, 0 to 1.

How varied a system's outputs are, whatever they say. An n-gram that two outputs share counts once above the line, so
that the score of a run is no function of a sum over examples: each example also has the list of its n-grams, as hashes
of 64 bits that are the same in every run. (Two of a hundred million n-grams share theirs once in 3,700 corpora.)

A resample repeats examples, which adds n-grams but no different ones: it scores far too low, and none of its intervals
holds the truth. Intervals and tests come from leaving out each example in turn; docs/metrics.md has the measurements.

>>> distinct = Distinct(tokenize="none")
>>> rows = distinct.statistics(Batch(["so it is so", "it is not"], []))
>>> distinct.score_weighted(np.ones((1, 2)), rows).round(4).tolist()  # so it is not; so it, it is, is so, is not
[[0.5714, 0.8]]
>>> distinct.score_examples(rows.values).round(4).tolist()
[[0.75, 1.0], [1.0, 1.0]]
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from harness.inputs import arrow
from harness.metrics.tokenizers import Tokenizer, lowered, tokenizer
from harness.types import Array, Batch, HarnessError, Integers, Lists, Metric, Rows, Texts

CHUNK = 8192
"""Outputs that are hashed at once."""
FIRST, SECOND, THIRD = (np.uint64(x) for x in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))
"""Of the generator splitmix64 (Steele et al. 2014), whose last steps turn any number into one that looks random."""


class Distinct(Metric):
    name = "distinct"
    reads = ("outputs",)
    threads = True
    needs_references = False
    jackknifed = True
    plain = ("orders", "tokenize", "lowercase")

    def __init__(self, orders: Sequence[int] = (1, 2), tokenize: str = "13a", lowercase: bool = False) -> None:
        if not orders or not all(1 <= n <= 100 for n in orders) or len(set(orders)) < len(orders):
            raise HarnessError(f"metrics.distinct.orders={list(orders)}; expected different numbers, 1 to 100")
        self.orders, self.tokenize, self.lowercase = tuple(orders), tokenize, lowercase
        self.columns = tuple(f"{what}{n}" for n in self.orders for what in ("distinct", "total"))
        self.counted = self.columns
        self.lists = tuple(f"ngrams{n}" for n in self.orders)
        self.score_names = tuple(f"distinct{n}" for n in self.orders)

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        return tokenizer(self.tokenize, "metrics.distinct.tokenize")

    def statistics(self, batch: Batch) -> Rows:
        starts = range(0, max(len(batch), 1), CHUNK)
        return Rows.joined(*(self._rows(arrow.column(batch.outputs[start : start + CHUNK])) for start in starts))

    def _rows(self, outputs: Texts) -> Rows:
        tokens = self._tokenizer(lowered(outputs) if self.lowercase else outputs)
        words = np.array([_hash(word) for word in tokens.vocabulary()], dtype=np.uint64)[tokens.ids]
        lists = [Lists.of([])] * len(self.orders)
        values = np.empty((len(outputs), len(self.columns)))
        for n, (text, ngrams) in enumerate(_ngrams(words, tokens.lengths, max(self.orders)), start=1):
            if n in self.orders:
                i = self.orders.index(n)
                lists[i] = _without_repeats(text, ngrams, len(outputs))
                values[:, 2 * i] = np.diff(lists[i].starts)
                values[:, 2 * i + 1] = np.bincount(text, minlength=len(outputs))
        self.advance(len(outputs))
        return Rows(values, dict(zip(self.lists, lists, strict=True)))

    def score(self, sums: Array) -> Array:
        """(..., s) of the rows (..., k) of single outputs; NaN for one that is shorter than the n-gram."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return sums[..., ::2] / sums[..., 1::2]

    def score_weighted(self, weights: Array, rows: Rows) -> Array:
        different = [_different(weights > 0, rows.lists[name]) for name in self.lists]
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.stack(different, axis=1) / (weights @ rows.values[:, 1::2]))

    def score_left_out(self, rows: Rows, units: Integers, count: int) -> Array:
        """An n-gram is gone without a unit where all examples that have it are of that unit."""
        different = np.stack([_left(rows.lists[name], units, count) for name in self.lists], axis=1)
        totals = rows.values[:, 1::2]
        own = np.stack([np.bincount(units, column, minlength=count) for column in totals.T], axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(different / (totals.sum(0) - own))

    def title_of(self, score: str) -> str:
        return f"Distinct-{score.removeprefix('distinct')}"

    def definition(self) -> dict[str, str]:
        return {"case": "lc" if self.lowercase else "mixed", "tok": self._tokenizer.signature}


def _hash(word: str) -> int:
    return int.from_bytes(hashlib.blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


def _ngrams(
    words: NDArray[np.uint64], lengths: NDArray[np.integer], most: int
) -> Iterator[tuple[Integers, NDArray[np.uint64]]]:
    """For n from 1 to `most`: (the text of each n-gram, its hash), from hashes of the words of texts one after the
    other and how many each text has."""
    text = np.repeat(np.arange(len(lengths)), lengths)
    left = np.repeat(np.cumsum(lengths), lengths) - np.arange(len(words))  # words up to the end of the text
    ngrams = words
    yield text, ngrams
    for n in range(2, most + 1):
        ngrams, room = _mixed(ngrams * FIRST + np.roll(words, 1 - n)), left >= n
        yield text[room], ngrams[room]


def _mixed(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    numbers = (numbers ^ (numbers >> np.uint64(30))) * SECOND
    numbers = (numbers ^ (numbers >> np.uint64(27))) * THIRD
    return np.asarray(numbers ^ (numbers >> np.uint64(31)))


def _without_repeats(text: Integers, ngrams: NDArray[np.uint64], n: int) -> Lists:
    """A list for each of n texts of its different n-grams."""
    values = ngrams.view(np.int64)
    order = np.lexsort((values, text))
    text, values = text[order], values[order]
    new = np.ones(len(values), dtype=np.bool_)
    new[1:] = (text[1:] != text[:-1]) | (values[1:] != values[:-1])
    sizes = np.bincount(text[new], minlength=n)
    return Lists(values[new], np.concatenate([[0], np.cumsum(sizes)]))


def _different(present: NDArray[np.bool_], lists: Lists) -> Array:
    """(r,) how many different values the examples have that are present (r, n)."""
    from harness.metrics.kernels.presence import BITS, present_values

    starts, examples = lists.index
    counts = np.empty(len(present))
    masks, sums = np.empty(present.shape[1], np.uint64), np.empty(BITS, np.int64)
    present_values(present, np.append(starts, len(examples)), examples, masks, sums, counts)
    return counts


def _left(lists: Lists, units: Integers, count: int) -> Array:
    """(count,) how many different values there are without the examples of each unit."""
    starts, examples = lists.index
    if not len(starts):
        return np.zeros(count)
    first, last = (reduce(units[examples], starts) for reduce in (np.minimum.reduceat, np.maximum.reduceat))
    return len(starts) - np.bincount(first[first == last], minlength=count).astype(np.float64)
