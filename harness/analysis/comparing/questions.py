"""What is asked of runs with several outputs of an example: which of these are better, or which system would be with
new seeds; and how such runs stand side by side.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from harness.analysis.comparing.groups import outputs_each
from harness.inputs import arrow, files
from harness.types import Group, HarnessError, RunResult

log = logging.getLogger(__name__)


def asked(runs: Sequence[RunResult], question: str | None) -> list[RunResult]:
    """The runs with the seeds that the question is of: `outputs` of none, `seeds` of all that they have. Where nothing
    is said it is of seeds where every run has several."""
    if question == "seeds":
        return [_with_seeds(run) for run in runs]
    several = [run.name for run in runs if run.seeds > 1]
    if question is None and len(several) == len(runs):
        return list(runs)
    if question is None and several:
        alone = [run.name for run in runs if run.seeds == 1]
        log.warning(
            "%s has one seed, so that these outputs are compared and nothing is said of new seeds; two or more seeds "
            "of each system would tell (--question outputs: the same without this line)", files.some(alone),
        )  # fmt: skip
    return [run if run.seeds == 1 else replace(run, seeds=1) for run in runs]


def _with_seeds(run: RunResult) -> RunResult:
    if run.seeds > 1:
        return run
    outputs = outputs_each(run)
    if outputs == 1:
        raise HarnessError(
            f"{run.name} has one seed, which tells nothing of another; expected two or more seeds of each system for "
            "--question seeds (NAME=GLOB makes one system of several runs), or --question outputs"
        )
    return replace(run, seeds=outputs)


def even(group: Group) -> Group:
    """The runs with as many outputs of each example as the one with the fewest, so that they can stand side by side;
    scores are those of all outputs."""
    if len({len(next(iter(run.statistics.values())).rows) for run in group.runs if run.statistics}) < 2:
        return group
    counts = [outputs_each(run) for run in group.runs]
    shown = {run.name: _first_outputs(run, min(counts)) for run in group.runs}
    return replace(
        group,
        runs=tuple(shown.values()),
        baseline=None if group.baseline is None else shown[group.baseline.name],
    )


def _first_outputs(run: RunResult, count: int) -> RunResult:
    rows = run.columns("id", "repeat")
    example, repeat = arrow.codes(arrow.whole(rows.column("id"))), arrow.integers(rows.column("repeat"))
    kept = np.flatnonzero(repeat < count)
    places = kept[np.lexsort((repeat[kept], example[kept]))]
    return replace(run.taken(places), seeds=1)
