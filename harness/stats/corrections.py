"""P-values of a family of hypotheses: the chance of one false alarm among all (max-T, Holm) or the share of false
alarms among the alarms (Benjamini and Hochberg) stays at the stated level.

>>> holm([0.01, 0.04, 0.03])
[0.03, 0.06, 0.06]
>>> benjamini_hochberg([0.01, 0.04, 0.03])
[0.03, 0.04, 0.04]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from harness.stats.expansion import NORMAL
from harness.types import Array


@dataclass(frozen=True, slots=True)
class Scale:
    """On what scale a statistic and its draws under the null, both in standard deviations of the draws, are compared
    with those of other hypotheses."""

    seen: Callable[[float], float]
    drawn: Callable[[Array], Array]


def max_t(
    statistics: Sequence[float],
    nulls: Sequence[Array],
    exact: bool = False,
    scales: Sequence[Scale] | None = None,
) -> list[float]:
    """Step-down max-T p-values (Westfall and Young 1993, algorithm 2.8).

    Larger statistics speak against their hypothesis; each has draws (resamples,) under the null, on resamples that all
    share; each is asked for twice, so `nulls` need not hold them. `exact`: the draws are all there are. `scales`: how
    each is compared with the others, where they are of few units.
    """
    sizes = [float(np.sqrt(np.nanmean(null**2))) if not np.isnan(null).all() else 0.0 for null in nulls]
    observed = np.array(
        [t / size if size > 0 else np.inf * t if t > 0 else 0.0 for t, size in zip(statistics, sizes, strict=True)]
    )
    if scales is not None:
        observed = np.array([scale.seen(distance) for scale, distance in zip(scales, observed.tolist(), strict=True)])
    order = np.argsort(-observed, kind="stable")
    p_values = np.ones(len(order))
    largest = np.full(1, -np.inf)
    for j in order[::-1]:  # from the smallest statistic up, keeping the running maximum
        null = np.nan_to_num(nulls[j]) / (sizes[j] or 1.0)
        largest = np.maximum(largest, null if scales is None else scales[j].drawn(null))
        p_values[j] = share(largest, float(observed[j]), exact)
    highest = 0.0
    for j in order:
        highest = p_values[j] = max(highest, p_values[j])
    return [float(p) for p in p_values]


def normal_scores(draws: Array, sides: int) -> Array:
    """Each of the draws (resamples,) as the number of standard errors that a normal variable exceeds as often, to
    either side where there are two.

    >>> normal_scores(np.array([0.3, 2.0, 0.1]), sides=2).round(2).tolist()
    [0.67, 1.15, 0.32]
    """
    reached = len(draws) - np.searchsorted(np.sort(draws), draws, side="left")
    return _normal_tails(len(draws), sides)[reached]


@cache
def _normal_tails(draws: int, sides: int) -> Array:
    """(draws + 1,) what a normal variable exceeds as often as so many of the draws."""
    return np.array([np.inf, *(-NORMAL.inv_cdf(k / (draws + 1) / sides) for k in range(1, draws + 1))])


def share(nulls: Array, statistic: float, exact: bool = False) -> float:
    """The p-value of a statistic among draws under the null (resamples,): (1 + #{null >= statistic}) / (1 + resamples),
    rounding errors of equal sums aside; `exact`: the draws are all there are, the observed one among them."""
    nulls = nulls[~np.isnan(nulls)]
    slack = 1e-12 * max(1.0, abs(statistic)) if np.isfinite(statistic) else 0.0
    reached = np.count_nonzero(nulls >= statistic - slack)
    return float(reached / len(nulls)) if exact else float((1 + reached) / (1 + len(nulls)))


def holm(p_values: Sequence[float]) -> list[float]:
    order = np.argsort(p_values, kind="stable")
    steps = np.maximum.accumulate(np.asarray(p_values)[order] * np.arange(len(order), 0, -1))
    adjusted = np.empty(len(order))
    adjusted[order] = np.minimum(steps, 1.0)
    return [float(p) for p in adjusted]


def benjamini_hochberg(p_values: Sequence[float]) -> list[float]:
    from scipy.stats import false_discovery_control

    return [float(p) for p in false_discovery_control(p_values, method="bh")] if p_values else []
