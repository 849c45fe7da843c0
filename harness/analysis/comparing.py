"""Stored runs compared, what their comparison can detect, and the best of them: the answers without a view of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from harness.analysis.loading import Run, loaded_runs
from harness.analysis.pairing import Pair, alone, check_ended, check_scores, grouped, pairs_of
from harness.analysis.slices import by_slices
from harness.report.terminal.progress import silent
from harness.stats import comparison
from harness.stats.detection import POWER, Power, powers
from harness.stats.options import ComparisonOptions, Options
from harness.stats.ranking import Ranking, rankings
from harness.stats.winner import Best, best_of
from harness.types import Comparisons, HarnessError, Progress, RunResult

DEFAULT = ComparisonOptions()


def compare(
    runs: Sequence[Run], baseline: Run | None, options: ComparisonOptions, progress: Progress = silent
) -> Comparisons:
    """Runs on the same data in pairs: each against the baseline, or all with all where there is none."""
    options.check()
    wanted = None if options.scores is None and not options.margins else [*(options.scores or ()), *_margined(options)]
    return _compared(_pairs(runs, baseline, wanted, options), options, progress)


def ranked(
    runs: Sequence[Run], rows: Comparisons, options: ComparisonOptions, progress: Progress = silent
) -> list[Ranking]:
    """The rankings of runs of which all pairs were compared, by two-sided tests: one that looks in one direction only
    says nothing of who is worse."""
    ranking = rankings(rows)
    if not ranking or options.alternative == "two-sided":
        return ranking
    return rankings(compare(runs, None, replace(options, alternative="two-sided", margins=()), progress))


def _margined(options: ComparisonOptions) -> list[str]:
    """The scores that have a margin, each of which must be among those tested."""
    names = [score for score, _ in options.margins]
    for score in names:
        if options.scores is not None and score not in options.scores:
            raise HarnessError(
                f"margin {score}: only {', '.join(options.scores)} {'is' if len(options.scores) == 1 else 'are'} "
                f"tested; expected {score} among them"
            )
    return names


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
    pairs = _pairs(runs, baseline, options.scores, options)
    if difference is not None:
        _check_one_metric(pairs, difference, options.scores)
    return powers(_compared(pairs, options, progress), difference, options.level, power)


def best(runs: Sequence[Run], options: Options, split: bool = False, progress: Progress = silent) -> list[Best]:
    """The best of the runs on each data set by each headline score, corrected for having been chosen; `split`: chosen
    on a random half of the data and scored on the other."""
    options.check()
    groups = [_runs_of(pairs) for pairs in _pairs(runs, None)]
    with progress("resampling", options.resamples * len(groups)) as step:
        return [winner for group in groups for winner in best_of(group, options, split, step.advance)]


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


def _pairs(
    runs: Sequence[Run],
    baseline: Run | None,
    scores: Sequence[str] | None = None,
    options: ComparisonOptions = DEFAULT,
) -> list[list[Pair]]:
    """(baseline, system) pairs of runs, grouped by data, or by slices of it; every run has a partner."""
    groups = grouped(*loaded_runs(runs, baseline))
    members = [run for group in groups for run in group.runs]
    check_ended(members)
    if len(members) < 2:
        raise HarnessError(
            f"{'the same run twice' if len(runs) > 1 else '1 run given'}; expected at least 2 to compare"
        )
    for group in groups:
        if len(group.runs) == 1:
            raise HarnessError(alone(group.runs[0], members))
    check_scores(groups, scores)
    return [pairs_of(group, group.baseline) for group in by_slices(groups, options)]
