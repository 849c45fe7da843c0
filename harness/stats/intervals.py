"""Scores with bootstrap intervals, from rows of summable statistics.

Percentile and basic intervals (Efron and Tibshirani 1993, chapters 13 and 14) and BCa (Efron 1987) with the exact
jackknife. The bounds are reported as computed, low and high apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import NormalDist

import numpy as np

from harness.stats.resampling import Sample, cluster_codes, jackknife, quiet_single_thread, replicates
from harness.types import Advance, Array, HarnessError, Score, Statistics, nothing

METHODS = ("percentile", "basic", "bca")


def scores(
    statistics: Sequence[Statistics],
    clusters: Sequence[object] | None = None,
    resamples: int = 10_000,
    level: float = 0.95,
    method: str = "percentile",
    seed: int = 12345,
    advance: Advance = nothing,
) -> dict[str, Score]:
    """Every score of every metric with its interval; examples without a row are left out.

    `advance` is told of resamples done, `resamples` for each metric.
    """
    check_options(resamples, level, method, seed)
    together: dict[bytes, list[tuple[Statistics, Sample]]] = {}  # metrics that score the same examples share draws
    for one in statistics:
        keep = np.asarray(~np.isnan(one.rows).any(axis=1))
        codes = cluster_codes([c for c, k in zip(clusters, keep, strict=True) if k] if clusters is not None else None)
        together.setdefault(keep.tobytes(), []).append((one, Sample(one.metric, one.rows[keep], codes)))
    found: dict[str, Score] = {}
    for group in together.values():
        samples = [sample for _, sample in group]
        draw = resamples if samples[0].units > 1 else 0
        drawn = replicates(samples, draw, seed, "intervals", advance) if draw else [None] * len(samples)
        for (one, sample), replicate in zip(group, drawn, strict=True):
            for score in _scores(one, sample, replicate, level, method, resamples):
                if score.name in found:
                    raise HarnessError(f"two metrics give the score {score.name!r}; expected each score once")
                found[score.name] = score
    return {name: found[name] for one in statistics for name in one.metric.score_names}


def _scores(
    one: Statistics, sample: Sample, drawn: Array | None, level: float, method: str, resamples: int
) -> Iterator[Score]:
    """A metric's scores; without replicates (resamples, s) they have no bounds, and a note says why."""
    none = np.full(len(sample.metric.score_names), np.nan)
    note = "one example or cluster: no interval" if sample.units == 1 and resamples else None
    estimates, low, high = none, none, none
    if sample.units == 0:
        note = "no example could be scored"
    else:
        with quiet_single_thread():
            estimates = sample.scores(np.ones((1, sample.units)))[0]
    if drawn is not None:
        low, high = interval(drawn, estimates, level, method, jackknife(sample) if method == "bca" else None)
    for i, name in enumerate(one.metric.score_names):
        yield Score(
            name=name,
            estimate=number(estimates[i]),
            low=number(low[i]),
            high=number(high[i]),
            level=level,
            method=method,
            resamples=resamples,
            signature=str(one.signature),
            higher_is_better=one.metric.higher_is_better,
            note=note or (None if np.isfinite(estimates[i]) else "undefined on this data"),
        )


def check_options(resamples: int, level: float, method: str, seed: int) -> None:
    if method not in METHODS:
        raise HarnessError(f"method={method}; expected one of {', '.join(METHODS)}")
    if not 0 < level < 1:
        raise HarnessError(f"level={level}; expected a share between 0 and 1, such as 0.95")
    if resamples < 0 or resamples == 1:
        raise HarnessError(f"resamples={resamples}; expected 2 or more, or 0 for scores without intervals")
    if seed < 0:
        raise HarnessError(f"seed={seed}; expected 0 or more")


def interval(
    drawn: Array, estimates: Array, level: float, method: str, left_out: Array | None = None
) -> tuple[Array, Array]:
    """(low, high), each (s,), from replicates (resamples, s); BCa needs the jackknife values (n, s) too."""
    tails = np.array([(1 - level) / 2, (1 + level) / 2])
    if method == "bca":
        assert left_out is not None
        pairs = [
            _quantiles(drawn[:, i], _bca_tails(drawn[:, i], estimates[i], left_out[:, i], tails))
            for i in range(drawn.shape[1])
        ]
        return np.array([p[0] for p in pairs]), np.array([p[1] for p in pairs])
    low, high = np.array([_quantiles(drawn[:, i], tails) for i in range(drawn.shape[1])]).T
    return (2 * estimates - high, 2 * estimates - low) if method == "basic" else (low, high)


def _quantiles(values: Array, tails: Array) -> Array:
    values = values[~np.isnan(values)]
    return np.quantile(values, tails) if len(values) else np.full(2, np.nan)


def _bca_tails(drawn: Array, estimate: float, left_out: Array, tails: Array) -> Array:
    """The percentiles that BCa takes instead of `tails`; ties count half in the bias term."""
    normal = NormalDist()
    drawn = drawn[~np.isnan(drawn)]
    if len(drawn) == 0 or np.isnan(left_out).any():
        return tails
    close = np.isclose(drawn, estimate, rtol=1e-12, atol=0.0)
    share = (np.count_nonzero((drawn < estimate) & ~close) + 0.5 * np.count_nonzero(close)) / len(drawn)
    bias = normal.inv_cdf(float(np.clip(share, 0.5 / len(drawn), 1 - 0.5 / len(drawn))))
    deviations = left_out.mean() - left_out
    scale = 6 * (deviations**2).sum() ** 1.5
    acceleration = float((deviations**3).sum() / scale) if scale > 0 else 0.0
    moved = [bias + normal.inv_cdf(float(tail)) for tail in tails]
    return np.array([normal.cdf(bias + z / (1 - acceleration * z)) for z in moved])


def number(value: float) -> float | None:
    """A value for a result: None where it is not finite."""
    return float(value) if np.isfinite(value) else None
