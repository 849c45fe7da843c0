"""A sweep as a thing: its cells, what its parameters do, the best with all that cannot be told apart from it, and what
that costs.

Cells that a race dropped have answered some of the examples only: means by level, importance and the front of score and
cost are of those that all cells have answered, and the best is chosen among the cells that answered all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from harness.analysis.comparing import comparing
from harness.analysis.comparing.pairing import common_metrics, in_order
from harness.analysis.stored.loading import load_run
from harness.analysis.stored.trust import Trusted
from harness.analysis.sweeps.ledger import Cell, Ledger, ledger
from harness.analysis.sweeps.parameter_levels import levels_of, sampled_in
from harness.inputs.choices import LEVEL, RESAMPLES, SEED
from harness.report.terminal.progress import silent
from harness.stats.design import Design
from harness.stats.options import Options
from harness.stats.resampling import Sample
from harness.stats.selection.effects import Effects, Grid, effects
from harness.stats.selection.winner import Best
from harness.types import HarnessError, Metric, Progress, RunResult, check_choice, nearest
from harness.types.shown import Shape, Shown, counted, number

MEASURES = ("cost", "tokens", "seconds", "latency")
"""What a score is set against: of an output, the cost, the tokens in and out, the time that it took to make on this
machine, and the median time that a server or a program took to answer."""
NEGLIGIBLE = 0.001
"""Seconds: where no output takes longer, nobody chooses by it, and what differs is the machine's noise."""


@dataclass(frozen=True)
class Asked:
    """What is asked of a sweep."""

    score: str | None = None
    """None: the score that was raced for, else the first."""
    against: str | None = None
    """One of `MEASURES`; None: the first that is known."""
    level: float = LEVEL
    resamples: int = RESAMPLES
    seed: int = SEED


@dataclass(frozen=True)
class Point:
    """A cell by its score and what an output of it takes."""

    label: str
    score: float
    expense: float | None
    """None where it is not known."""
    front: bool
    """Whether no other cell has a better score for no more."""


@dataclass(frozen=True)
class Saved:
    """What a race did not generate; None where it is not known."""

    outputs: int
    of: int
    seconds: float | None
    cost: float | None
    error: float
    """How often such a race drops the best, at most."""


@dataclass(frozen=True)
class Part:
    """A sweep on one data set by one score."""

    dataset: str
    score: str
    level: float
    digits: int
    higher_is_better: bool
    n: int
    unit: str
    """What means by level, importance and the front are of."""
    outputs: int
    """Of each cell, those that all cells have a score for, which these are of."""
    of: int
    """Outputs of a cell that has answered everything."""
    levels: Mapping[str, tuple[str, ...]]
    """Of each parameter, by its short name, in their order."""
    effects: Effects
    best: Best | None
    """None where fewer than two cells answered all examples."""
    alone: str | None
    """The cell that is the only one, where a race dropped all others."""
    cheapest: str | None
    """Of the best and all that cannot be told apart from it, where that is not the best itself."""
    against: str | None
    points: tuple[Point, ...]
    saved: Saved | None
    """Of a race."""
    title: str = ""
    """What papers call the score; empty: its name."""


@dataclass(frozen=True, repr=False)
class Swept(Shown):
    """A sweep: its cells, and by data set what they show."""

    ledger: Ledger
    parts: tuple[Part, ...]

    def shapes(self) -> Iterable[Shape]:
        """The cells with their states; by data set the score of each."""
        cells = self.ledger.cells
        yield Shape(counted(len(cells), "cell"), ("cell", "state"), [(cell.label, cell.state) for cell in cells])
        for part in self.parts:
            points = [(point.label, number(point.score, part.digits)) for point in part.points]
            best = f", the best {part.best.system}" if part.best else ""
            title = part.title or part.score
            yield Shape(f"{title} on {part.dataset}{best}", ("cell", title), points)


def sweep(words: Sequence[str | Path], asked: Asked, trust: Trusted = False, progress: Progress = silent) -> Swept:
    """The sweep that the words mean (`harness.analysis.sweeps.ledger`), as far as it has come."""
    if asked.against is not None:
        check_choice("against", asked.against, MEASURES)
    cells = ledger(words)
    usable = [cell for cell in cells.cells if cell.usable]
    loaded = [(cell, load_run(cell.run, trust)) for cell in usable if cell.run is not None]
    by_data: dict[str, list[tuple[Cell, RunResult]]] = {}
    for cell, run in loaded:
        raced = run.manifest.get("raced")
        by_data.setdefault(raced["data"] if raced else run.dataset_key, []).append((cell, run))
    parts = [_part(members, asked, progress) for members in by_data.values() if len(members) > 1]
    return Swept(cells, tuple(parts))


