"""How a race stands, from the run folders of its cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from harness.analysis.comparing.pairing import in_order
from harness.analysis.stored.loading import load_run
from harness.analysis.stored.trust import Trust
from harness.stats.design import Design
from harness.stats.selection.racing import Entries, Race, Standing, order, standing
from harness.types import HarnessError, RunRecord, RunResult


def race_of(runs: Sequence[RunRecord], error: float, seed: int) -> Race:
    """The race that these cells run, which all of them began."""
    first = runs[0].manifest["raced"]
    for run in runs[1:]:
        if run.manifest["raced"]["data"] != first["data"]:
            raise HarnessError(
                f"{run.cell or run.name} and {runs[0].cell or runs[0].name} race on different data; expected a grid of "
                "systems on one data set"
            )
    clustered = runs[0].manifest["dataset"]["cluster"] is not None
    return Race(len(runs), first["of_units"], clustered, error, seed)


def stands(runs: Sequence[RunRecord], race: Race, look: int, metrics: Mapping[str, Any]) -> Standing:
    """How the race of these cells stands after its look of this number, from 0; `metrics`: the specs of the caller's
    own config, which are trusted to score rows."""
    trust = Trust(specs=tuple(metrics.values()))
    loaded = [_first(load_run(run, trust), race.looks[look], race.seed) for run in runs]
    rows = loaded[0].columns("id", "repeat")
    ready = [loaded[0], *(in_order(run, loaded[0], rows) for run in loaded[1:])]
    score = str(runs[0].manifest["raced"]["score"])
    name, place = _place(ready[0], score)
    design = Design.of_run(replace(ready[0], seeds=1, strata=None), race.seed)
    came = order(_units(ready[0], design), race.seed)
    entries = Entries(
        ready[0].statistics[name].metric, place, [run.statistics[name].whole for run in ready], design, came
    )
    return standing(race, entries, look)


def _first(run: RunResult, units: int, seed: int) -> RunResult:
    """The run with its first units in the race's order."""
    names = _names(run)
    known = list(dict.fromkeys(names))
    if len(known) <= units:
        return run
    chosen = {known[i] for i in order(known, seed)[:units]}
    return run.taken(np.flatnonzero([name in chosen for name in names]))


def _names(run: RunResult) -> list[str]:
    """The unit of each row, as harness/run/rounds.py names it."""
    if run.cluster is None:
        return [str(id_) for id_ in run.columns("id").column("id").to_pylist()]
    return [repr(value) for value in run.columns(run.cluster).column(run.cluster).to_pylist()]


def _units(run: RunResult, design: Design) -> list[str]:
    """The names of the design's units."""
    units = [""] * design.units
    for place, name in zip(design.members.tolist(), _names(run), strict=True):
        units[place] = name
    return units


def _place(run: RunResult, score: str) -> tuple[str, int]:
    """(the metric that has the score, the score's place among its own)."""
    for name, statistics in run.statistics.items():
        if score in statistics.metric.score_names:
            return name, statistics.metric.score_names.index(score)
    raise HarnessError(f"{run.name} has no {score} that can be raced for; expected a score of a chosen metric")
