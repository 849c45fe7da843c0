"""Runs by slice: what was a group of runs on one data set becomes a group for each slice of it."""

from __future__ import annotations

from collections.abc import Sequence

from harness.stats.divided import divided
from harness.stats.options import ComparisonOptions, Options
from harness.stats.sliced import parts_of
from harness.types import Group


def by_slices(groups: Sequence[Group], options: ComparisonOptions) -> list[Group]:
    """The groups themselves where no slices are asked for. The runs of a group have the same examples in one order, so
    the slices of the first are those of all."""
    if options.sliced_by is None:
        return list(groups)
    own = Options(resamples=options.resamples, level=options.level, seed=options.seed)
    sliced: list[Group] = []
    for group in groups:
        split = divided(group.runs[0], options.sliced_by)
        by_run = [parts_of(run, options.sliced_by, split, own) for run in group.runs]
        for runs in zip(*by_run, strict=True):
            base = next((part for part, run in zip(runs, group.runs, strict=True) if run is group.baseline), None)
            sliced.append(Group(runs[0].dataset, runs, base))
    return sliced
