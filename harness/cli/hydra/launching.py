"""Around any launcher of Hydra: a cell that fails, or whose process is killed, ends itself and no other; each is told
as it ends.

A cell leaves marks where it begins and ends (marks.py). A launcher that breaks off at the first lost process is called
again for what has not ended: what had begun alone, so that a cell that ends every process it gets is known, and the
rest together.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

from hydra.core.plugins import Plugins
from hydra.core.utils import JobReturn, JobStatus
from hydra.plugins.launcher import Launcher

from harness.cli.hydra.gathering import Gathering
from harness.cli.hydra.marks import Ended
from harness.cli.hydra.optimising import directed
from harness.types import HarnessError

OFTEN = 0.5
"""Seconds between two looks for cells that ended in other processes."""
Overrides = Sequence[str]


class Watched(Launcher):  # type: ignore[misc]  # Hydra has no types here
    """A launcher that another one works for."""

    def __init__(self, launcher: Launcher, sweep: Gathering) -> None:
        self.launcher, self.sweep, self.marks = launcher, sweep, sweep.marks

    def setup(self, **options: Any) -> None:
        """The launcher that works is set up already."""

    def launch(self, job_overrides: Sequence[Overrides], initial_job_idx: int) -> list[JobReturn]:
        cells = {initial_job_idx + i: list(overrides) for i, overrides in enumerate(job_overrides)}
        if not cells:
            raise HarnessError(
                "the sweep has no cell: a list of values is empty, or a pattern matches nothing; expected at least one "
                "value of each parameter"
            )
        if not self.sweep.cells:
            directed(self._first(job_overrides[0]))  # an objective that no metric has is said before the first cell
        self.sweep.plan(cells)
        scheduler = getattr(self.launcher, "_EXECUTOR", None)
        if scheduler is not None:
            from harness.cli.hydra.sealed import sealing

            self.marks.hand_over(scheduler)
        with sealing(self._lost) if scheduler is not None else nullcontext(), self._shown():
            returns = self._launched(cells)
            self._note_silent(returns)
        return [returns.get(number) or self._returned(number, cells[number]) for number in cells]

    def _first(self, overrides: Overrides) -> Any:
        """The first cell, composed."""
        return self.launcher.hydra_context.config_loader.look_at(self.sweep.config, list(overrides))

    def _launched(self, cells: Mapping[int, Overrides]) -> dict[int, JobReturn]:
        """Of those cells whose returns are known."""
        first = next(iter(cells))
        try:
            return dict(zip(cells, self.launcher.launch(list(cells.values()), initial_job_idx=first), strict=True))
        except HarnessError:
            raise
        except Exception as error:
            _end_workers()
            ended, began = self.marks.ended(), self.marks.began
            waiting = {number: cells[number] for number in cells if number not in ended}
            alone = [number for number in waiting if number in began]
            if not alone:
                raise
            if len(cells) == 1:
                return {first: self._lost(first, str(error))}
        returns: dict[int, JobReturn] = {}
        for part in [[number] for number in alone] + _runs([number for number in waiting if number not in began]):
            returns |= self._launched({number: cells[number] for number in part})
        return returns

    def _note_silent(self, returns: Mapping[int, JobReturn]) -> None:
        """A cell that a launcher says is done, and that left no word of how, failed."""
        ended = self.marks.ended()
        for number, returned in returns.items():
            if number not in ended and returned.status != JobStatus.FAILED:  # which the sweeper tells
                self._lost(number, "it left no word of how it ended")

    def _lost(self, number: int, reason: str) -> JobReturn:
        """A cell whose process is gone; it may have said before how it ended."""
        if number not in self.marks.ended():
            first = " ".join(reason.split("\n")[0].split())
            self.marks.end(Ended(number, self.sweep.label(number), f"its process was lost: {first}"))
        return self._returned(number, self.sweep.cells[number])

    def _returned(self, number: int, overrides: Overrides) -> JobReturn:
        """What a sweeper gets of a cell: its value, None where it failed."""
        ended = self.marks.ended().get(number)
        value = None if ended is None else ended.value
        return JobReturn(overrides=list(overrides), status=JobStatus.COMPLETED, _return_value=value)

    @contextmanager
    def _shown(self) -> Iterator[None]:
        """Cells of other processes are told as they end; one of this process tells itself."""
        if type(self.launcher).__name__ == "BasicLauncher":  # Hydra imports its own plug-ins twice
            yield
            return
        done = threading.Event()

        def look() -> None:
            while not done.wait(OFTEN):
                self.sweep.show()

        watcher = threading.Thread(target=look, daemon=True)
        watcher.start()
        try:
            yield
        finally:
            done.set()
            watcher.join()
            self.sweep.show()


def _runs(numbers: Sequence[int]) -> list[list[int]]:
    """Numbers that follow each other: a launcher counts on from the first.

    >>> _runs([3, 4, 5, 9])
    [[3, 4, 5], [9]]
    """
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return runs


def _end_workers() -> None:
    """Ray goes on with cells that were launched, unless it is ended."""
    ray = sys.modules.get("ray")
    if ray is not None and ray.is_initialized():
        ray.shutdown()


def install(watch: Callable[[Launcher], Launcher]) -> None:
    """Lets Hydra give its sweepers launchers that are watched."""
    original = getattr(Plugins.instantiate_launcher, "original", Plugins.instantiate_launcher)

    def instantiate_launcher(self: Plugins, *arguments: Any, **options: Any) -> Launcher:
        return watch(original(self, *arguments, **options))

    instantiate_launcher.original = original  # type: ignore[attr-defined]
    Plugins.instantiate_launcher = instantiate_launcher
