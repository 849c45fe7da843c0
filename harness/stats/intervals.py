"""Scores with bootstrap intervals, from rows of summable statistics.

| method | bounds |
| --- | --- |
| percentile | quantiles of the replicates (Efron and Tibshirani 1993, chapter 13) |
| basic | the same reflected at the estimate |
| bca | quantiles corrected for bias, ties counting half, and for acceleration by the exact jackknife (Efron 1987) |
| normal | the estimate and a multiple of the replicates' standard deviation |
| studentized | quantiles of (replicate - estimate) / its own standard error, by the delta method (Hall 1988) |

The bounds are reported as computed, low and high apart, each with its Monte Carlo error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from statistics import NormalDist

import numpy as np

from harness.stats.resampling import Design, Sample, quiet_single_thread, replicates, resampled
from harness.types import Advance, Array, HarnessError, Score, Statistics, nothing

METHODS = ("percentile", "basic", "bca", "normal", "studentized")
USABLE = 0.9
"""Share of replicates that must have a standard error for studentising; else the percentiles stand in."""
GROUPS = 10
"""Groups of resamples whose bounds are compared for the Monte Carlo error."""
NORMAL = NormalDist()


def scores(
    statistics: Sequence[Statistics],
    design: Design | None = None,
    resamples: int = 10_000,
    level: float = 0.95,
    method: str = "percentile",
    seed: int = 12345,
    advance: Advance = nothing,
) -> dict[str, Score]:
    """Every score of every metric with its interval; rows that hold NaN are left out.

    `advance` is told of resamples done, `resamples` in all for metrics that score the same examples.
    """
    check_options(resamples, level, method, seed)
    together: dict[bytes, list[tuple[Statistics, Sample]]] = {}  # metrics that score the same examples share draws
    for one in statistics:
        keep = np.asarray(~np.isnan(one.rows).any(axis=1))
        whole = design or Design.of(len(one.rows))
        together.setdefault(keep.tobytes(), []).append((one, Sample(one.metric, one.rows[keep], whole.kept(keep))))
    found: dict[str, Score] = {}
    for group in together.values():
        samples = [sample for _, sample in group]
        draw = resamples if samples[0].design.units > 1 else 0
        drawn = replicates(samples, draw, seed, "intervals", advance) if draw else [None] * len(samples)
        for (one, sample), replicate in zip(group, drawn, strict=True):
            for score in _scores(one, sample, replicate, level, method, resamples, seed):
                if score.name in found:
                    raise HarnessError(f"two metrics give the score {score.name!r}; expected each score once")
                found[score.name] = score
    return {name: found[name] for one in statistics for name in one.metric.score_names}


def _scores(
    one: Statistics, sample: Sample, drawn: Array | None, level: float, method: str, resamples: int, seed: int
) -> Iterator[Score]:
    """A metric's scores; without replicates (resamples, s) they have no bounds, and a note says why."""
    names = one.metric.score_names
    nan = np.full(len(names), np.nan)
    estimates, ends, errors, methods = nan, (nan, nan), (nan, nan), [method] * len(names)
    with quiet_single_thread():
        if sample.design.units:
            estimates = sample.estimate()
        if drawn is not None:
            ends, methods, of_bounds = bounds(sample, drawn, estimates, level, method, seed)
            errors = of_bounds()
    for i, name in enumerate(names):
        yield Score(
            name=name,
            estimate=number(estimates[i]),
            low=number(ends[0][i]),
            high=number(ends[1][i]),
            level=level,
            method=methods[i],
            resamples=resamples,
            signature=str(one.signature),
            higher_is_better=one.metric.higher_is_better,
            note=_note(sample.design, float(estimates[i]), resamples, None if drawn is None else drawn[:, i]),
            low_error=number(errors[0][i]),
            high_error=number(errors[1][i]),
        )


