"""Runs side by side with the tests between them: made once, viewed as a table, as figures and as a report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from harness import sweeps
from harness.api import Run, loaded_runs
from harness.pairs import Pair, check_scores, grouped, pairs_of
from harness.report.progress import silent
from harness.stats import comparison, family, intervals
from harness.stats.resampling import Design
from harness.types import Comparisons, Group, HarnessError, Progress, RunResult, Study


def study(
    runs: Sequence[Run],
    baseline: Run | None = None,
    test: str = "bootstrap",
    resamples: int = 10_000,
    level: float = 0.95,
    seed: int = 12345,
    correction: str = "max-t",
    scores: Sequence[str] | None = None,
    tests: bool = True,
    progress: Progress = silent,
) -> Study:
    """The runs by data set, with all pairs of each data set compared, and each run with the baseline.

    Intervals of scores are those of the runs, computed anew from their statistics where they are of another level.
    Unlike in a comparison, a run may be alone on its data; then it is shown and nothing is tested, nor is anything
    without `tests`, for views that show none.
    """
    chosen = None if scores is None else tuple(scores)
    options = family.Options(test, resamples, level, seed, "percentile", "two-sided", correction, chosen, False)
    options.check()
    given = [runs] if isinstance(runs, Run) else runs
    loaded, base = loaded_runs(given, baseline)
    if not loaded:
        raise HarnessError("no run given; expected at least 1")
    ready = {id(run): _at_level(run, level, resamples, seed) for run in (*loaded, *([base] if base else []))}
    groups = grouped([ready[id(run)] for run in loaded], None if base is None else ready[id(base)])
    several = [group for group in groups if tests and len(group.runs) > 1]
    if several:
        check_scores(several, scores)
    families = [[pairs_of(group) for group in several]]
    if base is not None:
        families.append([_against(group.baseline, pairs) for group, pairs in zip(several, families[0], strict=True)])
    with progress("resampling", resamples * sum(map(len, families))) as step:
        rows = [comparison.compare(pairs, options, step.advance) if pairs else Comparisons() for pairs in families]
    return Study(
        groups=tuple(groups),
        labels=labels(groups),
        comparisons=rows[0],
        against=rows[1] if base is not None else Comparisons(),
        level=level,
        test=test,
        correction=correction,
        resamples=resamples,
        seed=seed,
    )


def _against(baseline: RunResult | None, pairs: Sequence[Pair]) -> list[Pair]:
    """Those of all pairs that the baseline is in, each the right way round."""
    assert baseline is not None
    found = [pair for pair in pairs if baseline.name in (pair[0].name, pair[1].name)]
    return [(a, b) if a.name == baseline.name else (b, a) for a, b in found]


def _at_level(run: RunResult, level: float, resamples: int, seed: int) -> RunResult:
    """The run with intervals of this level."""
    if all(score.level == level and score.resamples for score in run.scores.values()):
        return run
    methods = dict.fromkeys(score.method for score in run.scores.values() if score.method in intervals.METHODS)
    method = next(iter(methods), "percentile")
    made = intervals.scores(list(run.statistics.values()), Design.of_run(run), resamples, level, method, seed)
    scores = {name: made.get(name, score) for name, score in run.scores.items()}
    return replace(run, scores=scores, manifest=run.manifest and {**run.manifest, "seed": seed})


def labels(groups: Sequence[Group]) -> dict[str, str]:
    """What each run is called: its system where that tells the runs on each data set apart, else its name.

    Runs that share their names are called by what differs between their configs, else by their folders, as much of the
    path as tells them apart.
    """
    clear = all(max(Counter(run.system for run in group.runs).values()) == 1 for group in groups)
    runs = [run for group in groups for run in group.runs]
    folders = [run.path for run in runs if run.path and run.name == str(run.path)]
    varied = {
        run.name: label
        for group in groups
        for run, label, count in _counted(group)
        if count == 1 and run.path in folders
    }
    return {run.name: run.system if clear else varied.get(run.name) or _folder(run, folders) for run in runs}


def _counted(group: Group) -> list[tuple[RunResult, str, int]]:
    """Each run, what it is called by what differs, and how many are called so."""
    found = sweeps.labels(group.runs)
    return [(run, label, found.count(label)) for run, label in zip(group.runs, found, strict=True)]


def _folder(run: RunResult, folders: Sequence[Path]) -> str:
    if run.path not in folders or run.path is None:
        return run.name
    ends = [["/".join(folder.parts[-n:]) for folder in folders] for n in range(1, len(run.path.parts))]
    own = folders.index(run.path)
    return next((some[own] for some in ends if some.count(some[own]) == 1), run.name)
