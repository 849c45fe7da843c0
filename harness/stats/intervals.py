"""Scores with bootstrap intervals, from rows of summable statistics.

| method | bounds |
| --- | --- |
| auto | `agresti-coull` for scores that are shares of examples, `log-t` for BLEU of few, `t` for others of up to six
units, else `expanded` |
| expanded | quantiles of the replicates, further out the fewer units there are (harness/stats/expansion.py); by `auto`,
of fewer than 30 examples, moved as BCa moves them and further out where values have heavy tails |
| agresti-coull, wilson | from the binomial distribution (harness/stats/proportions.py) |
| log-t | Student's t on the scale of logarithms (harness/stats/logarithms.py) |
| t | Student's t times the replicates' standard deviation, expanded alike, inside the score's scale |
| percentile | quantiles of the replicates (Efron and Tibshirani 1993, chapter 13) |
| basic | the same reflected at the estimate |
| bca | quantiles corrected for bias, ties counting half, and for acceleration by the exact jackknife (Efron 1987) |
| normal | the estimate and a multiple of the replicates' standard deviation |
| studentized | quantiles of (replicate - estimate) / its own standard error, by the delta method (Hall 1988) |

Where repeats are seeds the bounds are those of `harness.stats.seeds`, whatever is asked for.

A metric that is `jackknifed` has `jackknife` whatever is asked for: quantiles of the estimate plus the shifts of the
units drawn, that of each found by leaving it out (Efron and Stein 1981).

The bounds are reported as computed, low and high apart, each with its Monte Carlo error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np

from harness.inputs.choices import LOG_T, OVER_SEEDS, T
from harness.stats import seeds
from harness.stats.design import Design
from harness.stats.expansion import NORMAL, Expansion
from harness.stats.logarithms import by_logarithms, log_interval
from harness.stats.options import Options
from harness.stats.proportions import AGRESTI_COULL, WILSON, Evidence, scale_of, share_interval
from harness.stats.resampling import BLOCK, Sample, quiet_single_thread, replicates
from harness.stats.studentizing import can_studentize, studentized
from harness.stats.tally import Tally
from harness.types import Advance, Array, Engine, HarnessError, Integers, Metric, Score, Statistics, nothing

USABLE = 0.9
"""Share of replicates that must have a standard error for studentising; else the percentiles stand in."""
GROUPS = 10
"""Groups of resamples whose bounds are compared for the Monte Carlo error."""
ROUNDING = 1e-12
"""Replicates that differ by no more than this, as a share of the largest, are the same: sums have last bits."""
JACKKNIFE = "jackknife"
PURPOSE = "intervals"
"""Of the draws, where no other is named."""
FEW = 5
"""Units up to which an interval says little."""
SHORT_TAILED = 6
"""Units up to which quantiles cannot be expanded as far as Student's t reaches: the replicates of so few reach no
further than the farthest of them."""
SKEWED = 30
"""Units below which an expanded interval is not enough for skewed values."""
Bounds = Callable[[Array], tuple[Array, Array]]
"""From replicates (resamples, s) to (low, high), each (s,)."""
DEFAULT = Options()
NO_PLACES: Integers = np.empty(0, np.int64)


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
        if samples[0].design.repeats > 1:  # bounds of seeds need none; a few tell whether the score is defined
            draw = min(draw, BLOCK)
        how = options.seed, PURPOSE, advance, engine
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
        if drawn is not None and sample.design.repeats > 1:
            ends, methods = seeds.bounds(sample, estimates, options), [OVER_SEEDS] * len(nan)
        elif drawn is not None:
            ends, methods, of_bounds = bounds(sample, drawn, estimates, options)
            errors = of_bounds()
    doubt = metric.doubt(sample.rows.sum(0)) if sample.summable and sample.design.repeats == 1 else None
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
            note=_note(
                _reason(sample.design, float(estimates[i]), options.resamples, replicate, (ends[0][i], ends[1][i])),
                metric.caution_of(name) if np.isfinite(estimates[i]) else None,
                doubt if "." not in name and drawn is not None else None,
            ),
            low_error=number(errors[0][i]),
            high_error=number(errors[1][i]),
            title=metric.title_of(name),
            digits=metric.digits_of(name),
            units=sample.design.description,
        )


def bounds(
    sample: Sample, drawn: Array, estimates: Array, options: Options, purpose: str = PURPOSE
) -> tuple[tuple[Array, Array], list[str], Callable[[], tuple[Array, Array]]]:
    """((low, high), the method taken, what finds their Monte Carlo errors) of s scores, from replicates (r, s) that
    were drawn for this purpose."""
    if sample.jackknifed:
        ends_of, taken = partial(interval, estimates=estimates, level=options.level, method="percentile"), JACKKNIFE
        return ends_of(drawn), [taken] * len(estimates), partial(monte_carlo_errors, drawn, ends_of)
    if options.method == "studentized":
        return _studentized_bounds(sample, drawn, estimates, options, purpose)
    bounds_of, methods = _plain(sample, estimates, options)
    return bounds_of(drawn), methods, partial(monte_carlo_errors, drawn, bounds_of)


def _plain(sample: Sample, estimates: Array, options: Options) -> tuple[Bounds, list[str]]:
    """(what finds the bounds from replicates, the method taken for each score)."""
    chosen, level = options.method, options.level
    method = "expanded" if chosen in ("auto", WILSON) else chosen
    more = sample.left_out() if method == "bca" else sample.expansion if method == "expanded" else None
    ends_of: Bounds = partial(interval, estimates=estimates, level=level, method=method, more=more)
    if chosen == "auto" and _of_few_alike(sample):
        left_out = _within_strata(sample)
        tails = [sample.expansion.tailed(moved).tails(level) for moved in left_out.T]
        ends_of = partial(_bca_bounds, estimates=estimates, left_out=left_out, tails=tails)
    special = _special(sample, estimates, options)

    def with_special(drawn: Array) -> tuple[Array, Array]:
        low, high = ends_of(drawn)
        for _, places, special_ends_of in special:
            low[places], high[places] = special_ends_of(drawn)
        return low, high

    methods = [method] * len(estimates)
    for name, places, _ in special:
        for i in places:
            methods[i] = name
    return with_special, methods


def _special(sample: Sample, estimates: Array, options: Options) -> list[tuple[str, Integers, Bounds]]:
    """(method, places, bounds of the scores there) of scores whose bounds are no quantiles of replicates."""
    special: list[tuple[str, Integers, Bounds]] = []
    shares = np.flatnonzero(sample.two_valued) if options.method in ("auto", WILSON) else NO_PLACES
    if len(shares):
        exact = WILSON if options.method == WILSON else AGRESTI_COULL
        evidence = _evidence(sample, shares)
        special.append((exact, shares, partial(_share_bounds, sample, estimates, (options.level, exact, evidence))))
    logs = by_logarithms(sample, estimates) if options.method == "auto" else NO_PLACES
    if len(logs):
        ends = log_interval(sample, estimates, options.level, logs)
        special.append((LOG_T, logs, lambda drawn: ends))
    if options.method == "auto" and sample.design.units <= SHORT_TAILED:
        others = np.setdiff1d(_on_the_scale(sample.metric), np.concatenate([shares, logs]))
        special.append((T, others, partial(_student_bounds, sample, estimates, options.level, others)))
    return special


def _on_the_scale(metric: Metric) -> Integers:
    """The places of headline scores, and of sub-scores that are means as they are: of others, such as BLEU's, nobody
    knows where their scale ends, inside which quantiles stay by themselves."""
    names = enumerate(metric.score_names)
    return np.array([i for i, name in names if metric.averaged or "." not in name], np.int64)


def _of_few_alike(sample: Sample) -> bool:
    """Whether there are so few units, about equal in size, that an interval must allow for the shape of their values;
    of unequal ones that shape is mostly of their sizes, for which the expansion allows."""
    units = sample.design.units
    return SHORT_TAILED < units < SKEWED and sample.expansion.effective > units - 0.5


def _within_strata(sample: Sample) -> Array:
    """(units, s) the scores with each unit left out, less their mean over its stratum."""
    left_out, sizes = sample.left_out(), sample.design.sizes
    means = np.add.reduceat(left_out, np.cumsum(sizes) - sizes) / sizes[:, None]
    return np.asarray(left_out - np.repeat(means, sizes, axis=0))


def _evidence(sample: Sample, places: Integers) -> dict[int, Evidence]:
    """By the places of shares what their intervals rest on. Where a few clusters hold most of the events, the variance
    between clusters is known as badly as its kurtosis says."""
    design, outputs = sample.design, sample.metric.outputs
    plain = sample.expansion
    if design.units == len(design.of_examples) or not sample.summable or design.units <= SHORT_TAILED:
        return {int(place): Evidence.of(design, plain, outputs) for place in places}
    moved = _within_strata(sample)
    return {int(place): Evidence.of(design, plain.tailed(moved[:, place]), outputs) for place in places}


def _share_bounds(
    sample: Sample, estimates: Array, how: tuple[float, str, dict[int, Evidence]], drawn: Array
) -> tuple[Array, Array]:
    """(low, high) of shares of examples; `how`: at which level, by which method, and on what each rests."""
    level, exact, evidence = how
    smallest, largest = scale_of(sample.metric)
    scale = largest - smallest
    ends = []
    for place, known in evidence.items():
        values, variances = (estimates[[place]] - smallest) / scale, (spread(drawn[:, [place]]) / scale) ** 2
        ends.append(share_interval(values, variances, known, level, exact))
    low, high = (np.concatenate(side) for side in zip(*ends, strict=True))
    return smallest + scale * low, smallest + scale * high


def _student_bounds(
    sample: Sample, estimates: Array, level: float, places: Integers, drawn: Array
) -> tuple[Array, Array]:
    """(low, high) of the scores at these places, by the standard deviation of their replicates."""
    low, high = interval(drawn[:, places], estimates[places], level, "normal", sample.expansion)
    least, most = sample.metric.bounds or (-np.inf, np.inf)
    return np.clip(low, least, most), np.clip(high, least, most)


def _studentized_bounds(
    sample: Sample, drawn: Array, estimates: Array, options: Options, purpose: str
) -> tuple[tuple[Array, Array], list[str], Callable[[], tuple[Array, Array]]]:
    """As `bounds`; the percentiles stand in where too few replicates have a standard error."""
    level, method, plain = options.level, options.method, "percentile"
    percentiles = partial(interval, estimates=estimates, level=level, method=plain)
    ends, errors = percentiles(drawn), partial(monte_carlo_errors, drawn, percentiles)
    if not can_studentize(sample):
        return ends, [plain] * len(estimates), errors
    studentised, error = studentized(sample, drawn, estimates, (options.seed, purpose))
    fit = np.asarray(np.isfinite(studentised).mean(0) >= USABLE)
    by_errors = partial(interval, estimates=estimates, level=level, method=method, more=error)

    def both() -> tuple[Array, Array]:
        mine = monte_carlo_errors(studentised, by_errors)
        low, high = (np.where(fit, a, b) for a, b in zip(mine, errors(), strict=True))
        return low, high

    low, high = (np.where(fit, a, b) for a, b in zip(by_errors(studentised), ends, strict=True))
    return (low, high), [method if usable else plain for usable in fit], both


def _note(*parts: str | None) -> str | None:
    """What a reader must know before trusting the bounds, or comparing the value with others."""
    return "; ".join(part for part in parts if part) or None


def _reason(
    design: Design, estimate: float, resamples: int, drawn: Array | None, ends: tuple[float, float]
) -> str | None:
    """Why there is no interval, or one that says little."""
    unit = design.label.partition(" ")[0]
    if design.units == 0:
        return "no example could be scored"
    if not np.isfinite(estimate):
        return "undefined on this data"
    if resamples == 0 or drawn is None:
        return f"one {unit[:-1]}: no interval" if resamples else None
    if np.isnan(drawn).all():
        return "undefined on every resample: no interval"
    least = ROUNDING * np.nanmax(np.abs(drawn))
    constant = max(np.nanmax(drawn) - np.nanmin(drawn), ends[1] - ends[0]) <= least
    if design.units > 2 and constant:
        return f"the same on every resample of the {design.units} {unit}: the interval has no width"
    if design.units <= FEW:
        return f"{design.units} {unit}: the interval says little"
    return None


def interval(
    drawn: Array, estimates: Array, level: float, method: str, more: Array | Expansion | None = None
) -> tuple[Array, Array]:
    """(low, high), each (s,), from replicates (resamples, s).

    `more`: for `expanded`, and for `normal` with Student's t, how far the replicates fall short; for BCa the jackknife
    values (n, s); for `studentized`, where `drawn` holds studentised replicates, the errors of the estimates (s,).
    """
    tails = more.tails(level) if isinstance(more, Expansion) else np.array([(1 - level) / 2, (1 + level) / 2])
    if method == "normal":
        errors = more.reach(level) * np.sqrt(more.ratio) if isinstance(more, Expansion) else NORMAL.inv_cdf(tails[1])
        return estimates - errors * spread(drawn), estimates + errors * spread(drawn)
    if method == "bca":
        assert isinstance(more, np.ndarray)
        return _bca_bounds(drawn, estimates, more, [tails] * len(estimates))
    low, high = _quantiles(drawn, tails)
    if method == "basic":
        return 2 * estimates - high, 2 * estimates - low
    if method == "studentized":
        assert isinstance(more, np.ndarray)
        return estimates - high * more, estimates - low * more
    return low, high


def monte_carlo_errors(drawn: Array, ends_of: Bounds) -> tuple[Array, Array]:
    """Standard errors (low, high), each (s,), of the bounds as estimates of what endless resampling would give: from
    the bounds of ten groups of resamples, of which the bounds of all are about the average."""
    size = len(drawn) // GROUPS
    if size < 2:
        return (np.full(drawn.shape[1], np.nan),) * 2
    groups = [ends_of(drawn[i * size : (i + 1) * size]) for i in range(GROUPS)]
    low, high = (np.array(bounds) for bounds in zip(*groups, strict=True))
    low_error, high_error = (
        np.where(np.ptp(ends, axis=0) == 0, 0.0, ends.std(axis=0, ddof=1)) / np.sqrt(GROUPS) for ends in (low, high)
    )
    return low_error, high_error


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


def _bca_bounds(drawn: Array, estimates: Array, left_out: Array, tails: Sequence[Array]) -> tuple[Array, Array]:
    """(low, high), each (s,), from replicates (resamples, s), scores with each unit left out (units, s), and for each
    score the tails that would be taken were nothing biased or skewed."""
    places = [_bca_tails(drawn[:, i], estimates[i], left_out[:, i], own) for i, own in enumerate(tails)]
    low, high = np.concatenate([_quantiles(drawn[:, [i]], at) for i, at in enumerate(places)], axis=1)
    return low, high


def _bca_tails(drawn: Array, estimate: float, left_out: Array, tails: Array) -> Array:
    """The percentiles that BCa takes instead of `tails`; ties count half in the bias term."""
    drawn = drawn[~np.isnan(drawn)]
    if len(drawn) == 0 or np.isnan(left_out).any() or not 0 < tails[0] < tails[1] < 1:
        return tails
    close = np.abs(drawn - estimate) <= ROUNDING * abs(estimate)  # np.isclose takes several times as long
    share = (np.count_nonzero((drawn < estimate) & ~close) + 0.5 * np.count_nonzero(close)) / len(drawn)
    bias = NORMAL.inv_cdf(float(np.clip(share, 0.5 / len(drawn), 1 - 0.5 / len(drawn))))
    deviations = left_out.mean() - left_out
    scale = 6 * (deviations**2).sum() ** 1.5
    acceleration = float((deviations**3).sum() / scale) if scale > 0 else 0.0
    moved = [bias + NORMAL.inv_cdf(float(tail)) for tail in tails]
    return np.array([NORMAL.cdf(bias + z / (1 - acceleration * z)) for z in moved])


def number(value: float) -> float | None:
    """A value for a result: None where it is not finite."""
    return float(value) if np.isfinite(value) else None
