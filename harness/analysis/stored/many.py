"""Statistics of hundreds of runs: their rows are kept in a bounded part of memory, the others in a file.

Three hundred systems with 45 columns for ten thousand examples are more than a gigabyte. A comparison works on some of
them at a time, so the others are read when they are needed.
"""

from __future__ import annotations

from dataclasses import replace

from harness.stats.spilled import Spilled
from harness.types import Rows, RunResult, Statistics

MEMORY = 2**26
"""Bytes of rows that stay in memory: 64 MiB, those of BLEU for 80 systems on ten thousand examples."""


class Elsewhere(Statistics):
    """Statistics whose rows are in a collection, and are read whenever they are asked for."""

    @classmethod
    def put(cls, statistics: Statistics, rows: Spilled) -> Elsewhere:
        """The same, with their rows in the collection."""
        place, lists = object(), statistics.lists
        rows[place] = statistics.rows
        return cls(statistics.metric, lambda: Rows(rows[place], lists), statistics.signature, statistics.key)

    @property
    def whole(self) -> Rows:  # and not kept
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
        return replace(
            run, statistics={name: Elsewhere.put(part, self._elsewhere) for name, part in run.statistics.items()}
        )
