"""Paired comparison of systems on the same examples.

For each headline score the difference to a baseline gets an interval and a p-value, from the same resamples for all
systems. `bootstrap`: p = (1 + #{|d* - d| >= |d|}) / (R + 1), with d* the resampled differences, expanded as the
intervals are (harness/stats/expansion.py). `randomization`: outputs of the two systems are swapped at random,
p = (1 + #{|d*| >= |d|}) / (R + 1), by exact enumeration where there are no more than R ways to swap. One-sided tests
leave the bars away, and the bootstrap's takes d - d* there: the share of the replicates on the other side of zero, as
the interval has them. Identical systems get p = 1 either way, and none a smaller p than the units that differ permit
(harness/stats/fewness.py). P-values are adjusted over the whole family (scores x systems x data sets); verdicts follow
the adjusted ones.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from harness.inputs.choices import T
from harness.stats.comparing.family import corrected, macro
from harness.stats.comparing.hypotheses import Hypothesis, Tested
from harness.stats.comparing.interaction import interactions
from harness.stats.comparing.joint import Swaps
from harness.stats.comparing.paired import Pair, Paired, tested
from harness.stats.comparing.per_example import outcomes
from harness.stats.comparing.posterior import Posterior
from harness.stats.corrections import share
from harness.stats.design import Design
from harness.stats.expansion import Expansion
from harness.stats.fewness import fewest, least_p
from harness.stats.intervals import SHORT_TAILED, interval, number, spread
from harness.stats.logarithms import is_product_of_few
from harness.stats.options import ComparisonOptions
from harness.stats.power.detection import Known, needed, smallest_detectable
from harness.stats.power.planning import against_seeds, degrees_of
from harness.stats.proportions import TANGO, PairedShares, unseen_error
from harness.stats.resampling import WEIGHTS, quiet_single_thread, swapped_all
from harness.stats.seeds import Spread
from harness.stats.spilled import Spilled
from harness.types import Advance, Array, Comparison, Comparisons, HarnessError, Metric, Rows, RunResult, nothing

LAST_BITS = 1e-10
"""Of a number, what is rounding and no spread."""
NOTHING_DIFFERS = "no example differs: the standard error is the largest that this leaves likely"


def compare(
    groups: Sequence[Sequence[tuple[RunResult, RunResult]]], options: ComparisonOptions, advance: Advance = nothing
) -> Comparisons:
    """Compares (baseline, system) pairs, grouped by data; the runs of a group hold the same examples in one order.

    `options.scores` are such as some pair has (`harness.analysis.comparing.pairing.check_scores`).
    `advance` is told of resamples done, `options.resamples` for each group.
    """
    options.check()
    by_data = [_group(group, options, advance) for group in groups]
    averages = macro(by_data, options) if options.sliced_by is None else []  # of slices, the whole is the average
    varying = interactions(by_data, options.seed) if options.sliced_by is not None else []
    family = [row for group in by_data for row in group]
    del by_data  # so that each row is gone once it is corrected
    return Comparisons(corrected(family, options), corrected(averages, options), varying, options.alternative)


def _group(group: Sequence[tuple[RunResult, RunResult]], options: ComparisonOptions, advance: Advance) -> list[Tested]:
    """Uncorrected comparisons on one data set."""
    paired = Paired(group, options, f"comparison {group[0][0].dataset_key}", advance)
    nulls = Spilled()
    with quiet_single_thread():
        return [row for pair in paired.pairs for row in _rows(pair, paired, nulls)]


def _rows(pair: Pair, paired: Paired, nulls: Spilled) -> Iterable[Tested]:
    options, design, metric = paired.options, paired.design, pair.metric
    which = tested(metric, options)
    if not which:
        return
    differences, (before, after) = paired.differences(pair), paired.estimates(pair)
    seen = (after - before)[which]
    if options.test == "bootstrap":
        null = seen - differences  # one-sided, the tail that the interval has on the side of no difference
    else:
        swapped = _swapped(pair, paired) if paired.sample(pair.after).summable else _exchanged(pair, paired)
        null = swapped[:, which]
        nulls[pair.before, pair.after] = null.T
    by_example, evidence, errors = paired.examples(pair), paired.evidence(pair), spread(differences)
    gained, expansion = (by_example[1] - by_example[0]).T, evidence.expansion
    usual, (lows, highs) = _bounds(pair, paired, differences, seen)
    differing = paired.differing(pair, gained)
    spreads = paired.seeds.spreads(pair.before, pair.after) if paired.seeds.asked else None
    draws, systems = _Draws(paired, pair, nulls), (pair.baseline.system, pair.system.system)
    right_or_wrong = paired.right_or_wrong(pair)
    for j, i in enumerate(which):
        difference, error, gains = float(seen[j]), float(errors[j]), gained[:, j]
        of_seeds = None if spreads is None or not spreads[j].variance else spreads[j]
        hypothesis = Hypothesis(
            systems=systems,
            source=draws,
            score=j,
            group=paired.purpose,
            draws=Swaps(len(null), paired.exact),
            expansion=expansion if of_seeds is None else Expansion(1.0, of_seeds.degrees, expansion.effective),
            differing=differing[j],
            shares=PairedShares.of(gains, metric, evidence, error**2) if right_or_wrong[j] else None,
            largest=_largest(metric),
        )
        method, low, high = usual, lows[j], highs[j]
        if options.method == "auto" and hypothesis.shares is not None:
            method, (low, high) = TANGO, hypothesis.shares.interval(options.level)
        against = options.statistic(np.array(difference), metric.higher_is_better)
        p_value = hypothesis.p_value(
            share(options.statistic(null[:, j], metric.higher_is_better), float(against), paired.exact), options
        )
        checks = _cross_checks(gains, options) if options.cross_check and _is_mean(pair, design) else (None, None)
        could = _likely_error(error, hypothesis, metric, options)
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
            low=number(low),
            high=number(high),
            p_value=p_value if np.isfinite(difference) else None,
            p_adjusted=None,
            verdict="not distinguishable",
            smallest_detectable=number(smallest_detectable(could, options.level, sides=options.sides, df=expansion.df)),
            needed=_needed(Known(pair.n, could, expansion.df), difference, float(against), options),
            standard_error=number(could),
            effect_size=_effect_size(difference, error, pair.n),
            **_shares(gains if metric.higher_is_better else -gains),
            p_t=checks[0],
            p_wilcoxon=checks[1],
            higher_is_better=metric.higher_is_better,
            digits=metric.digits_of(metric.score_names[i]),
            method=method,
            note=None if differing[j] or not np.isfinite(difference) else NOTHING_DIFFERS,
            margin=options.margin_of(metric.score_names[i]),
            degrees=degrees_of(gains, pair.n),
            stage=metric.stage,
            caution=metric.caution,
            title=metric.title_of(metric.score_names[i]),
            test_degrees=expansion.df,
        )
        if options.posterior and differing[j] and np.isfinite(difference) and pair.n >= fewest(options.level):
            row = replace(row, **_believed(paired.posterior(pair, j), differing[j], row.margin))
        if spreads is not None:
            row = _of_seeds(row, spreads[j], hypothesis, options)
        yield Tested(row, hypothesis)


def _effect_size(difference: float, error: float, n: int) -> float | None:
    """The difference over the spread of examples' own; none where they all differ by the same, to the last bits.

    >>> _effect_size(1.0, 0.25, 4), _effect_size(1 / 3, 1e-17, 4)
    (2.0, None)
    """
    return number(difference / (error * np.sqrt(n))) if error > LAST_BITS * abs(difference) else None


def _of_seeds(row: Comparison, spread: Spread, by: Hypothesis, options: ComparisonOptions) -> Comparison:
    """The row where the question is of new seeds. No difference is better known than of these outputs alone: shares of
    examples keep the width of their score interval; where nothing varies the row stands as it is."""
    seeds = (spread.seeds[0], spread.seeds[1])
    if row.difference is None or not spread.variance:
        return replace(row, question="seeds", seeds=seeds, effect_size=None)
    row = replace(row, **against_seeds(spread, row.difference, row.higher_is_better, options))
    if by.shares is not None and options.method == "auto" and row.low is not None and row.high is not None:
        low, high = by.shares.interval(options.level)
        row = replace(row, low=min(low, row.low), high=max(high, row.high))
    least = least_p(by.differing, options.sides)
    return row if row.p_value is None or row.p_value >= least else replace(row, p_value=least)


def _believed(posterior: Posterior, differing: int, margin: float | None) -> dict[str, Any]:
    within = None if margin is None else number(posterior.within(margin))
    return {"posterior_better": number(posterior.better(differing)), "posterior_within": within}


def _bounds(pair: Pair, paired: Paired, differences: Array, seen: Array) -> tuple[str, tuple[Array, Array]]:
    """(method, (low, high)), bounds each (tested,), from replicates (resamples, tested) of the differences."""
    options = paired.options
    method = options.interval_method
    more: Array | Expansion | None = None
    few = pair.n <= SHORT_TAILED or is_product_of_few(pair.metric, paired.design)
    if options.method == "auto" and few:
        low, high = interval(differences, seen, options.level, "normal", paired.evidence(pair).expansion)
        low, high = np.clip((low, high), -_largest(pair.metric), _largest(pair.metric))
        return T, (low, high)
    if method == "expanded":
        more = paired.evidence(pair).expansion
    elif method == "bca":
        which = tested(pair.metric, options)
        more = (paired.sample(pair.after).left_out() - paired.sample(pair.before).left_out())[:, which]
    return method, interval(differences, seen, options.level, method, more)


def _largest(metric: Metric) -> float:
    """The largest difference that the scale permits."""
    least, most = metric.bounds or (-np.inf, np.inf)
    return most - least


@dataclass(frozen=True, slots=True)
class _Draws:
    """The draws of a pair, made again when they are asked for."""

    paired: Paired
    pair: Pair
    nulls: Spilled

    def drawn(self, score: int) -> Array:
        return np.asarray(self.paired.differences(self.pair)[:, score])

    def null(self, score: int) -> Array:
        if self.paired.options.test == "randomization":
            return np.asarray(self.nulls[self.pair.before, self.pair.after][score])
        if self.paired.seeds.asked:
            drawn = self.paired.differences(self.pair)
            return self.paired.seeds.null(self.pair.before, self.pair.after, drawn)[:, score]
        before, after = self.paired.estimates(self.pair)
        place = tested(self.pair.metric, self.paired.options)[score]
        return float(after[place] - before[place]) - self.drawn(score)

    def by_unit(self, score: int) -> Array | None:
        """By the jackknife: what each unit of both adds to the difference (Tukey's pseudo-values)."""
        before, after = (self.paired.sample(key) for key in (self.pair.before, self.pair.after))
        if self.paired.seeds.asked or not after.summable:
            return None
        place = tested(self.pair.metric, self.paired.options)[score]
        with quiet_single_thread():
            whole = float(after.estimate()[place] - before.estimate()[place])
            without = (after.left_out() - before.left_out())[np.unique(after.members), place]
        return np.asarray(whole + (len(without) - 1) * (without.mean() - without))


def _likely_error(error: float, by: Hypothesis, metric: Metric, options: ComparisonOptions) -> float:
    """The standard error of a difference by what could have been seen, where few or no examples differ; otherwise that
    of its replicates, which fall short."""
    if by.shares is not None:
        return by.shares.error(options.level)
    return error * math.sqrt(by.expansion.ratio) if by.differing else unseen_error(metric, by.expansion, options.level)


def _needed(known: Known, difference: float, against: float, options: ComparisonOptions) -> int | None:
    """`against`: the difference in the tested direction; no n shows one that lies in the other."""
    if not np.isfinite(known.error) or not np.isfinite(difference) or against <= 0:
        return None
    return needed(known, difference, options.level, sides=options.sides)


def _shares(gains: Array) -> dict[str, Any]:
    """Shares of examples won, tied and lost, from gains (n,)."""
    gains = gains[~np.isnan(gains)]
    if len(gains) == 0:
        return dict.fromkeys(("won", "tied", "lost"))
    return {name: float(which.mean()) for name, which in outcomes(gains).items()}


def _is_mean(pair: Pair, design: Design) -> bool:
    """Whether textbook tests for means of independent examples apply."""
    return pair.metric.averaged and design.label == "examples" and design.repeats == 1


def _cross_checks(gains: Array, options: ComparisonOptions) -> tuple[float, float]:
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


def _swapped(pair: Pair, paired: Paired) -> Array:
    """Differences (resamples, s) after the swaps: what is marked goes from each system to the other."""
    before, after = paired.sample(pair.before), paired.sample(pair.after)
    of_before, of_after = paired.marked(pair)
    each = len(before.members) / len(after.members)  # a system with more outputs an example has larger sums
    swapped = after.scores(after.rows.sum(0) + (of_before / each - of_after))
    return np.asarray(swapped - before.scores(before.rows.sum(0) - (of_before - of_after * each)))


def _exchanged(pair: Pair, paired: Paired) -> Array:
    """The same for what is not a function of a sum: of the rows of both, each system gets one of every example."""
    before, after, swaps = paired.sample(pair.before), paired.sample(pair.after), paired.swaps
    if len(before.members) != len(after.members):
        raise HarnessError(
            f"{pair.baseline.name} and {pair.system.name} have different numbers of outputs an example, which cannot "
            f"be swapped for {pair.name}; expected the same number, or test=bootstrap"
        )
    both = Rows.joined(before.whole, after.whole)
    size = max(1, WEIGHTS // len(both))

    def differences(marks: Array) -> Iterator[Array]:
        for start in range(0, len(marks), size):
            swapped = marks[start : start + size][:, before.members]
            theirs, ours = (np.hstack(halves) for halves in ((1 - swapped, swapped), (swapped, 1 - swapped)))
            yield after.metric.score_weighted(ours, both) - before.metric.score_weighted(theirs, both)

    if paired.exact:
        units = swaps.design.units
        return np.concatenate(list(differences(swapped_all([np.eye(units)], units)[0])))
    blocks = (swaps.counts(block).astype(np.float64) for block in range(swaps.blocks))
    return np.concatenate([part for marks in blocks for part in differences(marks)])[: swaps.resamples]
