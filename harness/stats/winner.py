"""The best of many: what the winner of a sweep would score on new examples.

The best of k configurations is the best partly by luck, so its own score and interval are too high. The bootstrap
repeats the selection: in every resample the best is chosen anew, and what it scores there beyond its own mean over all
resamples is the luck of being chosen. That luck is taken off the winner's score, and its spread makes the interval.
Where the same one is always chosen there is none, also for a score such as BLEU whose resamples lie a little off.
Where all configurations are in truth equal and independent it takes away a share of 1/sqrt(2) of the winner's curse,
not all: the resamples start from scores that luck has already spread (docs/statistics.md has the table).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from harness.inputs.choices import OVER_SEEDS
from harness.stats.design import Design
from harness.stats.intervals import interval
from harness.stats.options import Options
from harness.stats.resampling import Sample, quiet_single_thread, replicates
from harness.types import Advance, Array, RunResult, nothing


@dataclass(frozen=True, slots=True)
class Best:
    """The best of several runs by one score."""

    dataset: str
    score: str
    system: str
    """The winner's run name."""
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
    """What to report: corrected for the choice."""
    level: float
    chosen_again: float
    """The share of resamples in which the same run wins."""
    digits: int
    """How many digits after the point the score is shown with."""


def best_of(runs: Sequence[RunResult], options: Options, advance: Advance = nothing) -> list[Best]:
    """The best of runs on the same data, by each headline score that all of them have."""
    designs = [Design.of_run(replace(run, seeds=1), options.seed) for run in runs]
    design = designs[0]
    names = [name for name in runs[0].statistics if all(name in run.statistics for run in runs)]
    samples = [_sample(run, name, own) for name in names for run, own in zip(runs, designs, strict=True)]
    drawn = replicates(samples, options.resamples, options.seed, f"selection {runs[0].dataset_key}", advance)
    winners: list[Best] = []
    with quiet_single_thread():
        for i in range(len(names)):
            some = slice(i * len(runs), (i + 1) * len(runs))
            estimates = np.array([sample.estimate() for sample in samples[some]])
            winners += _by_score(runs, samples[some.start], estimates, np.array(drawn[some]), design, options)
    return winners


def _sample(run: RunResult, name: str, design: Design) -> Sample:
    statistics = run.statistics[name]
    return Sample(statistics.metric, statistics.whole, design, statistics.scored)


def _by_score(
    runs: Sequence[RunResult], sample: Sample, estimates: Array, drawn: Array, design: Design, options: Options
) -> Iterator[Best]:
    """From estimates (runs, s) and replicates (runs, resamples, s)."""
    for j, score in enumerate(sample.metric.score_names):
        seen, resampled = estimates[:, j], drawn[:, :, j]
        if "." in score or np.isnan(seen).any() or np.isnan(resampled).any():
            continue
        sign = 1.0 if sample.metric.higher_is_better else -1.0
        winner = int(np.argmax(sign * seen))
        chosen = np.argmax(sign * resampled, axis=0)
        luck = resampled[chosen, np.arange(resampled.shape[1])] - resampled.mean(axis=1)[chosen]
        low, high = _own_interval(runs[winner], score, resampled[winner], float(seen[winner]), options.level)
        tails = np.quantile(luck, [(1 + options.level) / 2, (1 - options.level) / 2])
        yield Best(
            dataset=runs[0].dataset,
            score=score,
            system=runs[winner].name,
            of=len(runs),
            n=design.units,
            unit=design.label,
            estimate=float(seen[winner]),
            low=low,
            high=high,
            corrected=float(seen[winner] - luck.mean()),
            corrected_low=float(seen[winner] - tails[0]),
            corrected_high=float(seen[winner] - tails[1]),
            level=options.level,
            chosen_again=float((chosen == winner).mean()),
            digits=sample.metric.digits_of(score),
        )


def _own_interval(run: RunResult, score: str, resampled: Array, seen: float, level: float) -> tuple[float, float]:
    """The bounds that the run was stored with; where these are of another level, from its replicates (resamples,)."""
    stored = run.scores.get(score)
    usual = stored is not None and stored.level == level and stored.method != OVER_SEEDS
    if stored is not None and usual and stored.low is not None and stored.high is not None:
        return stored.low, stored.high
    low, high = interval(resampled[:, None], np.array([seen]), level, "percentile")
    return float(low[0]), float(high[0])
