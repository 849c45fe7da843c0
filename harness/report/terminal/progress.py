"""A live bar with rate, a note and time left on standard error; a line now and then where that is not a terminal."""

from __future__ import annotations

import os
import sys
from typing import Any

from harness.report.terminal.progress_lines import Lines
from harness.types import Step

LINES = "HARNESS_PROGRESS"
NARROW = 72
"""Columns below which there is room for the counts and the rate only."""


class _Silent:
    def __enter__(self) -> _Silent:
        return self

    def __exit__(self, *exc: object) -> None:
        pass

    def advance(self, n: int = 1) -> None:
        pass

    def note(self, text: str) -> None:
        pass


def silent(stage: str, total: int) -> Step:
    """No bar: the seam's fake."""
    return _Silent()


class _Bar:
    def __init__(self, stage: str, total: int) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        from harness.report.terminal.screen import Screen

        console = Screen(stderr=True)
        note = TextColumn("{task.fields[note]}", markup=False)
        more = (TextColumn("{task.fields[rate]}"), note, TimeRemainingColumn())
        self._bar = Progress(
            TextColumn("{task.description:<18}", markup=False),
            *([BarColumn()] if console.width >= NARROW else []),
            MofNCompleteColumn(),
            *(more if console.width >= NARROW else more[:1]),
            console=console,
            transient=True,
        )
        self._task = self._bar.add_task(stage, total=total or None, rate="", note="")

    def __enter__(self) -> _Bar:
        self._bar.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._bar.stop()

    def advance(self, n: int = 1) -> None:
        self._bar.advance(self._task, n)
        speed = self._bar.tasks[0].speed
        self._bar.update(self._task, rate=f"{speed:,.1f}/s" if speed else "")

    def note(self, text: str) -> None:
        self._bar.update(self._task, note=text)


def bars(wanted: bool) -> Any:
    """Where they are wanted: live bars on a terminal, else lines, unless the environment says `HARNESS_PROGRESS=0`."""
    if not wanted:
        return silent
    if sys.stderr.isatty():
        return _Bar
    return silent if os.environ.get(LINES) == "0" else Lines
