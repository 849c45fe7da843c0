"""Stored checkpoints as learning curves: which runs are steps of one training run, and what their scores say."""

from __future__ import annotations

from collections.abc import Sequence

from harness.analysis.comparing.pairing import check_ended, common_metrics, ended_early, grouped
from harness.analysis.stored.loading import Run, loaded_runs
from harness.report.terminal.progress import silent
from harness.stats.selection import by_step
from harness.stats.selection.by_step import CurveOptions
from harness.types import Advance, Curve, Group, HarnessError, Progress, RunResult, nothing


def step_of(run: RunResult) -> int | None:
    step: int | None = run.manifest.get("system", {}).get("step")
    return step


def series_of(run: RunResult) -> str:
    """The training run that a checkpoint is of."""
    return str(run.manifest["system"].get("series") or run.system)


def by_series(runs: Sequence[RunResult]) -> dict[str, list[RunResult]]:
    """The checkpoints by training run, in the order of their steps; runs without a step are left out."""
    series: dict[str, list[RunResult]] = {}
    for run in runs:
        if step_of(run) is not None:
            series.setdefault(series_of(run), []).append(run)
    return {name: sorted(part, key=lambda run: step_of(run) or 0) for name, part in series.items()}


def curves(runs: Sequence[Run], options: CurveOptions, progress: Progress = silent) -> list[Curve]:
    """The learning curves of stored checkpoints, by data set, training run and score."""
    options.check()
    groups = grouped(loaded_runs(runs, None)[0])
    several = [part for group in groups for part in by_series(group.runs).values() if len(part) > 1]
    if not several:
        names = ", ".join(run.name for group in groups for run in group.runs[:5])
        raise HarnessError(
            f"no learning curve in {names}; expected two checkpoints or more of one training run on the same data "
            "(system=checkpoints, or system.step and system.series)"
        )
    check_ended([run for part in several for run in part])
    for part in several:
        _check_steps(part)
    with progress("resampling", options.resampling.resamples * len(several)) as step:
        made = curves_of(groups, options, step.advance)
    _check_margins(made, options)
    return made


def asked_curves(runs: Sequence[RunResult], options: CurveOptions, progress: Progress = silent) -> list[Curve]:
    """The curves where runs are checkpoints, or where something was asked that only they can answer."""
    part_of = [run for part in by_series(runs).values() if len(part) > 1 for run in part]
    if not part_of and not options.margins and options.further is None:
        return []
    return curves(part_of or runs, options, progress)


def curves_of(groups: Sequence[Group], options: CurveOptions, advance: Advance = nothing) -> list[Curve]:
    """The same of runs that are grouped by data already; nothing of what is no curve."""
    if options.resampling.resamples == 0:
        return []
    made: list[Curve] = []
    for group in groups:
        for name, part in by_series(group.runs).items():
            steps = {step_of(run) or 0: run for run in part}
            if 1 < len(steps) == len(part) and not any(map(ended_early, part)) and all(r.statistics for r in part):
                for run in part[1:]:
                    common_metrics(part[0], run, {})
                made += by_step.curves(name, steps, options, advance)
    return made


def _check_steps(runs: Sequence[RunResult]) -> None:
    """Refuses two runs at one step."""
    seen: dict[int, RunResult] = {}
    for run in runs:
        step = step_of(run) or 0
        if step in seen:
            raise HarnessError(
                f"{seen[step].name} and {run.name} are both at step {step:,} of {series_of(run)}; "
                "expected one run for each step"
            )
        seen[step] = run


def _check_margins(made: Sequence[Curve], options: CurveOptions) -> None:
    known = dict.fromkeys(curve.score for curve in made)
    for score, margin in options.margins:
        if score not in known:
            raise HarnessError(f"margin {score}={margin:g}: expected one of the scores {', '.join(known)}")
