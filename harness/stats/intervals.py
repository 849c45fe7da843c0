"""Scores with bootstrap intervals, from rows of summable statistics.

| method | bounds |
| --- | --- |
| percentile | quantiles of the replicates (Efron and Tibshirani 1993, chapter 13) |
| basic | the same reflected at the estimate |
| bca | quantiles corrected for bias, ties counting half, and for acceleration by the exact jackknife (Efron 1987) |
| normal | the estimate and a multiple of the replicates' standard deviation |
| studentized | quantiles of (replicate - estimate) / its own standard error, by the delta method (Hall 1988) |

A metric that is `jackknifed` has `jackknife` whatever is asked for: quantiles of the estimate plus the shifts of the
units drawn, that of each found by leaving it out (Efron and Stein 1981).

The bounds are reported as computed, low and high apart, each with its Monte Carlo error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from statistics import NormalDist

import numpy as np

from harness.stats.design import Design
from harness.stats.options import Options
from harness.stats.resampling import Draws, Sample, quiet_single_thread, replicates, resampled
from harness.stats.tally import Tally
from harness.types import Advance, Array, Engine, HarnessError, Score, Statistics, nothing

USABLE = 0.9
"""Share of replicates that must have a standard error for studentising; else the percentiles stand in."""
GROUPS = 10
"""Groups of resamples whose bounds are compared for the Monte Carlo error."""
ROUNDING = 1e-12
"""Replicates that differ by no more than this, as a share of the largest, are the same: sums have last bits."""
JACKKNIFE = "jackknife"
NORMAL = NormalDist()
DEFAULT = Options()


def scores(
    statistics: Sequence[Statistics],
    design: Design | None = None,
    options: Options = DEFAULT,
    advance: Advance = nothing,
) -> dict[str, Score]:
    """Every score of every metric with its interval; rows that hold NaN are left out.

    `advance` is told of resamples done, `options.resamples` in all for metrics that score the same examples.
    """
    tallies = [Tally.of(of_metric, design or Design.of(len(of_metric.rows))) for of_metric in statistics]
    return tallied_scores(tallies, options, advance)


def tallied_scores(
    tallies: Sequence[Tally], options: Options = DEFAULT, advance: Advance = nothing, engine: Engine | None = None
) -> dict[str, Score]:
    """The same of rows that were added up as they came."""
    options.check()
    together: dict[bytes, list[tuple[Tally, Sample]]] = {}  # metrics that score the same examples share draws
    for tally in tallies:
        together.setdefault(tally.scored.tobytes(), []).append((tally, tally.sample()))
    by_name: dict[str, Score] = {}
    for group in together.values():
        samples = [sample for _, sample in group]
        draw = options.resamples if samples[0].design.units > 1 else 0
        how = options.seed, "intervals", advance, engine
        drawn = replicates(samples, draw, *how) if draw else [None] * len(samples)
        for (tally, sample), replicate in zip(group, drawn, strict=True):
            for score in _scores(tally, sample, replicate, options):
                if score.name in by_name:
                    raise HarnessError(f"two metrics give the score {score.name!r}; expected each score once")
                by_name[score.name] = score
    return {name: by_name[name] for tally in tallies for name in tally.metric.score_names}


def _scores(tally: Tally, sample: Sample, drawn: Array | None, options: Options) -> Iterator[Score]:
    """A metric's scores; without replicates (resamples, s) they have no bounds, and a note says why."""
    metric = tally.metric
    nan = np.full(len(metric.score_names), np.nan)
    estimates, ends, errors, methods = nan, (nan, nan), (nan, nan), [options.method] * len(nan)
    with quiet_single_thread():
        if sample.design.units:
            estimates = sample.estimate()
        if drawn is not None:
            ends, methods, of_bounds = bounds(sample, drawn, estimates, options)
            errors = of_bounds()
    for i, name in enumerate(metric.score_names):
        replicate = None if drawn is None else drawn[:, i]
        yield Score(
            name=name,
            estimate=number(estimates[i]),
            low=number(ends[0][i]),
            high=number(ends[1][i]),
            level=options.level,
            method=methods[i],
            resamples=options.resamples,
            signature=str(tally.signature),
            higher_is_better=metric.higher_is_better,
            note=_note(sample.design, float(estimates[i]), options.resamples, replicate),
            low_error=number(errors[0][i]),
            high_error=number(errors[1][i]),
            title=metric.title_of(name),
            digits=metric.digits_of(name),
            units=sample.design.description,
        )


