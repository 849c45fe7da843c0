"""Paired comparison of systems on the same examples.

For each headline score the difference to a baseline gets a bootstrap interval and a p-value, from the same resamples
for all systems. `bootstrap`: p = (1 + #{|d* - d| >= |d|}) / (R + 1), with d* the resampled differences.
`randomization`: outputs of the two systems are swapped at random, p = (1 + #{|d*| >= |d|}) / (R + 1), by exact
enumeration where there are no more than R ways to swap. One-sided tests leave the bars away. Identical systems get
p = 1 either way. P-values are adjusted over the whole family (scores x systems x data sets); verdicts follow the
adjusted ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from harness.stats.corrections import share
from harness.stats.differences import outcomes
from harness.stats.family import Found, Options, corrected, macro
from harness.stats.intervals import interval, number, spread
from harness.stats.power import needed, smallest_detectable
from harness.stats.resampling import (
    BLOCK,
    Design,
    Kept,
    Sample,
    counts,
    quiet_single_thread,
    replicates,
    resampled,
    swapped_all,
)
from harness.types import Advance, Array, Comparison, Comparisons, HarnessError, RunResult, Statistics, nothing


@dataclass(frozen=True)
class _Pair:
    """Two systems on one metric and the same units; rows that are missing in either are left out of both."""

    baseline: RunResult
    system: RunResult
    name: str
    before: Sample
    after: Sample
    n: int
    excluded: int
    keep: Kept


def compare(
    groups: Sequence[Sequence[tuple[RunResult, RunResult]]], options: Options, advance: Advance = nothing
) -> Comparisons:
    """Compares (baseline, system) pairs, grouped by data; the runs of a group hold the same examples in one order.

    `options.scores` are such as some pair has (`harness.pairs.check_scores`).
    `advance` is told of resamples done, `options.resamples` for each group.
    """
    options.check()
    found = [_group(group, options, advance) for group in groups]
    rows = corrected([one for group in found for one in group], options)
    return Comparisons(rows, corrected(macro(found, options), options))


def _headline(scores: Iterable[str]) -> list[str]:
    return [score for score in scores if "." not in score]


def _group(group: Sequence[tuple[RunResult, RunResult]], options: Options, advance: Advance) -> list[Found]:
    """Uncorrected comparisons on one data set."""
    first = group[0][0]
    design = Design.of_run(first)
    samples: dict[tuple[int, bytes], Sample] = {}  # a system's rows are resampled once for all its pairs
    pairs = [_pair(a, b, name, design, samples) for a, b in group for name in b.statistics]
    purpose = f"comparison {first.dataset_key}"
    unique = list(samples.values())
    drawn = dict(
        zip(map(id, unique), replicates(unique, options.resamples, options.seed, purpose, advance), strict=True)
    )
    with quiet_single_thread():
        estimates = {id(sample): sample.estimate() for sample in unique}
        exact = options.test == "randomization" and design.units < 63 and 2**design.units <= options.resamples
        marked = {} if options.test == "bootstrap" else _marked(unique, design, options, purpose, exact)
        known = {id(one): one for a, b in group for run in (a, b) for one in run.statistics.values()}
        examples = {key: one.metric.score_examples(one.rows) for key, one in known.items()}
        found: list[Found] = []
        for pair in pairs:
            differences = drawn[id(pair.after)] - drawn[id(pair.before)]
            before, after = estimates[id(pair.before)], estimates[id(pair.after)]
            if options.test == "bootstrap":
                null = differences - (after - before)
            elif pair.after.summable:
                null = _swapped(pair, marked[id(pair.before)], marked[id(pair.after)])
            else:
                null = _exchanged(pair, options, purpose, exact)
            scored = [examples[id(run.statistics[pair.name])][pair.keep] for run in (pair.baseline, pair.system)]
            found += _rows(pair, design, before, after, differences, null, scored, exact, options)
    return found


def _pair(
    baseline: RunResult, system: RunResult, name: str, design: Design, samples: dict[tuple[int, bytes], Sample]
) -> _Pair:
    before, after = baseline.statistics[name], system.statistics[name]
    keep = np.asarray(~(np.isnan(before.rows).any(1) | np.isnan(after.rows).any(1)))
    n = len(np.unique(design.members[keep]))
    if n < 2:
        raise HarnessError(
            f"{baseline.name} and {system.name} share {n} {design.label} with {name} scores; "
            "expected at least 2 to compare"
        )

    def sample(one: Statistics) -> Sample:
        key = (id(one), keep.tobytes())
        if key not in samples:
            samples[key] = Sample(one.metric, one.rows, design, keep)
        return samples[key]

    return _Pair(baseline, system, name, sample(before), sample(after), n, int((~keep).sum()), keep)


def _rows(
    pair: _Pair,
    design: Design,
    before: Array,
    after: Array,
    differences: Array,
    null: Array,
    scored: Sequence[Array],
    exact: bool,
    options: Options,
) -> Iterable[Found]:
    metric = pair.after.metric
    chosen = [score for score in _headline(metric.score_names) if options.scores is None or score in options.scores]
    tested = [metric.score_names.index(score) for score in chosen]
    if not tested:
        return
    seen, differences = (after - before)[tested], differences[:, tested]
    left_out = None
    if options.method == "bca":
        left_out = (pair.after.left_out() - pair.before.left_out())[:, tested]
    lows, highs = interval(differences, seen, options.level, options.method, left_out)
    errors = spread(differences)
    for j, i in enumerate(tested):
        difference, error, under_null = float(seen[j]), float(errors[j]), null[:, i]
        gains = scored[1][:, i] - scored[0][:, i]
        against = options.statistic(np.array(difference), metric.higher_is_better)
        p_value = share(options.statistic(under_null, metric.higher_is_better), float(against), exact)
        checks = _cross_checks(gains, options) if options.cross_check and _is_mean(pair, design) else (None, None)
        row = Comparison(
            dataset=pair.baseline.dataset,
            baseline=pair.baseline.name,
            system=pair.system.name,
            score=metric.score_names[i],
            n=pair.n,
            unit=design.label,
            excluded=pair.excluded,
            baseline_estimate=number(before[i]),
            system_estimate=number(after[i]),
            difference=number(difference),
            low=number(lows[j]),
            high=number(highs[j]),
            p_value=p_value if np.isfinite(difference) else None,
            p_adjusted=None,
            verdict="not distinguishable",
            smallest_detectable=number(smallest_detectable(error, options.level, sides=options.sides)),
            needed=_needed(pair.n, error, difference, float(against), options),
            standard_error=number(error),
            effect_size=number(difference / (error * np.sqrt(pair.n))) if error > 0 else None,
            **_shares(gains if metric.higher_is_better else -gains),
            p_t=checks[0],
            p_wilcoxon=checks[1],
            higher_is_better=metric.higher_is_better,
        )
        yield Found(row, (pair.baseline.system, pair.system.system), differences[:, j], under_null, exact)


def _needed(n: int, error: float, difference: float, against: float, options: Options) -> int | None:
    """`against`: the difference in the tested direction; no n shows one that lies in the other."""
    if not np.isfinite(error) or not np.isfinite(difference) or against <= 0:
        return None
    return needed(n, error, difference, options.level, sides=options.sides)


def _shares(gains: Array) -> dict[str, float | None]:
    """Shares of examples won, tied and lost, from gains (n,)."""
    gains = gains[~np.isnan(gains)]
    if len(gains) == 0:
        return dict.fromkeys(("won", "tied", "lost"))
    return {name: float(which.mean()) for name, which in outcomes(gains).items()}


def _is_mean(pair: _Pair, design: Design) -> bool:
    """Whether textbook tests for means of independent examples apply."""
    return pair.after.metric.averaged and design.label == "examples" and design.repeats == 1


def _cross_checks(gains: Array, options: Options) -> tuple[float, float]:
    """p of the paired t-test and of Wilcoxon's signed ranks, examples without a difference left out."""
    import scipy.stats

    sides = {"two-sided": "two-sided", "better": "greater", "worse": "less"}[options.alternative]
    if not gains.any():
        return 1.0, 1.0
    with np.errstate(all="ignore"):
        t = scipy.stats.ttest_1samp(gains, 0.0, alternative=sides).pvalue
        wilcoxon = scipy.stats.wilcoxon(gains, alternative=sides, zero_method="wilcox", method="approx").pvalue
    return float(t), float(wilcoxon)


