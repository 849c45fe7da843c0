"""The best of many: what the winner of a sweep would score on new examples.

The best of k configurations is the best partly by luck, so its own score and interval are too high. The bootstrap
repeats the selection: in every resample the best is chosen anew, and what it scores there beyond its own mean over all
resamples is the luck of being chosen. That luck is taken off the winner's score. Where the same one is always chosen
there is none, also for a score such as BLEU whose resamples lie a little off.

The interval must hold whichever run is chosen. Luck only lifts, so the upper bound stays that of the winner's own
interval; the lower one is moved down until it would hold for all runs that could have won at once: those that paired,
simultaneous bounds of the differences do not exclude (Zrnic and Fithian 2024, locally simultaneous inference). They are
found at `LOCAL` of the tail, which leaves the rest of it for the bound. `split` is the plain way: the best is chosen on
one half of the data and scored on the other, with half the examples (docs/statistics.md has the table of both).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from harness.inputs.choices import OVER_SEEDS
from harness.stats.design import Design, Kept
from harness.stats.expansion import NORMAL
from harness.stats.intervals import ROUNDING, bounds
from harness.stats.options import Options
from harness.stats.resampling import Sample, generator, quiet_single_thread, replicates
from harness.types import Advance, Array, HarnessError, Integers, Metric, RunResult, nothing

LOCAL = 0.2
"""Share of the lower tail that is spent on which runs could have won."""
LEAST_TO_SPLIT = 20
"""Examples or clusters: with fewer, half of them say nothing."""


@dataclass(frozen=True, slots=True)
class Best:
    """The best of several runs by one score."""

    dataset: str
    score: str
    system: str
    """The winner's run name."""
    place: int
    """Of the winner among the runs."""
    of: int
    """How many runs it was chosen from."""
    n: int
    unit: str
    estimate: float
    low: float
    high: float
    """The winner's own score and interval, as if nothing had been chosen: those of the run where it has the level."""
    corrected: float
    corrected_low: float
    corrected_high: float
    """What to report: corrected for the choice or, with `split`, of the half that it was not chosen on."""
    level: float
    chosen_again: float
    """The share of resamples in which the same run wins; where several win, each has its part."""
    digits: int
    """How many digits after the point the score is shown with."""
    ties: tuple[str, ...]
    """Other runs with the very same score."""
    contenders: int
    """How many runs could have won, the winner among them; found with more care than `rivals`, so that the bound of the
    winner holds."""
    rivals: tuple[str, ...] = ()
    """The names of those that cannot be told apart from the winner at this level."""
    held_out: int | None = None
    """With `split`: how many examples or clusters the best was not chosen on; the others, `n`, it was."""
    title: str = ""
    """What papers call the score; empty: its name."""


@dataclass(frozen=True)
class Contest:
    """Runs on the same data by one metric, with the replicates from which the best is chosen again and again."""

    name: str
    """Of the metric, among the runs' statistics."""
    runs: Sequence[RunResult]
    samples: Sequence[Sample]
    drawn: Array
    """(runs, resamples, s)"""
    purpose: str
    """Of the draws."""


def contests(
    runs: Sequence[RunResult], options: Options, units: Kept | None = None, advance: Advance = nothing
) -> list[Contest]:
    """By each metric that all of the runs have, on shared draws; `units`: of some units only."""
    designs = _designs(runs, options)
    names = [name for name in runs[0].statistics if all(name in run.statistics for run in runs)]
    samples = [_sample(run, name, own, units) for name in names for run, own in zip(runs, designs, strict=True)]
    purpose = f"selection {runs[0].dataset_key}"
    drawn = replicates(samples, options.resamples, options.seed, purpose, advance)
    places = [slice(i * len(runs), (i + 1) * len(runs)) for i in range(len(names))]
    return [
        Contest(name, runs, samples[some], np.array(drawn[some]), purpose)
        for name, some in zip(names, places, strict=True)
    ]


