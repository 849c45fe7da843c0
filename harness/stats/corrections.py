"""P-values of a family of hypotheses: the chance of one false alarm among all (max-T, Holm) or the share of false
alarms among the alarms (Benjamini and Hochberg) stays at the stated level.

>>> holm([0.01, 0.04, 0.03])
[0.03, 0.06, 0.06]
>>> benjamini_hochberg([0.01, 0.04, 0.03])
[0.03, 0.04, 0.04]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from harness.types import Array


def max_t(
    statistics: Sequence[float],
    nulls: Sequence[Array],
    exact: bool = False,
    shrunk: Sequence[Callable[[float], float]] | None = None,
) -> list[float]:
    """Step-down max-T p-values (Westfall and Young 1993, algorithm 2.8).

    Larger statistics speak against their hypothesis; each has draws (resamples,) under the null, on resamples that all
    share; each is asked for twice, so `nulls` need not hold them. `exact`: the draws are all there are. `shrunk`: what
    each statistic, in standard deviations of its draws, counts among them, where these are of few units.
    """
    sizes = [float(np.sqrt(np.nanmean(null**2))) if not np.isnan(null).all() else 0.0 for null in nulls]
    observed = np.array(
        [t / size if size > 0 else np.inf * t if t > 0 else 0.0 for t, size in zip(statistics, sizes, strict=True)]
    )
    if shrunk is not None:
        observed = np.array([shrink(distance) for shrink, distance in zip(shrunk, observed.tolist(), strict=True)])
    order = np.argsort(-observed, kind="stable")
    p_values = np.ones(len(order))
    largest = np.full(1, -np.inf)
    for j in order[::-1]:  # from the smallest statistic up, keeping the running maximum
        largest = np.maximum(largest, np.nan_to_num(nulls[j]) / (sizes[j] or 1.0))
        p_values[j] = share(largest, float(observed[j]), exact)
    highest = 0.0
    for j in order:
        highest = p_values[j] = max(highest, p_values[j])
    return [float(p) for p in p_values]


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
