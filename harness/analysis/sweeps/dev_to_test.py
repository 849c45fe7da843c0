"""The best on one data set, reported on another: chosen on dev, scored on test.

The test data had no say in the choice, so the score that it gives needs no correction, and neither does its interval.
Runs of dev and test belong together by their system: the name, with what differs between configs where names alone do
not tell runs apart.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace

from harness.analysis.comparing.comparing import best, compare
from harness.analysis.comparing.pairing import check_ended, grouped
from harness.analysis.comparing.study import at_level
from harness.analysis.comparing.training_curves import by_series, curves_of
from harness.analysis.stored import parameters as sweeps
from harness.analysis.stored.loading import Run, loaded_runs
from harness.inputs.files import some
from harness.report.terminal.progress import silent
from harness.stats.design import Design
from harness.stats.options import ComparisonOptions, Options
from harness.stats.selection.by_step import CurveOptions
from harness.stats.selection.winner import Best
from harness.types import Curve, HarnessError, Progress, RunResult

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Reported:
    """What was chosen on one data set, as it scores on another."""

    score: str
    chosen_on: Best
    """The choice, with its score there and the correction that it would need."""
    dataset: str
    """What is reported."""
    run: str
    """The run of the chosen system on it."""
    n: int
    estimate: float | None
    low: float | None
    high: float | None
    level: float
    digits: int
    earliest: int | None = None
    """Of checkpoints, the earliest step that cannot be told from the best where it was chosen, if it is another."""
    earliest_run: str | None = None
    earliest_estimate: float | None = None
    difference: float | None = None
    difference_low: float | None = None
    difference_high: float | None = None
    """Of the earliest step's score from the best one's, here, where neither was chosen."""
    title: str = ""
    """What papers call the score; empty: its name."""


def report_chosen(
    on: Sequence[Run], report: Sequence[Run], options: CurveOptions, progress: Progress = silent
) -> list[Reported]:
    """The best of the runs `on` one data set by each headline score, and how the same systems do in the runs of
    `report`, on each of their data sets."""
    resampling = options.resampling
    resampling.check()
    dev, test = (loaded_runs(runs, None)[0] for runs in (on, report))
    groups = grouped(dev)
    if len(groups) > 1:
        raise HarnessError(
            f"--on has runs on {len(groups)} data sets ({', '.join(group.dataset for group in groups)}); expected one "
            "to choose on"
        )
    check_ended(test)
    held = {group.dataset: _by_label(group.runs, "--report") for group in grouped(test)}
    keys = {run.dataset_key for run in test}
    if groups[0].runs[0].dataset_key in keys:
        raise HarnessError(
            f"--report has runs on {groups[0].dataset}, which --on chooses on; expected other data to report"
        )
    known = _by_label(groups[0].runs, "--on")
    label_of = {run.name: label for label, run in known.items()}
    winners = best(groups[0].runs, resampling, progress=progress)
    curves = {curve.score: curve for curve in curves_of(groups, options)} if len(by_series(dev)) == 1 else {}
    rows = []
    for dataset, runs in held.items():
        left_out = []
        for winner in winners:
            label = label_of[winner.system]
            chosen = _found(runs, label, dataset)
            if not _defined_alike(winner.score, known[label], chosen):
                left_out.append(winner.score)
                continue
            row = _reported(winner, chosen, resampling)
            curve = curves.get(winner.score)
            if curve is not None and curve.earliest != curve.best:
                earlier = _found(runs, label_of[curve.at(curve.earliest).run], dataset)
                row = _with_earliest(row, curve, (chosen, earlier), resampling)
            rows.append(row)
        if len(left_out) == len(winners):
            raise HarnessError(
                f"--report has no run on {dataset} with {some(left_out)}, which --on chooses by; expected the same "
                "metrics on both"
            )
        if left_out:
            log.warning("--report has no run on %s with %s: not reported", dataset, ", ".join(left_out))
    return rows


def _by_label(runs: Sequence[RunResult], option: str) -> dict[str, RunResult]:
    """The runs on one data set by what their systems are called."""
    by_label: dict[str, RunResult] = {}
    for label, run in zip(sweeps.labels(runs), runs, strict=True):
        if label in by_label:
            raise HarnessError(
                f"{option}: {by_label[label].name} and {run.name} are both runs of {label} on {run.dataset}; expected "
                "one run of each system"
            )
        by_label[label] = run
    return by_label


def _found(runs: dict[str, RunResult], label: str, dataset: str) -> RunResult:
    if label not in runs:
        raise HarnessError(
            f"--report has no run of {label} on {dataset}; found {some(sorted(runs))}; expected a run of every system "
            "that is chosen from, under the same name (system.name)"
        )
    return runs[label]


def _defined_alike(score: str, on: RunResult, report: RunResult) -> bool:
    """Whether the run that is reported has the score; one that is defined differently is refused. How many references
    there are is the data's affair."""
    if score not in report.scores:
        return False
    first, second = (
        next((s.signature.definition for s in run.statistics.values() if score in s.metric.score_names), {})
        for run in (on, report)
    )
    for field in dict.fromkeys([*first, *second]):
        if field != "nrefs" and first.get(field) != second.get(field):
            raise HarnessError(
                f"{score} of {on.name} and {report.name} are defined differently ({field}: {first.get(field)} and "
                f"{second.get(field)}); expected what is chosen by to be what is reported"
            )
    return True


def _reported(winner: Best, chosen: RunResult, options: Options) -> Reported:
    level = ComparisonOptions(level=options.level, resamples=options.resamples, seed=options.seed)
    score = at_level(chosen, level).scores[winner.score]
    return Reported(
        score=winner.score,
        chosen_on=winner,
        dataset=chosen.dataset,
        run=chosen.name,
        n=Design.of_run(replace(chosen, seeds=1), options.seed).units,
        estimate=score.estimate,
        low=score.low,
        high=score.high,
        level=options.level,
        digits=winner.digits,
        title=winner.title,
    )


def _with_earliest(row: Reported, curve: Curve, runs: tuple[RunResult, RunResult], options: Options) -> Reported:
    """`runs`: of the best step and of the earliest."""
    asked = ComparisonOptions(
        level=options.level, resamples=options.resamples, seed=options.seed, scores=(row.score,), question="outputs"
    )
    (compared,) = [each for each in compare(runs, runs[0], asked) if each.score == row.score]
    return replace(
        row,
        earliest=curve.earliest,
        earliest_run=runs[1].name,
        earliest_estimate=compared.system_estimate,
        difference=compared.difference,
        difference_low=compared.low,
        difference_high=compared.high,
    )
