"""Learning curves: a band that holds at all steps at once, the best step, and the earliest that cannot be told from it.

All of it comes from replicates on shared draws, those from which `harness best` chooses.

- **The band** is the interval of each step with both halves longer (of shares: at a higher level), so much that the
  largest distance of all steps (in standard errors, max-t) stays inside as often as stated.
- **The earliest step not distinguishable from the best** is the first one that no other step is shown to be better
  than, by the largest of the paired one-sided differences from all others (Gupta 1965; Hsu 1981, comparisons with the
  best). Whichever step is truly the first of the best ones, it is taken for worse no more often than 1 - level.
- **How much worse** than the truly best a step can be `at_most` is bounded for all steps at once, by the max-t of all
  pairs, so that the bound holds for the step that was picked as well.
- **Whether it is still improving** is a one-sided test of the slope of the straight line through the last steps; so
  many **further steps** are worth the upper bound of that slope each, at most: learning curves flatten out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from harness.stats.corrections import share
from harness.stats.expansion import NORMAL, Expansion, student_quantile
from harness.stats.fewness import least_p
from harness.stats.intervals import bounds
from harness.stats.options import Options
from harness.stats.proportions import unseen_error
from harness.stats.resampling import Sample, quiet_single_thread
from harness.stats.selection.winner import Best, Contest, contests, own_interval, standardised, winners_of
from harness.types import Advance, Array, Checkpoint, Curve, HarnessError, RunResult, Trend, nothing
from harness.types.curves import IMPROVING, LEVEL, WORSENING

DEFAULT = Options()
LAST = 3
"""Checkpoints that a trend is of at least; a third of them where that is more."""


@dataclass(frozen=True)
class CurveOptions:
    """What is asked of a curve beside its level."""

    resampling: Options = DEFAULT
    margins: tuple[tuple[str, float], ...] = ()
    """(score, difference that does not matter)."""
    further: int | None = None
    """Steps whose worth is bounded; by default as many as the trend is of."""

    def check(self) -> None:
        self.resampling.check()
        if self.resampling.resamples == 0:
            raise HarnessError("resamples=0; expected 2 or more for a learning curve")
        for score, margin in self.margins:
            if not 0 < margin < np.inf:
                raise HarnessError(f"margin {score}={margin:g}; expected a difference above 0")
        if self.further is not None and self.further < 1:
            raise HarnessError(f"further={self.further}; expected 1 step or more")


def curves(series: str, runs: dict[int, RunResult], options: CurveOptions, advance: Advance = nothing) -> list[Curve]:
    """The curves of one training run's checkpoints on the same data, by each headline score that all of them have."""
    options.check()
    steps = sorted(runs)
    ordered = [runs[step] for step in steps]
    made = []
    for contest in contests(ordered, options.resampling, advance=advance):
        for best in winners_of(contest, options.resampling):
            made.append(_curve(series, steps, contest, best, options))
    return made


