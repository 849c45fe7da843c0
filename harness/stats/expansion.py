"""How much further than the replicates of few units an interval has to reach, and a test's p with it.

A bootstrap of n units has a variance that is too small by the share (n - 1) / n, and quantiles as if that variance were
known. The *expanded* percentile interval (Hesterberg 2015, "What teachers should know about the bootstrap") takes
quantiles further out: tails of Φ(-√(n / (n - 1)) t) instead of (1 - level) / 2, with t the quantile of Student's
distribution of n - 1 degrees of freedom. It costs nothing and exists for every score.

- **Clusters of unequal sizes** count as (Σ m)² / Σ m² of equal ones (Kish 1965).
- **Strata** lose a unit each: n is the sum of theirs, and so is n - 1.
- **Tests** go the same way back: the p of the replicates is a distance in standard errors, of which Student's
  distribution says how often it is reached.

>>> expansion = Expansion.of(np.arange(20), np.array([20]))
>>> round(expansion.ratio, 4), expansion.df, [round(float(tail), 4) for tail in expansion.tails(0.95)]
(1.0526, 19.0, [0.0159, 0.9841])
>>> round(expansion.p_value(0.05), 4)  # of the replicates; twice the tail of 1.96 / √1.0526 under t(19)
0.0713
>>> few = Expansion.of(np.array([0, 0, 0, 0, 1, 2, 3]), np.array([4]))  # four clusters, one of them of four examples
>>> round(few.ratio, 2), round(few.df, 2)
(1.63, 1.58)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from harness.types import Array

NORMAL = NormalDist()
MANY = 100_000
"""Degrees of freedom from which Student's distribution is taken for the normal one: they agree to five digits."""


@dataclass(frozen=True, slots=True)
class Expansion:
    """By how much the replicates of a design fall short."""

    ratio: float
    """The variance of the score over that of its replicates."""
    df: float
    """Degrees of freedom of the latter."""
    effective: float
    """How many units of equal size the design is worth."""

    @classmethod
    def of(cls, members: NDArray[np.int64], sizes: NDArray[np.int64]) -> Expansion:
        """Of rows with these units (n,), of which each stratum has so many (strata,), one after the other."""
        rows = np.bincount(members, minlength=int(sizes.sum())).astype(np.float64)
        starts = (np.cumsum(sizes) - sizes)[sizes > 0]
        total, squares = np.add.reduceat(rows, starts), np.add.reduceat(rows**2, starts)
        by_stratum = total[total > 0] ** 2 / squares[total > 0]
        effective = float(by_stratum.sum())
        df = max(effective - len(by_stratum), 1.0)
        return cls(effective / df, df, effective)

    @classmethod
    def joined(cls, parts: Sequence[Expansion], variances: Sequence[float]) -> Expansion:
        """Of a mean over data sets, each with its expansion and the variance of its part (Satterthwaite 1946)."""
        weights = np.asarray(variances) if sum(variances) > 0 else np.ones(len(parts))
        ratio = float(np.average([part.ratio for part in parts], weights=weights))
        df = float(weights.sum() ** 2 / sum(w**2 / part.df for w, part in zip(weights, parts, strict=True)))
        return cls(ratio, df, sum(part.effective for part in parts))

    def tailed(self, values: Array) -> Expansion:
        """The same for units that move a score by so much (units,): where these have heavy tails, their variance is
        known as badly as that of fewer normal ones, 2 / (2 / df + kurtosis / n) (Satterthwaite 1946; O'Neill 2014).

        >>> even = Expansion.of(np.arange(9), np.array([9]))
        >>> round(even.tailed(np.arange(9.0)).df, 2), round(even.tailed(np.arange(9.0) ** 4).df, 2)
        (8.0, 4.06)
        """
        n, moved = len(values), values - values.mean()
        second, fourth = (moved**2).mean(), (moved**4).mean()
        if not second > 0:
            return self
        excess = (n - 1) / ((n - 2) * (n - 3)) * ((n + 1) * (fourth / second**2 - 3) + 6)
        df = 2 / (2 / self.df + max(float(excess), 0.0) / n)
        return replace(self, df=max(df, 1.0))

    def reach(self, level: float) -> float:
        """Standard errors to either side that hold this share under Student's distribution."""
        return student_quantile((1 - level) / 2, self.df)

    def tails(self, level: float) -> Array:
        """(2,) the quantiles of the replicates that the interval of this level takes."""
        tail = NORMAL.cdf(-math.sqrt(self.ratio) * self.reach(level))
        return np.array([tail, 1 - tail])

    def p_value(self, plain: float, sides: int = 2) -> float:
        """What the p of the replicates amounts to."""
        if plain >= 1:
            return 1.0
        distance = -NORMAL.inv_cdf(plain / sides)
        return min(1.0, sides * student_tail(distance / math.sqrt(self.ratio), self.df))

    def shrunk(self, distance: float) -> float:
        """The distance that replicates reach as often as Student's distribution says of this one: what a statistic in
        standard deviations of its replicates counts among them."""
        tail = student_tail(distance / math.sqrt(self.ratio), self.df) if math.isfinite(distance) else 0.0
        return -NORMAL.inv_cdf(tail) if 1e-300 < tail < 1 else distance

    def stretched(self, distance: float) -> float:
        """The way back: the distance that counts as this one among the replicates."""
        tail = NORMAL.cdf(-distance)
        if not 1e-300 < tail < 0.5:
            return distance
        return math.sqrt(self.ratio) * student_quantile(tail, self.df)


def student_tail(t: float, df: float) -> float:
    """P(T > t) of Student's distribution.

    >>> round(student_tail(2.0930, 19), 4), student_tail(0.0, 3), round(student_tail(-1.0, 1), 4)
    (0.025, 0.5, 0.75)
    """
    if df >= MANY:
        return NORMAL.cdf(-t)
    if t < 0:
        return 1 - student_tail(-t, df)
    return 0.5 * _incomplete_beta(df / (df + t * t), df / 2)


@cache
def student_quantile(tail: float, df: float) -> float:
    """The t that is exceeded with this probability, below one half; by bisection.

    >>> round(student_quantile(0.025, 4), 4), round(student_quantile(0.025, 1e6), 4)
    (2.7764, 1.96)
    """
    if df >= MANY:
        return -NORMAL.inv_cdf(tail)
    low, high = 0.0, 2.0
    while student_tail(high, df) > tail:
        low, high = high, 2 * high
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if student_tail(middle, df) > tail else (low, middle)
    return (low + high) / 2


def _incomplete_beta(x: float, a: float) -> float:
    """I_x(a, 1/2), by its continued fraction on the side where that converges (Abramowitz and Stegun 26.5.8).

    SciPy has it too, and takes longer to import than a comparison to compute.
    """
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x < (a + 1) / (a + 2.5):
        return _fraction(x, a, 0.5)
    return 1 - _fraction(1 - x, 0.5, a)


def _fraction(x: float, a: float, b: float) -> float:
    logs = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    c, d = 1.0, 1 / _nonzero(1 - (a + b) * x / (a + 1))
    value = d
    for m in range(1, 10_000):
        for step in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d, c = 1 / _nonzero(1 + step * d), _nonzero(1 + step / c)
            value *= d * c
        if abs(d * c - 1) < 1e-15:
            break
    return math.exp(logs) * value / a


def _nonzero(value: float) -> float:
    return value if abs(value) > 1e-300 else 1e-300
