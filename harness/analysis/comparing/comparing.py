"""Stored runs compared, what their comparison can detect, and the best of them: the answers without a view of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from harness.analysis.comparing.batch_order import warn_of_batch_order
from harness.analysis.comparing.data_differences import alone
from harness.analysis.comparing.pairing import Pair, check_ended, check_scores, grouped, pairs_of
from harness.analysis.comparing.questions import asked
from harness.analysis.comparing.slices import by_slices, comparable
from harness.analysis.stored.loading import Run, loaded_runs
from harness.report.terminal.progress import silent
from harness.stats.comparing import comparison
from harness.stats.comparing.ranking import Ranking, rankings
from harness.stats.design import Design
from harness.stats.options import ComparisonOptions, Options
from harness.stats.power.detection import Power
from harness.stats.power.experiments import NOTHING_VARIES, Aim, likely, piloted, powered
from harness.stats.power.planning import degrees_of
from harness.stats.resampling import Sample, quiet_single_thread
from harness.stats.seeds import seeded
from harness.stats.selection.winner import Best, best_of
from harness.types import Comparisons, Group, HarnessError, Progress, RunResult


def compare(
    runs: Sequence[Run], baseline: Run | None, options: ComparisonOptions, progress: Progress = silent
) -> Comparisons:
    """Runs on the same data in pairs: each against the baseline, or all with all where there is none."""
    options.check()
    wanted = None if options.scores is None and not options.margins else (*(options.scores or ()), *_margined(options))
    pairs = _pairs(runs, baseline, replace(options, scores=wanted))
    rows = compared(pairs, options, progress)
    warn_of_batch_order([run for group in pairs for run in _runs_of(group)], rows, options.seed)
    return rows


def ranked(
    runs: Sequence[Run], rows: Comparisons, options: ComparisonOptions, progress: Progress = silent
) -> list[Ranking]:
    """The rankings of runs of which all pairs were compared, by two-sided tests."""
    if options.alternative == "two-sided":
        return rankings(rows)
    if not rankings(list(rows)):
        return []
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
    aim: Aim,
    progress: Progress = silent,
) -> list[Power]:
    """What a comparison of these runs can detect, or of two systems like the one that is given alone."""
    options.check()
    aim.check()
    loaded, base = loaded_runs(runs, baseline)
    if len(loaded) == 1 and base is None:
        return pilot(loaded[0], options, aim)
    pairs = _pairs(loaded, base, options)
    if aim.difference is not None:
        check_one_metric(pairs, aim.difference, options.scores)
    return powered(compared(pairs, options, progress), aim)


def pilot(run: RunResult, options: ComparisonOptions, aim: Aim) -> list[Power]:
    """What a comparison of two systems like this one would detect."""
    if aim.difference is not None:
        check_one_metric([[(run, run)]], aim.difference, options.scores)
    check_scores([Group(run.dataset, (run, run))], options.scores)
    (ready,) = asked([run], options.question)
    design = Design.of_run(ready, options.seed)
    estimates = []
    for statistics in ready.statistics.values():
        keep = design.rows_of(design.complete(statistics.scored))
        sample = Sample(statistics.metric, statistics.whole[keep], design.kept(keep))
        with quiet_single_thread():
            parts = seeded(sample)
        for i, score in enumerate(statistics.metric.score_names):
            if "." in score or (options.scores is not None and score not in options.scores):
                continue
            seen, names = parts.spread(i), (ready.dataset, ready.name, score)
            spread = likely(seen, sample, i, aim.level)
            degrees = seen.degrees if seen.seeds and seen.variance else degrees_of(parts.moves[:, i], seen.units)
            row = piloted(names, spread, (sample.design.count(), design.label), aim, degrees)
            if not seen.variance and row.standard_error is not None:
                row = replace(row, note=f"{row.note}; {NOTHING_VARIES}")
            metric = statistics.metric
            estimates.append(replace(row, digits=metric.digits_of(score), title=metric.title_of(score)))
    return estimates


def best(runs: Sequence[Run], options: Options, split: bool = False, progress: Progress = silent) -> list[Best]:
    """The best of the runs on each data set by each headline score, corrected for having been chosen; `split`: chosen
    on a random half of the data and scored on the other."""
    options.check()
    groups = [_runs_of(pairs) for pairs in _pairs(runs, None, ComparisonOptions(question="outputs"))]
    with progress("resampling", options.resamples * len(groups)) as step:
        return [winner for group in groups for winner in best_of(group, options, split, step.advance)]


def compared(pairs: Sequence[Sequence[Pair]], options: ComparisonOptions, progress: Progress) -> Comparisons:
    """Of (baseline, system) pairs that are ready, by data."""
    with progress("resampling", options.resamples * len(pairs)) as step:
        return comparison.compare(pairs, options, step.advance)


def check_one_metric(pairs: Sequence[Sequence[Pair]], difference: float, scores: Sequence[str] | None) -> None:
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
    """(baseline, system) pairs of runs, grouped by data, or by slices of it; every run has a partner."""
    loaded, base = loaded_runs(runs, baseline)
    ready = asked(loaded if base is None else [*loaded, base], options.question)
    groups = grouped(ready[: len(loaded)], None if base is None else ready[-1])
    members = [run for group in groups for run in group.runs]
    check_ended(members)
    if len(members) < 2:
        given = ("no run given", "1 run given", "the same run twice")[min(len(runs), 2)]
        raise HarnessError(f"{given}; expected at least 2 to compare")
    for group in groups:
        if len(group.runs) == 1:
            raise HarnessError(alone(group.runs[0], members))
    check_scores(groups, options.scores)
    return [pairs_of(group, group.baseline) for group in comparable(by_slices(groups, options), options)]
