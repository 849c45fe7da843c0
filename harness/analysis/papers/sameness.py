"""A stored result beside the same computed again: every score, bound, slice, example and row, and the first that is
not the same.

Numbers are the same where they differ by no more than a share of their size (`tolerance`): the last bits of a float
depend on the processor and on the library that adds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from harness.types import Array, RunResult, Score
from harness.types.reproductions import Difference

TOLERANCE = 1e-9
VALUES = ("estimate", "low", "high", "low_error", "high_error", "if_worst", "if_best")
SETTINGS = ("level", "method", "resamples", "units")
TEXTS = ("output", "error")


@dataclass
class Checked:
    """What a comparison found so far."""

    tolerance: float = TOLERANCE
    differences: list[Difference] = field(default_factory=list)
    example: Difference | None = None
    compared: int = 0
    spread: float = 0.0

    def number(self, place: str, what: str, stored: float | None, here: float | None) -> None:
        self.compared += 1
        apart = _apart(stored, here)
        if math.isfinite(apart):
            self.spread = max(self.spread, apart)
        if apart > self.tolerance:
            self.differences.append(Difference(place, what, stored, here))

    def value(self, place: str, what: str, stored: Any, here: Any) -> None:
        self.compared += 1
        if stored != here:
            self.differences.append(Difference(place, what, stored, here))


def compare_results(stored: RunResult, here: RunResult, checked: Checked, texts: bool = True) -> None:
    """`texts`: whether the stored run has its texts; without them there are no bounds of failed examples."""
    _compare_scores("scores.json", stored.scores, here.scores, checked, texts)
    checked.value("scores.json", "failed", stored.failed, here.failed)
    checked.value("manifest.json", "system.seeds", stored.seeds, here.seeds)
    mine = {(part.by, part.label): part for part in here.slices}
    for part in stored.slices:
        place = f"scores.json, slice {part.by}={part.label}"
        other = mine.pop((part.by, part.label), None)
        if other is None:
            checked.value(place, "slice", part.examples, None)
        else:
            checked.value(place, "examples", part.examples, other.examples)
            _compare_scores(place, part.scores, other.scores, checked, texts)
    for by, label in mine:
        checked.value(f"scores.json, slice {by}={label}", "slice", None, mine[by, label].examples)
    _compare_rows(stored, here, checked)
    _compare_examples(stored, here, checked, TEXTS if texts else ())
    if texts:
        checked.value("scores.json", "health", stored.health, here.health)


def _compare_scores(
    place: str, stored: Mapping[str, Score], here: Mapping[str, Score], checked: Checked, texts: bool
) -> None:
    for name in dict.fromkeys((*stored, *here)):
        if name not in stored or name not in here:
            checked.value(place, name, name in stored or None, name in here or None)
            continue
        for value in VALUES if texts else VALUES[:5]:
            checked.number(place, f"{name}.{value}", getattr(stored[name], value), getattr(here[name], value))
        for setting in SETTINGS:
            checked.value(place, f"{name}.{setting}", getattr(stored[name], setting), getattr(here[name], setting))


def _compare_rows(stored: RunResult, here: RunResult, checked: Checked) -> None:
    """statistics.parquet, row by row."""
    for name, statistics in stored.statistics.items():
        other = here.statistics.get(name)
        if other is None:
            continue
        checked.value(
            "statistics.parquet", f"{name} is defined by", dict(statistics.signature.definition),
            dict(other.signature.definition),
        )  # fmt: skip
        if statistics.rows.shape != other.rows.shape:
            checked.value("statistics.parquet", f"rows of {name}", statistics.rows.shape, other.rows.shape)
            continue
        checked.compared += statistics.rows.size
        wrong = _apart_rows(statistics.rows, other.rows, checked.tolerance)
        for row in np.flatnonzero(wrong.any(axis=1))[:1]:
            column = int(np.flatnonzero(wrong[row])[0])
            _note_example(
                checked, stored, int(row), f"{name}:{statistics.metric.columns[column]} of statistics.parquet",
                float(statistics.rows[row, column]), float(other.rows[row, column]),
            )  # fmt: skip


def _compare_examples(stored: RunResult, here: RunResult, checked: Checked, texts: Sequence[str]) -> None:
    """examples.parquet: texts after postprocessing and a number a score, of which the first that differs is kept."""
    mine, theirs = here.table, stored.table
    if mine.num_rows != theirs.num_rows:
        checked.value("examples.parquet", "rows", theirs.num_rows, mine.num_rows)
        return
    firsts: list[tuple[int, str, Any, Any]] = []
    for name in [*texts, *stored.scores]:
        if name not in mine.column_names or name not in theirs.column_names:
            continue
        before, after = theirs.column(name), mine.column(name)
        checked.compared += len(before)
        if name in TEXTS:
            wrong = _apart_texts(before.to_pylist(), after.to_pylist())
        else:
            wrong = _apart_rows(_floats(before), _floats(after), checked.tolerance)
        places = np.flatnonzero(wrong)
        if len(places):
            row = int(places[0])
            firsts.append((row, name, before[row].as_py(), after[row].as_py()))
    if firsts:
        row, name, before, after = min(firsts, key=lambda first: first[0])
        _note_example(checked, stored, row, name, before, after)


def _note_example(checked: Checked, run: RunResult, row: int, what: str, stored: Any, here: Any) -> None:
    if checked.example is None or what in run.scores or what in TEXTS:  # what a reader sees goes before what it is of
        id_ = run.columns("id").column("id")[row].as_py()
        checked.example = Difference(f"example {id_!r}", what, stored, here)


def _apart(stored: float | None, here: float | None) -> float:
    """How far two numbers are apart, as a share of the larger one."""
    if stored is None or here is None:
        return 0.0 if stored is here else math.inf
    largest = max(abs(stored), abs(here))
    return abs(stored - here) / largest if largest else 0.0


def _apart_rows(stored: Array, here: Array, tolerance: float) -> Any:
    with np.errstate(invalid="ignore"):
        near = np.abs(stored - here) <= tolerance * np.maximum(np.abs(stored), np.abs(here))
    return ~(near | (np.isnan(stored) & np.isnan(here)))


def _apart_texts(stored: list[Any], here: list[Any]) -> Any:
    return np.array([a != b for a, b in zip(stored, here, strict=True)], dtype=bool)


def _floats(column: Any) -> Array:
    return np.array([math.nan if value is None else value for value in column.to_pylist()], dtype=np.float64)
