"""Runs side by side with the tests between them: made once, viewed as a table, as figures and as a report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from harness.api import Run, loaded_runs
from harness.pairs import grouped, pairs_of
from harness.report.progress import silent
from harness.stats import comparison, family
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

    Unlike in a comparison, a run may be alone on its data; then it is shown and nothing is tested, nor is anything
    without `tests`, for views that show none.
    """
    chosen = None if scores is None else tuple(scores)
    options = family.Options(test, resamples, level, seed, "percentile", "two-sided", correction, chosen, False)
    options.check()
    given = [runs] if isinstance(runs, str | Path | RunResult) else runs
    loaded, base = loaded_runs(given, baseline)
    if not loaded:
        raise HarnessError("no run given; expected at least 1")
    groups = grouped(loaded, base)
    several = [group for group in groups if tests and len(group.runs) > 1]
    families = [[pairs_of(group) for group in several]]
    if base is not None:
        families.append([pairs_of(group, group.baseline) for group in several])
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


def labels(groups: Sequence[Group]) -> dict[str, str]:
    """What each run is called: its system where that tells the runs on each data set apart, else its name."""
    clear = all(max(Counter(run.system for run in group.runs).values()) == 1 for group in groups)
    return {
        run.name: run.system if clear else run.path.name if run.path and run.name == str(run.path) else run.name
        for group in groups
        for run in group.runs
    }
