"""A run by slices: each slice is a data set of its own, so that scores, intervals, tests and tables need no more.

The score of a slice is that of its examples as a corpus, under the run's clusters and strata.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from harness.stats import intervals
from harness.stats.design import Design
from harness.stats.options import Options
from harness.stats.slices.divided import divided
from harness.stats.slices.slicing import Split
from harness.types import RunResult, Slice


def parts_of(run: RunResult, by: str, split: Split, options: Options) -> list[RunResult]:
    """The examples of each slice as a run of their own, its headline scores with intervals."""
    parts = [(label, np.flatnonzero(split.codes == code)) for code, label in enumerate(split.labels)]
    return [_part(run, f"{by} = {label}", places, options) for label, places in parts if len(places)]


def _part(run: RunResult, name: str, places: NDArray[np.int64], options: Options) -> RunResult:
    table = run.table.take(places)
    part = replace(
        run,
        dataset=f"{run.dataset}, {name}",
        dataset_key=f"{run.dataset_key} {name}",
        statistics={metric: statistics.taken(places.tolist()) for metric, statistics in run.statistics.items()},
        load=lambda: table,
        failed=table.num_rows - table.column("error").null_count,
        slices=(),
    )
    made = intervals.scores(list(part.statistics.values()), Design.of_run(part, options.seed), options)
    return replace(part, scores={score: value for score, value in made.items() if value.headline})


def slices(run: RunResult, options: Options) -> tuple[Slice, ...]:
    """Every headline score by the slices that `stats.slices` names."""
    return tuple(
        Slice(by, part.dataset.removeprefix(f"{run.dataset}, {by} = "), part.table.num_rows, part.scores)
        for by in options.slices
        for part in parts_of(run, by, divided(run, by), options)
    )