def _designs(runs: Sequence[RunResult], options: Options) -> list[Design]:
    return [Design.of_run(replace(run, seeds=1), options.seed) for run in runs]


def best_of(runs: Sequence[RunResult], options: Options, split: bool = False, advance: Advance = nothing) -> list[Best]:
    """The best of runs on the same data, by each headline score that all of them have."""
    designs = _designs(runs, options)
    design = designs[0]
    if split and design.units < LEAST_TO_SPLIT:
        raise HarnessError(f"--split of {design.units} {design.label}; expected at least {LEAST_TO_SPLIT}")
    half = generator(options.seed, "half to choose on").permutation(design.units) < design.units // 2
    winners: list[Best] = []
    for contest in contests(runs, options, half if split else None, advance):
        rows = list(winners_of(contest, options))
        if split:
            others = [_sample(run, contest.name, own, ~half) for run, own in zip(runs, designs, strict=True)]
            rows = list(_held_out(rows, others, options))
        winners += rows
    return winners


def _sample(run: RunResult, name: str, design: Design, units: Kept | None = None) -> Sample:
    """A run's rows; of some units only, as a data set of their own."""
    statistics = run.statistics[name]
    if units is None:
        return Sample(statistics.metric, statistics.whole, design, statistics.scored)
    return Sample.scored(statistics, design, units[design.members])


def winners_of(contest: Contest, options: Options) -> Iterator[Best]:
    """The best by each headline score of the metric that is known of all runs."""
    runs, samples, drawn = contest.runs, contest.samples, contest.drawn
    metric, design = samples[0].metric, samples[0].design
    with quiet_single_thread():
        estimates = np.array([sample.estimate() for sample in samples])
    for j, score in enumerate(metric.score_names):
        seen, resampled = estimates[:, j], drawn[:, :, j]
        if "." in score or np.isnan(seen).any() or np.isnan(resampled).any():
            continue
        sign = 1.0 if metric.higher_is_better else -1.0
        chosen = Chosen.among(sign * seen, sign * resampled, options.level)
        winner = chosen.place
        own = own_interval(contest, winner, j, options)
        low, high = _reaching(chosen, float(seen[winner]), own, metric)
        yield Best(
            dataset=runs[0].dataset,
            score=score,
            system=runs[winner].name,
            place=winner,
            of=len(runs),
            n=design.units,
            unit=design.label,
            estimate=float(seen[winner]),
            low=own[0],
            high=own[1],
            corrected=float(np.clip(seen[winner] - sign * chosen.luck, low, high)),
            corrected_low=low,
            corrected_high=high,
            level=options.level,
            chosen_again=chosen.again,
            digits=metric.digits_of(score),
            ties=tuple(runs[i].name for i in chosen.ties),
            contenders=len(chosen.contenders),
            rivals=tuple(runs[i].name for i in chosen.alike if i != winner),
            title=metric.title_of(score),
        )


@dataclass(frozen=True)
class Chosen:
    """Which of k scores, higher being better, is the best, and what the choice was worth."""

    place: int
    ties: tuple[int, ...]
    """Places of the others with the same score."""
    luck: float
    """What the best of a resample scores there beyond its own mean."""
    again: float
    contenders: tuple[int, ...]
    """Places of all that could have won."""
    alike: tuple[int, ...]
    """Places of all that the level does not tell from the winner, which is among them."""
    reach: float
    """How many times further down a bound must lie to hold for all contenders at once."""
    least: float
    """How far down it must lie at least, by how much the contenders vary together: the winner's own spread may be small
    by the luck that made it win (of scores with rare losses, it had none)."""

    @classmethod
    def among(cls, seen: Array, resampled: Array, level: float) -> Chosen:
        """Of scores (k,) with their replicates (k, resamples)."""
        winner = int(np.argmax(seen))
        tops = resampled.max(axis=0)
        wins = np.isclose(resampled, tops, rtol=ROUNDING, atol=0.0)
        means = resampled.mean(axis=1, keepdims=True)
        luck = tops - (wins * means).sum(axis=0) / wins.sum(axis=0)
        ties = np.flatnonzero(np.isclose(seen, seen[winner], rtol=ROUNDING, atol=0.0))
        deviations = resampled - means
        alpha = (1 - level) / 2
        contenders = _contenders(winner, seen, deviations, LOCAL * alpha)
        highest = float(np.quantile(standardised(deviations[contenders]).max(axis=0), 1 - (1 - LOCAL) * alpha))
        several = len(contenders) > 1
        return cls(
            place=winner,
            ties=tuple(int(i) for i in ties if i != winner),
            luck=float(luck.mean()),
            again=float((wins[winner] / wins.sum(axis=0)).mean()),
            contenders=tuple(int(i) for i in contenders),
            alike=tuple(int(i) for i in _contenders(winner, seen, deviations, 1 - level)),
            reach=max(1.0, highest / NORMAL.inv_cdf(1 - alpha)) if several else 1.0,
            least=highest * float(np.sqrt(deviations[contenders].var(axis=1, ddof=1).mean())) if several else 0.0,
        )


