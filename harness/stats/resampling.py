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

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from harness.types import Advance, Array, Metric, nothing

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


def replicates(
    samples: Sequence[tuple[Metric, Array]], resamples: int, seed: int, purpose: str, advance: Advance = nothing
) -> list[Array]:
    """Bootstrap replicates (resamples, s) of each (metric, rows (n, k)), on shared counts."""
    n = len(samples[0][1])
    parts: list[list[Array]] = [[] for _ in samples]
    # one BLAS thread: the last bits of a product depend on how it is split
    with threadpool_limits(limits=1, user_api="blas"), np.errstate(divide="ignore", invalid="ignore"):
        for counts in draws(n, resamples, seed, purpose):
            for part, (metric, rows) in zip(parts, samples, strict=True):
                part.append(metric.score_weighted(counts, rows))
            advance(len(counts))
    return [np.concatenate(part) for part in parts]


def jackknife(metric: Metric, rows: Array) -> Array:
    """Scores (n, s) with each unit left out in turn."""
    with np.errstate(divide="ignore", invalid="ignore"):
        if type(metric).score_weighted is Metric.score_weighted:
            return metric.score(rows.sum(0) - rows)
        weights = 1.0 - np.eye(len(rows))
        return np.concatenate([metric.score_weighted(weights[i : i + 1], rows) for i in range(len(rows))])


def by_cluster(rows: Array, codes: NDArray[np.int64] | None) -> Array:
    """Rows (n, k) summed within clusters (c, k); `codes` (n,) numbers the clusters from 0 without gaps."""
    if codes is None:
        return rows
    summed = np.zeros((int(codes.max()) + 1 if len(codes) else 0, rows.shape[1]))
    np.add.at(summed, codes, rows)
    return summed


def cluster_codes(values: Sequence[object] | None) -> NDArray[np.int64] | None:
    """Numbers for cluster names in order of first appearance."""
    if values is None:
        return None
    known: dict[str, int] = {}
    return np.array([known.setdefault(repr(value), len(known)) for value in values], dtype=np.int64)