def parts_of(runs: Sequence[RunResult], asked: Asked, progress: Progress = silent) -> list[Part]:
    """What parameters do in each sweep of which these finished runs, on the same data, are cells; nothing of cells that
    have no score in common, nor where nothing but the system varies: the scores of the systems say that."""
    by_sweep: dict[str, list[tuple[Cell, RunResult]]] = {}
    for run in runs:
        own, group = run.manifest.get("cell"), run.manifest.get("group")
        if own and group:
            cell = Cell(own["label"], own["parameters"], own["number"], "done")
            by_sweep.setdefault(group, []).append((cell, run))
    parts = []
    for members in by_sweep.values():
        varied = {name for cell, _ in members for name in cell.parameters} - {"system"}
        if varied and len({cell.label for cell, _ in members}) > 1:
            with suppress(HarnessError):
                parts.append(replace(_part(members, asked, progress), saved=None))  # what was dropped is not among them
    return parts


@dataclass(frozen=True)
class Measured:
    """Cells on the examples that all of them have, by one score."""

    score: str
    metric: Metric
    design: Design
    outputs: int
    """Of each cell."""
    estimates: tuple[float, ...]
    levels: Mapping[str, tuple[str, ...]]
    effects: Effects


def measured(runs: Sequence[RunResult], parameters: Sequence[Mapping[str, Any]], asked: Asked) -> Measured:
    """What parameters do to a score of runs on the same data, each with its values of them."""
    ready = _on_common_examples(runs)
    name, score = _chosen(ready, asked.score)
    design = Design.of_run(replace(ready[0], seeds=1), asked.seed)
    scored = np.all([run.statistics[name].scored for run in ready], axis=0)
    if not scored.any():
        own = [int(np.count_nonzero(run.statistics[name].scored)) for run in ready]
        least = ready[own.index(min(own))]
        raise HarnessError(
            f"no output has a {score} score in all {len(ready)} cells: {least.name} has one for {min(own):,} of "
            f"{len(scored):,}; expected cells that have scores for the same outputs"
        )
    samples = [Sample(run.statistics[name].metric, run.statistics[name].whole, design, scored) for run in ready]
    metric = samples[0].metric
    place = metric.score_names.index(score)
    codes, levels = levels_of(parameters, sampled_in(runs))
    options = Options(resamples=asked.resamples, level=asked.level, seed=asked.seed)
    estimated = effects(samples, place, Grid(codes), options, ready[0].dataset_key)
    estimates = tuple(float(sample.estimate()[place]) for sample in samples)
    return Measured(score, metric, design, int(np.count_nonzero(scored)), estimates, levels, estimated)


def _part(members: Sequence[tuple[Cell, RunResult]], asked: Asked, progress: Progress) -> Part:
    cells = [cell for cell, _ in members]
    named = [replace(run, name=label) for (_, run), label in zip(members, _labels(cells), strict=True)]
    with progress("resampling", 0):
        seen = measured(named, [cell.parameters for cell in cells], asked)
    whole = [run for cell, run in zip(cells, named, strict=True) if cell.state == "done"]
    options = Options(resamples=asked.resamples, level=asked.level, seed=asked.seed)
    winners = comparing.best(whole, options) if len(whole) > 1 else []
    best = next((row for row in winners if row.score == seen.score), None)
    against, expenses = expenses_of(named, asked.against)
    labels = [run.name for run in named]
    return Part(
        dataset=named[0].dataset,
        score=seen.score,
        level=asked.level,
        digits=seen.metric.digits_of(seen.score),
        higher_is_better=seen.metric.higher_is_better,
        n=seen.design.units,
        unit=seen.design.label,
        outputs=seen.outputs,
        of=max(_asked_of(run) for run in named),
        levels=seen.levels,
        effects=seen.effects,
        best=best,
        alone=whole[0].name if len(whole) == 1 and _dropped(cells) == len(cells) - 1 else None,
        cheapest=_cheapest(best, dict(zip(labels, expenses, strict=True))),
        against=against,
        points=points_of(labels, seen.estimates, expenses, seen.metric.higher_is_better),
        saved=_saved(named),
        title=seen.metric.title_of(seen.score),
    )


def _dropped(cells: Sequence[Cell]) -> int:
    return sum(cell.state == "dropped" for cell in cells)


def _labels(cells: Sequence[Cell]) -> list[str]:
    """What cells are called: of two of one name, with their numbers."""
    labels = [cell.label for cell in cells]
    return [label if labels.count(label) == 1 else f"{label} #{cells[i].number}" for i, label in enumerate(labels)]


def _on_common_examples(runs: Sequence[RunResult]) -> list[RunResult]:
    """The runs with the examples that all of them have, in one order."""
    ids = [set(run.columns("id").column("id").to_pylist()) for run in runs]
    shared = set.intersection(*ids)
    if not shared:
        raise HarnessError("the cells have no example in common; expected runs on the same data")
    kept = [run if own == shared else _restricted(run, shared) for run, own in zip(runs, ids, strict=True)]
    order = kept[0].columns("id", "repeat")
    ready = [kept[0], *(in_order(run, kept[0], order) for run in kept[1:])]
    for run in ready[1:]:
        common_metrics(ready[0], run, {})
    return ready


def _restricted(run: RunResult, ids: set[str]) -> RunResult:
    return run.taken(np.flatnonzero([own in ids for own in run.columns("id").column("id").to_pylist()]))


