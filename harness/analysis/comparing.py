"""Stored runs compared, what their comparison can detect, and the best of them: the answers without a view of them."""

from __future__ import annotations

from collections.abc import Sequence

from harness.analysis.groups import asked
from harness.analysis.loading import Run, loaded_runs
from harness.analysis.pairing import Pair, alone, check_scores, grouped, pairs_of
from harness.report.terminal.progress import silent
from harness.stats import comparison
from harness.stats.detection import POWER, Power, powers
from harness.stats.options import ComparisonOptions, Options
from harness.stats.winner import Best, best_of
from harness.types import Comparisons, HarnessError, Progress, RunResult


def compare(
    runs: Sequence[Run], baseline: Run | None, options: ComparisonOptions, progress: Progress = silent
) -> Comparisons:
    """Runs on the same data in pairs: each against the baseline, or all with all where there is none."""
    options.check()
    return _compared(_pairs(runs, baseline, options), options, progress)


def power(
    runs: Sequence[Run],
    baseline: Run | None,
    options: ComparisonOptions,
    difference: float | None = None,
    power: float = POWER,
    progress: Progress = silent,
) -> list[Power]:
    """What a comparison of these runs can detect; `difference`: the one to detect, by default the one seen."""
    options.check()
    pairs = _pairs(runs, baseline, options)
    if difference is not None:
        _check_one_metric(pairs, difference, options.scores)
    return powers(_compared(pairs, options, progress), difference, options.level, power)


def best(runs: Sequence[Run], options: Options, progress: Progress = silent) -> list[Best]:
    """The best of the runs on each data set by each headline score, corrected for having been chosen."""
    options.check()
    groups = [_runs_of(pairs) for pairs in _pairs(runs, None, ComparisonOptions(question="outputs"))]
    with progress("resampling", options.resamples * len(groups)) as step:
        return [winner for group in groups for winner in best_of(group, options, step.advance)]


def _compared(pairs: Sequence[Sequence[Pair]], options: ComparisonOptions, progress: Progress) -> Comparisons:
    with progress("resampling", options.resamples * len(pairs)) as step:
        return comparison.compare(pairs, options, step.advance)


def _check_one_metric(pairs: Sequence[Sequence[Pair]], difference: float, scores: Sequence[str] | None) -> None:
    """Refuses one difference for scores of several metrics, of which some go to 100 and some to 1."""
    first_scores: dict[str, str] = {}  # metric -> the first of its scores that is asked for
    for name, statistics in (item for group in pairs for _, run in group for item in run.statistics.items()):
        asked = [score for score in statistics.metric.score_names if scores is None or score in scores]
        if asked:
            first_scores.setdefault(name, asked[0])
    if len(first_scores) > 1:
        raise HarnessError(
            f"difference={difference:g} for scores of {len(first_scores)} metrics ({', '.join(first_scores)}), which "
            f"need not be on one scale; expected scores of one metric, such as --score "
            f"{next(iter(first_scores.values()))}"
        )


def _runs_of(pairs: Sequence[Pair]) -> list[RunResult]:
    """The runs of all pairs, each once."""
    return list({run.name: run for pair in pairs for run in pair}.values())


def _pairs(runs: Sequence[Run], baseline: Run | None, options: ComparisonOptions) -> list[list[Pair]]:
    """(baseline, system) pairs of runs, grouped by data; every run has a partner."""
    loaded, base = loaded_runs(runs, baseline)
    ready = asked(loaded if base is None else [*loaded, base], options.question)
    groups = grouped(ready[: len(loaded)], None if base is None else ready[-1])
    members = [run for group in groups for run in group.runs]
    if len(members) < 2:
        raise HarnessError(
            f"{'the same run twice' if len(runs) > 1 else '1 run given'}; expected at least 2 to compare"
        )
    for group in groups:
        if len(group.runs) == 1:
            raise HarnessError(alone(group.runs[0], members))
    check_scores(groups, options.scores)
    return [pairs_of(group, group.baseline) for group in groups]
