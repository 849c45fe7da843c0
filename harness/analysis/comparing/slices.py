"""Runs by slice: what was a group of runs on one data set becomes a group for each slice of it."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from harness.stats.design import Design
from harness.stats.options import ComparisonOptions, Options
from harness.stats.slices.divided import divided
from harness.stats.slices.sliced import parts_of
from harness.types import Group, HarnessError

log = logging.getLogger(__name__)
LEAST = 2
"""Examples or clusters of a slice that can be compared."""


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


def comparable(groups: Sequence[Group], options: ComparisonOptions) -> list[Group]:
    """The slices in which runs can be compared, the others being named; all groups where no slices are asked for."""
    if options.sliced_by is None:
        return list(groups)
    kept = [group for group in groups if has_enough(group, options)]
    if not kept:
        raise HarnessError(
            f"every slice by {options.sliced_by} has fewer than {LEAST} examples that all runs have scores of; "
            "expected some with more"
        )
    if left := [group.dataset for group in groups if group not in kept]:
        shown = "; ".join(left[:3]) + (f" and {len(left) - 3} more" if len(left) > 3 else "")
        log.warning("%s: fewer than %d examples or clusters, so that nothing is compared there", shown, LEAST)
    return kept


def has_enough(group: Group, options: ComparisonOptions) -> bool:
    """Whether two or more units have every score of every run; what is no slice is told of by the comparison."""
    if options.sliced_by is None:
        return True
    design = Design.of_run(replace(group.runs[0], seeds=1), options.seed)
    masks = [statistics.scored for run in group.runs for statistics in run.statistics.values()]
    same = [mask for mask in masks if len(mask) == len(design.members)]
    return design.count(np.logical_and.reduce(same) if same else None) >= LEAST