# ---------------------------------------------------------------- randomisation


def _marked(samples: Sequence[Sample], design: Design, options: Options, purpose: str, exact: bool) -> dict[int, Array]:
    """Sums (resamples, k) of the rows whose outputs are to be swapped, the same units for all systems."""
    summable = [sample for sample in samples if sample.summable]
    rows = [sample.rows for sample in summable]
    if exact:
        sums = swapped_all(rows, design.units)
    else:
        sums = resampled(rows, design, options.resamples, options.seed, purpose + " swaps", flips=True)
    return {id(sample): total for sample, total in zip(summable, sums, strict=True)}


def _swapped(pair: _Pair, of_before: Array, of_after: Array) -> Array:
    """Differences (resamples, s) after the swaps: what is marked goes from each system to the other."""
    moved = of_before - of_after
    once = np.ones((len(moved), pair.after.design.repeats))
    after = pair.after.scores(pair.after.rows.sum(0) + moved, once)
    return np.asarray(after - pair.before.scores(pair.before.rows.sum(0) - moved, once))


def _exchanged(pair: _Pair, options: Options, purpose: str, exact: bool) -> Array:
    """The same for what is no function of a sum: its rows are exchanged."""
    a, b = pair.before, pair.after
    one = np.ones((1, len(a.rows)))

    def difference(mark: Array) -> Array:
        swap = mark[a.members, None] > 0
        x, y = np.where(swap, a.rows, b.rows), np.where(swap, b.rows, a.rows)
        return np.asarray(b.metric.score_weighted(one, x)[0] - a.metric.score_weighted(one, y)[0])

    if exact:
        return np.array([difference(mark) for mark in swapped_all([np.eye(a.design.units)], a.design.units)[0]])
    blocks = range(-(-options.resamples // BLOCK))
    marks = (mark for i in blocks for mark in counts(a.design, options.seed, purpose + " swaps", i, flips=True))
    return np.array([difference(mark) for mark in islice(marks, options.resamples)])