def bounds(
    sample: Sample, drawn: Array, estimates: Array, level: float, method: str, seed: int
) -> tuple[tuple[Array, Array], list[str], Callable[[], tuple[Array, Array]]]:
    """((low, high), the method taken, what finds their Monte Carlo errors) of s scores, from replicates (r, s)."""
    plain = "percentile" if method == "studentized" else method
    more = sample.left_out() if method == "bca" else None
    ends = interval(drawn, estimates, level, plain, more)
    errors = partial(monte_carlo_errors, drawn, estimates, level, plain, more)
    if method != "studentized" or not _can_studentize(sample):
        return ends, [plain] * len(estimates), errors
    studentised, error = _studentized(sample, drawn, estimates, seed)
    fit = np.asarray(np.isfinite(studentised).mean(0) >= USABLE)
    better = interval(studentised, estimates, level, method, error)

    def both() -> tuple[Array, Array]:
        mine = monte_carlo_errors(studentised, estimates, level, method, error)
        low, high = (np.where(fit, a, b) for a, b in zip(mine, errors(), strict=True))
        return low, high

    low, high = (np.where(fit, a, b) for a, b in zip(better, ends, strict=True))
    return (low, high), [method if one else plain for one in fit], both


def _note(design: Design, estimate: float, resamples: int, drawn: Array | None) -> str | None:
    """What a reader must know before trusting the bounds."""
    unit = design.label.partition(" ")[0]
    if design.units == 0:
        return "no example could be scored"
    if not np.isfinite(estimate):
        return "undefined on this data"
    if resamples == 0 or drawn is None:
        return f"one {unit[:-1]}: no interval" if resamples else None
    if np.isnan(drawn).all():
        return "undefined on every resample: no interval"
    if design.units == 2:
        return f"2 {unit}: the interval says little"
    if np.nanmin(drawn) == np.nanmax(drawn):
        return f"the same on every resample of the {design.units} {unit}: the interval has no width"
    return None


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
    drawn: Array, estimates: Array, level: float, method: str, more: Array | None = None
) -> tuple[Array, Array]:
    """(low, high), each (s,), from replicates (resamples, s).

    `more`: for BCa the jackknife values (n, s); for `studentized`, where `drawn` holds studentised replicates, the
    standard errors of the estimates (s,).
    """
    tails = np.array([(1 - level) / 2, (1 + level) / 2])
    if method == "normal":
        reach = NORMAL.inv_cdf(float(tails[1])) * spread(drawn)
        return estimates - reach, estimates + reach
    if method == "bca":
        assert more is not None
        places = [_bca_tails(drawn[:, i], estimates[i], more[:, i], tails) for i in range(drawn.shape[1])]
        low, high = np.array([_quantiles(drawn[:, i], at) for i, at in enumerate(places)]).T
    elif np.isnan(drawn).any():
        low, high = np.array([_quantiles(drawn[:, i], tails) for i in range(drawn.shape[1])]).T
    else:
        low, high = np.quantile(drawn, tails, axis=0)
    if method == "basic":
        return 2 * estimates - high, 2 * estimates - low
    if method == "studentized":
        assert more is not None
        return estimates - high * more, estimates - low * more
    return low, high


def monte_carlo_errors(
    drawn: Array, estimates: Array, level: float, method: str, more: Array | None = None
) -> tuple[Array, Array]:
    """Standard errors (low, high), each (s,), of the bounds as estimates of what endless resampling would give: from
    the bounds of ten groups of resamples, of which the bounds of all are about the average."""
    size = len(drawn) // GROUPS
    if size < 2:
        return (np.full(drawn.shape[1], np.nan),) * 2
    groups = [interval(drawn[i * size : (i + 1) * size], estimates, level, method, more) for i in range(GROUPS)]
    low, high = (np.array(bounds).std(axis=0, ddof=1) / np.sqrt(GROUPS) for bounds in zip(*groups, strict=True))
    return low, high


def spread(drawn: Array) -> Array:
    """Bootstrap standard errors (s,) from replicates (resamples, s), undefined ones left out."""
    defined = ~np.isnan(drawn)
    count = defined.sum(0)
    filled = np.where(defined, drawn, 0.0)
    mean = filled.sum(0) / np.maximum(count, 1)
    squares = np.where(defined, (drawn - mean) ** 2, 0.0).sum(0)
    return np.where(count > 1, np.sqrt(squares / np.maximum(count - 1, 1)), np.nan)


