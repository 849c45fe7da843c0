"""Runs side by side with the tests between them: made once, viewed as a table, as figures and as a report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from harness.analysis.comparing.leaders import average_leaders, leaders_of
from harness.analysis.comparing.pairing import Pair, can_be_tested, check_scores, grouped, pairs_of, tested
from harness.analysis.comparing.questions import asked, even
from harness.analysis.comparing.slices import by_slices, has_enough
from harness.analysis.comparing.training_curves import curves_of
from harness.analysis.stored import parameters as sweeps
from harness.analysis.stored.cell_names import cell_of
from harness.analysis.stored.loading import Run, loaded_runs
from harness.inputs.choices import METHOD, METHODS
from harness.report.terminal.progress import silent
from harness.stats import intervals
from harness.stats.comparing import comparison
from harness.stats.comparing.ranking import rankings
from harness.stats.design import Design
from harness.stats.of_k import is_of_k
from harness.stats.options import ComparisonOptions, Options
from harness.stats.selection.by_step import CurveOptions
from harness.types import Comparisons, Group, HarnessError, Progress, RunResult, Score, Study

DEFAULT = ComparisonOptions()


def study(
    runs: Sequence[Run] | Run,
    baseline: Run | None = None,
    options: ComparisonOptions = DEFAULT,
    tests: bool = True,
    progress: Progress = silent,
) -> Study:
    """The runs by data set, with all pairs of each data set compared, and each run with the baseline.

    Intervals of scores are those of the runs, computed anew from their statistics where they are of another level.
    Unlike in a comparison, a run may be alone on its data; then it is shown and nothing is tested, nor is anything
    without `tests`, for views that show none.
    """
    options.check()
    loaded, base = loaded_runs([runs] if isinstance(runs, Run) else runs, baseline)
    if not loaded:
        raise HarnessError("no run given; expected at least 1")
    members = list({id(run): run for run in (*loaded, *([base] if base else []))}.values())
    ready = {id(run): at_level(run, options) for run in members}
    if tests:
        ready = dict(zip(ready, asked(list(ready.values()), options.question), strict=True))
    groups = grouped([ready[id(run)] for run in loaded], None if base is None else ready[id(base)])
    groups = by_slices(groups, options)
    several = [group for group in groups if tests and len(group.runs) > 1 and can_be_tested(group)]
    several = [group for group in several if has_enough(group, options)]
    if several:
        options = replace(options, scores=tested(several, options.scores))
        check_scores(several, options.scores)
    families = [[pairs_of(group) for group in several]]
    if base is not None:
        families.append([_against(group.baseline, pairs) for group, pairs in zip(several, families[0], strict=True)])
    with progress("resampling", options.resamples * sum(map(len, families))) as step:
        rows = [comparison.compare(pairs, options, step.advance) if pairs else Comparisons() for pairs in families]
    return Study(
        groups=tuple(even(group) for group in groups),
        labels=labels(groups),
        comparisons=rows[0],
        against=rows[1] if base is not None else Comparisons(),
        level=options.level,
        test=options.test,
        correction=options.correction,
        resamples=options.resamples,
        seed=options.seed,
        leaders=leaders_of(groups, rows[0]),
        letters={
            (ranking.dataset, ranking.score): {rank.system: rank.letters for rank in ranking.systems}
            for ranking in rankings(rows[0])
        },
        average_leaders=average_leaders(rows[0].macro),
        curves=curves_of(groups, _curve_options(options)),
    )


def _curve_options(options: ComparisonOptions) -> CurveOptions:
    return CurveOptions(Options(options.resamples, options.level, seed=options.seed), options.margins)


def _against(baseline: RunResult | None, pairs: Sequence[Pair]) -> list[Pair]:
    """Those of all pairs that the baseline is in, each the right way round."""
    assert baseline is not None
    having = [pair for pair in pairs if baseline.name in (pair[0].name, pair[1].name)]
    return [(a, b) if a.name == baseline.name else (b, a) for a, b in having]


def at_level(run: RunResult, options: ComparisonOptions) -> RunResult:
    """The run with intervals of the comparison's level."""
    level, resamples, seed = options.level, options.resamples, options.seed
    if all(score.level == level and score.resamples for score in run.scores.values()):
        return run
    method = (run.manifest.get("config", {}).get("stats") or {}).get("method") if run.manifest else None
    method = method if method in METHODS else METHOD
    statistics, chosen = list(run.statistics.values()), Options(resamples, level, method, seed)
    made = intervals.scores(statistics, Design.of_run(run, seed), chosen) if statistics else {}
    scores = {name: made.get(name) or _without_interval(score, level) for name, score in run.scores.items()}
    return replace(run, scores=scores, manifest=run.manifest and {**run.manifest, "seed": seed})


def _without_interval(score: Score, level: float) -> Score:
    """A score whose rows cannot be scored again here, so that an interval of another level cannot be had."""
    if score.level == level and score.resamples:
        return score
    why = "here: it is of all outputs of an example" if is_of_k(score.name) else "without its metric (--trust)"
    note = f"its interval is of level {score.level:g} and cannot be computed anew {why}"
    return replace(score, low=None, high=None, level=level, note=note)


def labels(groups: Sequence[Group]) -> dict[str, str]:
    """What each run is called: its system where that tells the runs on each data set apart, else its name.

    Where runs share their names, those that nobody named are called by system and what differs between their configs,
    else by their folders, as much of the path as tells them apart.
    """
    clear = all(max(Counter(run.system for run in group.runs).values()) == 1 for group in groups)
    runs = [run for group in groups for run in group.runs]
    folders = [run.path for run in runs if run.path and run.name == str(run.path)]
    shared = bool(folders) or any(map(_told_by_cell, runs))
    varied = {
        run.name: label
        for group in groups
        for run, label, count in _counted(group)
        if count == 1 and shared and (run.path in folders or _told_by_cell(run) or _unnamed(run))
    }
    return {run.name: run.system if clear else varied.get(run.name) or _folder(run, folders) for run in runs}


def _told_by_cell(run: RunResult) -> bool:
    """Whether its name, which other runs have, was given its cell of a sweep."""
    cell = cell_of(run)
    return cell is not None and run.name == f"{run.manifest.get('name')} {cell['label']}"


def _unnamed(run: RunResult) -> bool:
    return run.name == f"{run.dataset}-{run.system}"


def _counted(group: Group) -> list[tuple[RunResult, str, int]]:
    """Each run, what it is called by what differs, and how many are called so."""
    names = sweeps.labels(group.runs)
    return [(run, name, names.count(name)) for run, name in zip(group.runs, names, strict=True)]


def _folder(run: RunResult, folders: Sequence[Path]) -> str:
    if run.path not in folders or run.path is None:
        return run.name
    ends = [["/".join(folder.parts[-n:]) for folder in folders] for n in range(1, len(run.path.parts))]
    own = folders.index(run.path)
    return next((names[own] for names in ends if names.count(names[own]) == 1), run.name)
