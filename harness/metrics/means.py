"""What many metrics share: a mean over examples, the harmonic mean of precision and recall, and scores of many rows.

>>> means(np.array([1.5, 0.5, 2.0])).tolist()
[0.75, 0.25]
>>> harmonic(np.array([0.5, 0.0]), np.array([1.0, 0.0])).round(4).tolist()
[0.6667, 0.0]
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from harness.types import Array

PART = 16384
"""Rows whose columns a processor's cache holds."""


def means(sums: Array) -> Array:
    """(..., k) to (..., k - 1): each sum over the last one, which counts the examples; NaN where there are none."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return sums[..., :-1] / sums[..., -1:]


def harmonic(precision: Array, recall: Array, beta: float = 1.0) -> Array:
    """F1, or F-beta, where recall counts `beta` times as much as precision; 0 where both are 0."""
    total = beta**2 * precision + recall
    return np.divide((1 + beta**2) * precision * recall, total, out=np.zeros_like(total), where=total != 0)


def by_parts(score: Callable[[Array], Array], rows: Array) -> Array:
    """`score` (n, s) of rows (n, k), a part at a time, so that what it computes on the way stays in the cache."""
    if len(rows) <= PART:
        return score(rows)
    return np.concatenate([score(rows[i : i + PART]) for i in range(0, len(rows), PART)])