def _quantiles(values: Array, tails: Array) -> Array:
    values = values[~np.isnan(values)]
    return np.quantile(values, tails) if len(values) else np.full(2, np.nan)


def _bca_tails(drawn: Array, estimate: float, left_out: Array, tails: Array) -> Array:
    """The percentiles that BCa takes instead of `tails`; ties count half in the bias term."""
    drawn = drawn[~np.isnan(drawn)]
    if len(drawn) == 0 or np.isnan(left_out).any():
        return tails
    close = np.isclose(drawn, estimate, rtol=1e-12, atol=0.0)
    share = (np.count_nonzero((drawn < estimate) & ~close) + 0.5 * np.count_nonzero(close)) / len(drawn)
    bias = NORMAL.inv_cdf(float(np.clip(share, 0.5 / len(drawn), 1 - 0.5 / len(drawn))))
    deviations = left_out.mean() - left_out
    scale = 6 * (deviations**2).sum() ** 1.5
    acceleration = float((deviations**3).sum() / scale) if scale > 0 else 0.0
    moved = [bias + NORMAL.inv_cdf(float(tail)) for tail in tails]
    return np.array([NORMAL.cdf(bias + z / (1 - acceleration * z)) for z in moved])


# ---------------------------------------------------------------- studentised


def _can_studentize(sample: Sample) -> bool:
    """The delta method needs a function of sums over units drawn alike; elsewhere the percentiles stand in."""
    return sample.summable and sample.design.repeats == 1 and len(sample.design.sizes) == 1


def _studentized(sample: Sample, drawn: Array, estimates: Array, seed: int) -> tuple[Array, Array]:
    """(studentised replicates (resamples, s), standard errors of the estimates (s,)).

    A score is a function of sums S of rows r, so that its variance is about g' M g - (g' S)^2 / n with its gradient g
    and the sums M of products r r'. Both come from the same counts as the replicates.
    """
    rows = sample.rows
    first, second = np.triu_indices(rows.shape[1])
    products = rows[:, first] * rows[:, second]
    sums, moments = resampled([rows, products], sample.design, len(drawn), seed, "intervals")
    errors = _standard_errors(sample, sums, moments)
    whole = _standard_errors(sample, rows.sum(0, keepdims=True), products.sum(0, keepdims=True))[0]
    return np.where(errors > 0, (drawn - estimates) / errors, np.nan), whole


def _standard_errors(sample: Sample, sums: Array, moments: Array) -> Array:
    """(r, s) from sums (r, k) and the upper triangle of their second moments (r, k (k + 1) / 2)."""
    k = sums.shape[1]
    first, second = np.triu_indices(k)
    twice = np.where(first == second, 1.0, 2.0)
    gradient = np.stack([_slope(sample, sums, j) for j in range(k)], axis=1)  # (r, k, s)
    found = np.empty((len(sums), gradient.shape[2]))
    for i in range(gradient.shape[2]):
        g = gradient[:, :, i]
        square = (moments * twice * g[:, first] * g[:, second]).sum(1)
        found[:, i] = np.sqrt(np.maximum(square - (g * sums).sum(1) ** 2 / sample.design.units, 0.0))
    return found


def _slope(sample: Sample, sums: Array, j: int) -> Array:
    """Derivatives (r, s) of the scores by one statistic, by differences that keep counts from turning negative."""
    step = 1e-5 * np.maximum(np.abs(sums[:, j]), 1.0)
    up, down = sums.copy(), sums.copy()
    up[:, j] += step
    down[:, j] = np.where(sums[:, j] >= 0, np.maximum(sums[:, j] - step, 0.0), sums[:, j] - step)
    rise = sample.metric.score(up) - sample.metric.score(down)
    return np.asarray(rise / (up[:, j] - down[:, j])[:, None])


def number(value: float) -> float | None:
    """A value for a result: None where it is not finite."""
    return float(value) if np.isfinite(value) else None