@dataclass(frozen=True)
class _Scored:
    """The steps of a curve by one score, as far as they are computed with: higher is better."""

    steps: Sequence[int]
    contest: Contest
    place: int
    """Of the score among the metric's."""
    sign: float
    seen: Array
    """(steps,)"""
    deviations: Array
    """(steps, resamples) of the replicates from their means."""
    expansion: Expansion
    unseen: float
    """The standard error of a difference where no example differs; 0 where none is known."""
    two_valued: bool
    """Whether every example scores one of two values: a spread is then known only from how many differ."""

    @classmethod
    def of(cls, steps: Sequence[int], contest: Contest, score: str, level: float) -> _Scored:
        metric = contest.samples[0].metric
        place, sign = metric.score_names.index(score), 1.0 if metric.higher_is_better else -1.0
        with quiet_single_thread():
            seen = sign * np.array([sample.estimate()[place] for sample in contest.samples])
        drawn = sign * contest.drawn[:, :, place]
        expansion = min((sample.expansion for sample in contest.samples), key=lambda each: each.df)
        unseen = float(np.nan_to_num(unseen_error(metric, expansion, level)))
        deviations = drawn - drawn.mean(axis=1, keepdims=True)
        two_valued = all(bool(sample.two_valued[place]) for sample in contest.samples)
        return cls(steps, contest, place, sign, seen, deviations, expansion, unseen, two_valued)

    def likely(self, errors: Array) -> Array:
        """Standard errors of differences that were resampled. Where hardly an example differs, resampling knows no more
        of how many could have than where none does."""
        few = errors < self.unseen if self.two_valued else errors <= 0
        return np.where(few, self.unseen, errors)

    def differing(self, a: int, b: int) -> int:
        """Units in which two steps differ."""
        first, second = (self.contest.samples[i].rows for i in (a, b))
        if first.shape != second.shape:
            return self.contest.samples[a].design.units
        return int((first != second).reshape(len(first), -1).any(axis=1).sum())


def _curve(series: str, steps: Sequence[int], contest: Contest, best: Best, options: CurveOptions) -> Curve:
    level = options.resampling.level
    scored = _Scored.of(steps, contest, best.score, level)
    p_best, at_most = _from_the_best(scored, level)
    own = [_own(scored, i, options.resampling) for i in range(len(steps))]
    band = _band(scored, own, options.resampling)
    top = scored.seen[best.place]
    points = tuple(
        Checkpoint(
            step=step,
            run=contest.runs[i].name,
            estimate=float(scored.sign * scored.seen[i]),
            low=own[i][0],
            high=own[i][1],
            band_low=band[i][0],
            band_high=band[i][1],
            behind=float(top - scored.seen[i]),
            at_most=float(at_most[i]),
            p_best=float(p_best[i]),
        )
        for i, step in enumerate(steps)
    )
    margin = dict(options.margins).get(best.score)
    near = [point.step for point in points if margin is not None and point.at_most < margin]
    return Curve(
        dataset=best.dataset,
        series=series,
        score=best.score,
        n=best.n,
        unit=best.unit,
        level=level,
        digits=best.digits,
        higher_is_better=scored.sign > 0,
        steps=points,
        best=steps[best.place],
        corrected=best.corrected,
        corrected_low=best.corrected_low,
        corrected_high=best.corrected_high,
        chosen_again=best.chosen_again,
        earliest=next(point.step for point in points if point.p_best > 1 - level or point.step == steps[best.place]),
        trend=_trend(scored, level, options.further),
        margin=margin,
        within=min(near, default=None),
        title=best.title,
    )


def _own(scored: _Scored, i: int, options: Options) -> tuple[float, float]:
    return own_interval(scored.contest, i, scored.place, options)


def _band(scored: _Scored, own: Sequence[tuple[float, float]], options: Options) -> list[tuple[float, float]]:
    """Bounds of each step that hold at all of them at once, never inside its own."""
    largest = np.abs(standardised(scored.deviations)).max(axis=0)
    distance = max(float(np.quantile(largest, options.level)), NORMAL.inv_cdf((1 + options.level) / 2))
    farther = Options(level=1 - 2 * NORMAL.cdf(-distance), seed=options.seed)
    bands = []
    for sample, drawn, (low, high) in zip(scored.contest.samples, scored.contest.drawn, own, strict=True):
        with quiet_single_thread():
            estimates = sample.estimate()
        if sample.two_valued[scored.place]:
            (lows, highs), *_ = bounds(sample, drawn, estimates, farther)
            ends = float(lows[scored.place]), float(highs[scored.place])
        else:
            ends = _reached(sample, float(estimates[scored.place]), (low, high), distance, options.level)
        bands.append((min(low, ends[0]), max(high, ends[1])))
    return bands


