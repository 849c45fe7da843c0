"""Statistics of hundreds of runs: their rows are kept in a bounded part of memory, the others in a file.

Three hundred systems with 45 columns for ten thousand examples are more than a gigabyte. A comparison works on some of
them at a time, so the others are read when they are needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from harness.stats.spilled import Spilled
from harness.types import Array, RunResult, Statistics

MEMORY = 2**26
"""Bytes of rows that stay in memory: 64 MiB, those of BLEU for 80 systems on ten thousand examples."""


class Elsewhere(Statistics):
    """Statistics whose rows are in a collection, and are read whenever they are asked for."""

    __slots__ = ("_place", "_rows")
    _place: object
    _rows: Spilled

    def __init__(self, statistics: Statistics, rows: Spilled) -> None:
        for name in ("metric", "signature", "key", "lists"):
            object.__setattr__(self, name, getattr(statistics, name))
        place = object()
        rows[place] = statistics.rows
        object.__setattr__(self, "_rows", rows)
        object.__setattr__(self, "_place", place)

    @property
    def rows(self) -> Array:
        return self._rows[self._place]

    def taken(self, places: Sequence[int]) -> Statistics:
        some = self.whole[places]
        ordered = Statistics.of(self.metric, some.values, self.signature, self.key, some.lists)
        return Elsewhere(ordered, self._rows)


class Many:
    """Runs that are in memory together."""

    def __init__(self, memory: int | None = None) -> None:
        self._room = MEMORY if memory is None else memory
        self._elsewhere = Spilled(0)

    def add(self, run: RunResult) -> RunResult:
        """The run, its rows elsewhere where there is no more room."""
        size = sum(part.rows.nbytes for part in run.statistics.values())
        if size <= self._room:
            self._room -= size
            return run
        return replace(
            run, statistics={name: Elsewhere(part, self._elsewhere) for name, part in run.statistics.items()}
        )