def bounds(
    sample: Sample, drawn: Array, estimates: Array, options: Options
) -> tuple[tuple[Array, Array], list[str], Callable[[], tuple[Array, Array]]]:
    """((low, high), the method taken, what finds their Monte Carlo errors) of s scores, from replicates (r, s)."""
    level, method = options.level, JACKKNIFE if sample.jackknifed else options.method
    plain = "percentile" if method in ("studentized", JACKKNIFE) else method
    more = sample.left_out() if method == "bca" else None
    ends = interval(drawn, estimates, level, plain, more)
    errors = partial(monte_carlo_errors, drawn, estimates, level, plain, more)
    if method != "studentized" or not _can_studentize(sample):
        return ends, [method if sample.jackknifed else plain] * len(estimates), errors
    studentised, error = _studentized(sample, drawn, estimates, options.seed)
    fit = np.asarray(np.isfinite(studentised).mean(0) >= USABLE)
    better = interval(studentised, estimates, level, method, error)

    def both() -> tuple[Array, Array]:
        mine = monte_carlo_errors(studentised, estimates, level, method, error)
        low, high = (np.where(fit, a, b) for a, b in zip(mine, errors(), strict=True))
        return low, high

    low, high = (np.where(fit, a, b) for a, b in zip(better, ends, strict=True))
    return (low, high), [method if usable else plain for usable in fit], both


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
    if np.nanmax(drawn) - np.nanmin(drawn) <= ROUNDING * np.nanmax(np.abs(drawn)):
        return f"the same on every resample of the {design.units} {unit}: the interval has no width"
    return None


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
        low, high = np.concatenate([_quantiles(drawn[:, [i]], at) for i, at in enumerate(places)], axis=1)
    else:
        low, high = _quantiles(drawn, tails)
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
    defined = np.count_nonzero(~np.isnan(drawn), axis=0) > 1
    errors = np.full(drawn.shape[1], np.nan)
    errors[defined] = np.nanstd(drawn[:, defined], axis=0, ddof=1)
    return errors


def _quantiles(drawn: Array, tails: Array) -> Array:
    """(tails, s) of replicates (resamples, s), undefined ones left out."""
    if not np.isnan(drawn).any():  # several times as fast
        return np.asarray(np.quantile(drawn, tails, axis=0))
    quantiles = np.full((len(tails), drawn.shape[1]), np.nan)
    defined = ~np.isnan(drawn).all(axis=0)
    quantiles[:, defined] = np.nanquantile(drawn[:, defined], tails, axis=0)
    return quantiles


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
    sums, moments = resampled([rows, products], Draws(sample.design, len(drawn), seed, "intervals"))
    errors = _standard_errors(sample, sums, moments)
    whole = _standard_errors(sample, rows.sum(0, keepdims=True), products.sum(0, keepdims=True))[0]
    return np.where(errors > 0, (drawn - estimates) / errors, np.nan), whole


def _standard_errors(sample: Sample, sums: Array, moments: Array) -> Array:
    """(r, s) from sums (r, k) and the upper triangle of their second moments (r, k (k + 1) / 2)."""
    k = sums.shape[1]
    first, second = np.triu_indices(k)
    twice = np.where(first == second, 1.0, 2.0)
    gradient = np.stack([_slope(sample, sums, j) for j in range(k)], axis=1)  # (r, k, s)
    errors = np.empty((len(sums), gradient.shape[2]))
    for i in range(gradient.shape[2]):
        g = gradient[:, :, i]
        square = (moments * twice * g[:, first] * g[:, second]).sum(1)
        errors[:, i] = np.sqrt(np.maximum(square - (g * sums).sum(1) ** 2 / sample.design.units, 0.0))
    return errors


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
