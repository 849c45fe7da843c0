"""One resampling engine for all metrics: counts of how often each unit was drawn, times rows of statistics.

A unit is an example, or a cluster of examples whose rows are summed first. Counts are drawn once and shared by all
metrics and all systems of a comparison. Randomness comes from (seed, purpose) through SeedSequence, chunk by chunk, and
each product has a shape that depends on nothing but n and k, so that results are byte-identical whatever else runs.

>>> [c.shape for c in draws(n=3, resamples=4, seed=1, purpose="doc")]
[(4, 3)]
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from harness.types import Advance, Array, Metric, nothing

Codes = NDArray[np.int64]
Kept = NDArray[np.bool_]

CELLS = 2**22
"""Cells of a chunk of counts: 32 MiB of float64, whatever n is."""


def generator(seed: int, purpose: str, *path: int) -> np.random.Generator:
    """The generator of one consumer of randomness."""
    word = int.from_bytes(hashlib.sha256(purpose.encode()).digest()[:8], "big")
    return np.random.default_rng(np.random.SeedSequence([seed, word, *path]))


def chunks(n: int, resamples: int) -> Iterator[tuple[int, int, int]]:
    """(index, rows of the chunk, rows of it to use); every chunk of one n has the same shape."""
    size = max(1, min(256, CELLS // max(n, 1)))
    size = min(size, resamples) if resamples < size else size
    for index, start in enumerate(range(0, resamples, size)):
        yield index, size, min(size, resamples - start)


def draws(n: int, resamples: int, seed: int, purpose: str) -> Iterator[Array]:
    """Bootstrap counts in chunks (chunk, n): each row sums to n."""
    for index, size, used in chunks(n, resamples):
        picks = generator(seed, purpose, index).integers(0, n, size=(size, n))
        picks += np.arange(size)[:, None] * n
        yield np.bincount(picks.ravel(), minlength=size * n).reshape(size, n).astype(np.float64)[:used]


class Sample:
    """A metric's rows (n, k) as units that can be drawn: examples, or clusters numbered by `codes` (n,) from 0.

    Rows of a summable metric are summed by cluster. What is no function of a sum keeps its rows, each with the weight
    of its cluster. `keep` (n,) leaves examples out; the units stay as they are, so that systems can share draws.
    """

    def __init__(self, metric: Metric, rows: Array, codes: Codes | None = None, keep: Kept | None = None) -> None:
        kept = np.ones(len(rows), dtype=np.bool_) if keep is None else keep
        self.metric = metric
        self.summable = type(metric).score_weighted is Metric.score_weighted
        self.units = len(rows) if codes is None else int(codes.max(initial=-1)) + 1
        self.members = (np.arange(len(rows)) if codes is None else codes)[kept]
        """(kept,) the unit of each row, for what is not summable."""
        self.rows = by_cluster(np.where(kept[:, None], rows, 0.0), codes) if self.summable else rows[kept]

    def scores(self, weights: Array) -> Array:
        """(r, s) under weights (r, units)."""
        return self.metric.score_weighted(weights if self.summable else weights[:, self.members], self.rows)


def replicates(
    samples: Sequence[Sample], resamples: int, seed: int, purpose: str, advance: Advance = nothing
) -> list[Array]:
    """Bootstrap replicates (resamples, s) of each sample of the same units, on shared counts."""
    parts: list[list[Array]] = [[] for _ in samples]
    with quiet_single_thread():
        for counts in draws(samples[0].units, resamples, seed, purpose):
            for part, sample in zip(parts, samples, strict=True):
                part.append(sample.scores(counts))
                advance(len(counts))
    return [np.concatenate(part) for part in parts]


@contextmanager
def quiet_single_thread() -> Iterator[None]:
    """One BLAS thread, since the last bits of a product depend on how it is split; 0/0 is NaN without a warning."""
    with threadpool_limits(limits=1, user_api="blas"), np.errstate(divide="ignore", invalid="ignore"):
        yield


def jackknife(sample: Sample) -> Array:
    """Scores (units, s) with each unit left out in turn."""
    with quiet_single_thread():
        if sample.summable:
            return sample.metric.score(sample.rows.sum(0) - sample.rows)
        leave_out = (1.0 - (np.arange(sample.units) == i)[None] for i in range(sample.units))
        return np.concatenate([sample.scores(weights) for weights in leave_out])


def by_cluster(rows: Array, codes: Codes | None) -> Array:
    """Rows (n, k) summed within clusters (c, k); `codes` (n,) numbers the clusters from 0 without gaps."""
    if codes is None:
        return rows
    summed = np.zeros((int(codes.max(initial=-1)) + 1, rows.shape[1]))
    np.add.at(summed, codes, rows)
    return summed


def cluster_codes(values: Sequence[object] | None) -> Codes | None:
    """Numbers for cluster names in order of first appearance."""
    if values is None:
        return None
    known: dict[str, int] = {}
    return np.array([known.setdefault(repr(value), len(known)) for value in values], dtype=np.int64)
