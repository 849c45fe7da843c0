"""Statistics of hundreds of runs: their rows are kept in a bounded part of memory, the others in a file.

Three hundred systems with 45 columns for ten thousand examples are more than a gigabyte. A comparison works on some of
them at a time, so the others are read when they are needed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from harness.stats.spilled import Spilled
from harness.types import Rows, RunResult, Statistics

MEMORY = 2**26
"""Bytes of rows that stay in memory: 64 MiB, those of BLEU for 80 systems on ten thousand examples."""


class Elsewhere(Statistics):
    """Statistics whose rows are not kept, and are loaded whenever they are asked for."""

    @property
    def whole(self) -> Rows:
        return self.load()


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
        return replace(run, statistics={name: self._put(part) for name, part in run.statistics.items()})

    def _put(self, part: Statistics) -> Statistics:
        return Elsewhere(part.metric, self._put_rows(part.whole), part.signature, part.key)

    def _put_rows(self, rows: Rows) -> Callable[[], Rows]:
        place, elsewhere, lists = object(), self._elsewhere, rows.lists
        elsewhere[place] = rows.values
        return lambda: Rows(elsewhere[place], lists)
