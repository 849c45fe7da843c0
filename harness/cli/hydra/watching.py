"""`watch=true`: checkpoints are evaluated as training writes them.

One that is half written is waited for, and said to be. It ends with Ctrl-C while it waits, when the trainer's state
says that its last step was written, at the step `watch_until`, or when nothing new came for `watch_idle` minutes; what
follows is what follows any run.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from harness.cli.output import complain
from harness.cli.signals import Asked
from harness.types import HarnessError, Systems

LOOK = 2.0
"""Seconds between two looks."""


@dataclass(frozen=True)
class Watch:
    until: int | None = None
    """A step."""
    idle: float | None = None
    """Minutes."""

    def __post_init__(self) -> None:
        if self.idle is not None and not self.idle > 0:
            raise HarnessError(f"watch_idle={self.idle}; expected minutes, more than 0")

    def cells(self, systems: Systems) -> Iterator[dict[str, Any]]:
        """The config of each of them, in the order in which they come."""
        systems.watched()
        seen: set[int] = set()
        mentioned: set[str] = set()
        newest = time.monotonic()
        while True:
            if self.until is not None and max(seen, default=-1) >= self.until:
                return
            over, half = systems.finished(), systems.unfinished()  # before the look, so that it misses none
            new = [spec for spec in systems.cells() if spec["step"] not in seen]
            if new:  # one at a time: meanwhile more may come, and a trainer that keeps a few only may remove others
                seen.add(new[0]["step"])
                yield new[0]
                newest = time.monotonic()
                continue
            if over:
                complain("the trainer's last step is evaluated: training is over")
                return
            if self.idle is not None and time.monotonic() - newest > 60 * self.idle:
                complain(f"no new checkpoint for {self.idle:g} minute{'s' * (self.idle != 1)}")
                break
            waiting = [f"{folder} is still being written; waiting for it" for folder in half]
            for line in waiting or [f"{_count(len(seen))} of {systems.name} so far; waiting for the next"]:
                if line not in mentioned:
                    mentioned.add(line)
                    complain(line)
            try:
                time.sleep(LOOK)
            except KeyboardInterrupt as error:
                if isinstance(error, Asked) and error.number != signal.SIGINT:
                    raise
                complain("watched until now")
                break
        if not seen:
            raise HarnessError(f"{systems.name} had no checkpoint while it was watched; expected one")


def _count(checkpoints: int) -> str:
    """
    >>> [_count(n) for n in (0, 1, 2)]
    ['no checkpoints', '1 checkpoint', '2 checkpoints']
    """
    return "1 checkpoint" if checkpoints == 1 else f"{checkpoints or 'no'} checkpoints"