def _reached(
    sample: Sample, estimate: float, own: tuple[float, float], distance: float, level: float
) -> tuple[float, float]:
    """A step's own bounds, each as much further from the estimate as the distance is than that of the level. Quantiles
    of the replicates so far out would be those of a handful of them: of 500, at 20 steps, the largest."""
    smallest, largest = sample.metric.bounds or (-np.inf, np.inf)
    times = sample.expansion.stretched(distance) / (np.sqrt(sample.expansion.ratio) * sample.expansion.reach(level))
    low, high = (estimate + times * (end - estimate) for end in own)
    return max(smallest, float(low)), min(largest, float(high))


def _from_the_best(scored: _Scored, level: float) -> tuple[Array, Array]:
    """(p of no other step being better, how much worse than the truly best at most), each (steps,)."""
    count = len(scored.steps)
    p_values, errors = np.ones(count), np.zeros((count, count))
    largest = np.full(scored.deviations.shape[1], -np.inf)
    for i in range(count):
        others = np.arange(count) != i
        ahead = scored.deviations - scored.deviations[i]
        errors[i] = ahead.std(axis=1, ddof=1)
        nulls = standardised(ahead)[others].max(axis=0)
        largest = np.maximum(largest, nulls)
        gaps = scored.seen - scored.seen[i]
        with np.errstate(divide="ignore", invalid="ignore"):
            distances = np.where(errors[i] > 0, gaps / errors[i], np.where(gaps > 0, np.inf, -np.inf))
        distances[i] = -np.inf
        rival = int(np.argmax(distances))
        distance = float(distances[rival])
        if distance > 0:
            floor = least_p(scored.differing(i, rival), sides=1)
            p_values[i] = max(floor, share(nulls, scored.expansion.shrunk(distance)))
    reach = scored.expansion.stretched(float(np.quantile(largest, level)))
    likely = scored.likely(errors)
    np.fill_diagonal(likely, 0.0)
    behind = scored.seen[None, :] - scored.seen[:, None] + reach * likely
    return p_values, behind.max(axis=1)


def _trend(scored: _Scored, level: float, further: int | None) -> Trend:
    """The straight line through the last steps."""
    count = min(len(scored.steps), max(LAST, -(-len(scored.steps) // 3)))
    at = np.array(scored.steps[-count:], dtype=np.float64)
    weights = (at - at.mean()) / ((at - at.mean()) ** 2).sum()
    slope, moves = float(weights @ scored.seen[-count:]), weights @ scored.deviations[-count:]
    span = float(at[-1] - at[0])
    differing = scored.differing(len(scored.steps) - count, len(scored.steps) - 1)
    error = float(scored.likely(span * moves.std(ddof=1))) / span
    floor = least_p(differing, sides=1)
    up, down = (max(floor, scored.expansion.p_value(share(side * moves, side * slope), 1)) for side in (1.0, -1.0))
    steepest = slope + np.sqrt(scored.expansion.ratio) * student_quantile(1 - level, scored.expansion.df) * error
    more = round(span) if further is None else further
    off = scored.seen[-count:] - scored.seen[-count:].mean() - slope * (at - at.mean())
    alpha = 1 - level
    return Trend(
        first=scored.steps[-count],
        last=scored.steps[-1],
        steps=count,
        gain=slope * span,
        p_improving=up,
        p_worsening=down,
        verdict=IMPROVING if up <= alpha else WORSENING if down <= alpha else LEVEL,
        further=more,
        worth=float(np.clip(more * steepest, 0.0, _room(scored))),
        noise=float(np.sqrt((off**2).sum() / (count - 2))) if count > 2 else None,
    )


def _room(scored: _Scored) -> float:
    """How much better than the last step a score of this scale can be."""
    ends = scored.contest.samples[0].metric.bounds
    if ends is None:
        return float("inf")
    return float(max(ends[1] - scored.seen[-1] if scored.sign > 0 else -scored.seen[-1] - ends[0], 0.0))
