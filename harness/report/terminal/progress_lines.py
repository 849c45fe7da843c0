"""Progress where standard error is no terminal (a log of SLURM, nohup, tee, CI): now and then a line.

A stage that takes less than ten seconds says nothing. Then there is a line every ten seconds; later, so that a night's
log can be read, once a tenth of the work, or of the time so far, has gone by since the last.

>>> from io import StringIO
>>> clock, out = iter([0.0, 9.0, 12.0, 40.0]), StringIO()
>>> lines = Lines("generating", 2_000, clock=lambda: next(clock), out=out)
>>> lines.advance(300), lines.advance(100), lines.end()
(None, None, None)
>>> print(out.getvalue(), end="")
generating: 400/2,000, 33.3/s, 0:00:48 left
generating: 400/2,000 in 0:00:40
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from typing import TextIO

SECONDS = 10.0
"""Between two lines, at least."""
LOOKS = 2.0
"""Seconds between looks at what does not advance."""
SHARE = 0.1
"""Of the work, or of the time so far, between two lines of a long stage."""


class Lines:
    """A stage of some total, 0 where it is not known."""

    def __init__(
        self, stage: str, total: int, clock: Callable[[], float] = time.monotonic, out: TextIO | None = None
    ) -> None:
        self._stage, self._total, self._clock, self._out = stage, total, clock, out or sys.stderr
        self._done, self._note = 0, ""
        self._began = self._last = clock()
        self._done_then = 0
        """At the last line."""
        self._lock, self._ended = threading.Lock(), threading.Event()

    def __enter__(self) -> Lines:
        threading.Thread(target=self._watched, daemon=True).start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._ended.set()
        self.end()

    def _watched(self) -> None:
        """What does not advance, such as a large batch or a model that is loaded, is not silent either."""
        while not self._ended.wait(LOOKS):
            self.look()

    def advance(self, n: int = 1) -> None:
        with self._lock:
            self._done += n
        self.look()

    def note(self, text: str) -> None:
        self._note = text

    def look(self) -> None:
        """Writes a line where one is due."""
        with self._lock:
            now = self._clock()
            since, worked = now - self._last, self._done - self._done_then
            if since < SECONDS or self._ended.is_set():
                return
            if since < SHARE * (now - self._began) and worked < max(SHARE * self._total, 1):
                return
            self._last, self._done_then = now, self._done
            self._write(self._line(now - self._began))

    def end(self) -> None:
        """A last line where there was one before."""
        with self._lock:
            if self._last > self._began:
                self._write(f"{self._stage}: {self._counts() or 'done'} in {_time(self._clock() - self._began)}")

    def _line(self, seconds: float) -> str:
        parts = [self._counts()]
        if self._done:
            parts.append(f"{self._done / seconds:,.1f}/s")
        if 0 < self._done < self._total:
            parts.append(f"{_time(seconds * (self._total / self._done - 1))} left")
        else:
            parts.append(f"{_time(seconds)} so far")
        return f"{self._stage}: {', '.join(part for part in (*parts, self._note) if part)}"

    def _counts(self) -> str:
        return f"{self._done:,}/{self._total:,}" if self._total else f"{self._done:,}" if self._done else ""

    def _write(self, line: str) -> None:
        self._out.write(f"{line}\n")
        self._out.flush()


def _time(seconds: float) -> str:
    return str(timedelta(seconds=round(seconds)))