def _chosen(runs: Sequence[RunResult], wanted: str | None) -> tuple[str, str]:
    """(metric, score): what is asked for, what was raced for, or the first that all runs have."""
    known = {
        score: metric
        for metric, statistics in runs[0].statistics.items()
        for score in statistics.metric.score_names
        if "." not in score and all(metric in run.statistics for run in runs)
    }
    raced = next((run.manifest["raced"]["score"] for run in runs if run.manifest.get("raced")), None)
    score = wanted or (raced if raced in known else next(iter(known), None))
    if score not in known:
        raise HarnessError(
            f"no score {score!r} that all cells have{nearest(str(score), list(known))}; expected one of "
            f"{', '.join(known) or 'none: the cells have no metric in common'}"
        )
    return known[score], score


def expenses_of(runs: Sequence[RunResult], wanted: str | None) -> tuple[str | None, list[float | None]]:
    """(the measure, what an output of each run takes by it)."""
    for measure in (wanted,) if wanted is not None else MEASURES:
        values = [_expense(run, measure) for run in runs]
        if all(value is not None for value in values):
            if wanted is None and measure == "seconds" and max(value or 0.0 for value in values) < NEGLIGIBLE:
                continue
            return measure, values
        if wanted is not None:
            lacking = next(run.name for run, value in zip(runs, values, strict=True) if value is None)
            raise HarnessError(f"the {measure} of {lacking} is not known; expected a system that says it")
    return None, [None] * len(runs)


def _expense(run: RunResult, measure: str) -> float | None:
    took: Mapping[str, Any] = run.manifest.get("generation") or {}
    outputs = (took.get("generated") or 0) + (took.get("cached") or 0)
    if measure == "latency":
        return None if took.get("latency_p50") is None else float(took["latency_p50"])
    if measure == "seconds":
        rate = took.get("outputs_per_second")
        return 1 / rate if rate else None
    total = took.get("cost")
    if measure == "tokens":
        given, made = took.get("input_tokens"), took.get("output_tokens")
        total = None if given is None or made is None else given + made
    return float(total) / outputs if total is not None and outputs else None


def _cheapest(best: Best | None, expenses: Mapping[str, float | None]) -> str | None:
    if best is None:
        return None
    names = [best.system, *best.rivals]
    known = {name: expense for name in names if (expense := expenses.get(name)) is not None}
    if len(known) < len(names):
        return None
    cheapest = min(names, key=lambda name: known[name])
    return cheapest if known[cheapest] < known[best.system] else None


def points_of(
    labels: Sequence[str], scores: Sequence[float], expenses: Sequence[float | None], higher: bool
) -> tuple[Point, ...]:
    signed = [score if higher else -score for score in scores]

    def dominated(i: int) -> bool:
        mine = expenses[i]
        return mine is None or any(
            theirs is not None
            and theirs <= mine
            and signed[j] >= signed[i]
            and (theirs < mine or signed[j] > signed[i])
            for j, theirs in enumerate(expenses)
        )

    return tuple(Point(label, scores[i], expenses[i], not dominated(i)) for i, label in enumerate(labels))


def _asked_of(run: RunResult) -> int:
    """The outputs that all examples ask of it, those that a race spared it among them."""
    raced = run.manifest.get("raced")
    examples = raced["of"] if raced else run.manifest["dataset"]["examples"]
    return int(examples * run.manifest["system"]["repeats"])


def _saved(runs: Sequence[RunResult]) -> Saved | None:
    """What cells of a race left out, at the rate of what they generated."""
    raced = [run.manifest.get("raced") for run in runs]
    error = next((float(own["error"]) for own in raced if own), None)
    if error is None:
        return None
    outputs, of, seconds, cost = 0, 0, 0.0, 0.0
    known = {"seconds": True, "cost": True}
    for run, own in zip(runs, raced, strict=True):
        left = (own["of"] - own["examples"]) * run.manifest["system"]["repeats"] if own else 0
        outputs += left
        of += _asked_of(run)
        for measure in known:
            each = _expense(run, measure)
            known[measure] &= each is not None or not left
            seconds += left * (each or 0.0) if measure == "seconds" else 0.0
            cost += left * (each or 0.0) if measure == "cost" else 0.0
    return Saved(outputs, of, seconds if known["seconds"] else None, cost if known["cost"] else None, error)


def document(swept: Swept) -> dict[str, Any]:
    """The sweep as JSON has it."""
    cells = [
        {
            "label": cell.label, "parameters": dict(cell.parameters), "number": cell.number, "state": cell.state,
            "reason": cell.reason, "folder": str(cell.run.path) if cell.run else None,
        }
        for cell in swept.ledger.cells
    ]  # fmt: skip
    parts = [_document(part) for part in swept.parts]
    return {"group": swept.ledger.group, "cells": cells, "parts": parts, "again": swept.ledger.again}


def _document(part: Part) -> dict[str, Any]:
    plain = asdict(part)
    shown_means = [{**asdict(mean), "level": part.levels[mean.parameter][mean.level]} for mean in part.effects.means]
    return {**plain, "effects": {**plain["effects"], "means": shown_means}}