def _reaching(chosen: Chosen, estimate: float, own: tuple[float, float], metric: Metric) -> tuple[float, float]:
    """The winner's own bounds, that on the side of worse scores further out; inside the score's scale."""
    smallest, largest = metric.bounds or (-np.inf, np.inf)
    if metric.higher_is_better:
        return max(smallest, estimate - max(chosen.reach * (estimate - own[0]), chosen.least)), own[1]
    return own[0], min(largest, estimate + max(chosen.reach * (own[1] - estimate), chosen.least))


def _contenders(winner: int, seen: Array, deviations: Array, tail: float) -> Integers:
    """The places of all that bounds of the differences to the winner, which hold at once, do not tell from it."""
    differences = deviations[winner] - deviations
    errors = differences.std(axis=1, ddof=1)
    reach = np.quantile(np.abs(standardised(differences)).max(axis=0), 1 - tail) * errors
    return np.flatnonzero(seen[winner] - seen <= reach)


def standardised(deviations: Array) -> Array:
    """By their own spread, each row; zeros where there is none."""
    errors = deviations.std(axis=1, ddof=1, keepdims=True)
    return np.asarray(np.divide(deviations, errors, out=np.zeros_like(deviations), where=errors > 0))


def own_interval(contest: Contest, i: int, place: int, options: Options) -> tuple[float, float]:
    """The bounds of a score that one of the runs was stored with; where these are of another level or of more
    examples, from its replicates."""
    run, sample = contest.runs[i], contest.samples[i]
    stored = run.scores.get(sample.metric.score_names[place])
    same = stored is not None and (stored.level, stored.units) == (options.level, sample.design.description)
    usual = stored is not None and stored.method != OVER_SEEDS
    if stored is not None and same and usual and stored.low is not None and stored.high is not None:
        return stored.low, stored.high
    with quiet_single_thread():
        (low, high), *_ = bounds(sample, contest.drawn[i], sample.estimate(), options, contest.purpose)
    return float(low[place]), float(high[place])


def _held_out(rows: Sequence[Best], samples: Sequence[Sample], options: Options) -> Iterator[Best]:
    """What was chosen on one half, as it does on these samples of the other."""
    purpose = f"held out {rows[0].dataset}"
    drawn = np.array(replicates(samples, options.resamples, options.seed, purpose))
    metric = samples[0].metric
    sign = 1.0 if metric.higher_is_better else -1.0
    for row in rows:
        j = metric.score_names.index(row.score)
        with quiet_single_thread():
            estimates = samples[row.place].estimate()
            (low, high), *_ = bounds(samples[row.place], drawn[row.place], estimates, options, purpose)
        again = np.argmax(sign * drawn[:, :, j], axis=0) == row.place
        yield replace(
            row,
            corrected=float(estimates[j]),
            corrected_low=float(low[j]),
            corrected_high=float(high[j]),
            chosen_again=float(again.mean()),
            held_out=samples[0].design.units,
        )
