"""What the cells of a multirun leave in its folder for the process that launched them, wherever they run: a file when a
cell begins and one when it has ended, each written whole.

The folder is locked while that process lives. One that nobody holds is a leftover of a sweep that was killed, and the
next one removes it, unless jobs of a scheduler still need it.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from harness.inputs.living import is_alive
from harness.inputs.locks import NoLocks, held
from harness.store import atomic

LOCK = ".lock"
SCHEDULER = "scheduler"
"""The file that names who has the jobs."""
JOBS = ".submitit"
"""Where submitit keeps the jobs that it handed to a scheduler."""
SLOWEST = 7 * 24 * 3600
"""Seconds that a job of a scheduler may wait, after which nobody waits for it."""


@dataclass(frozen=True)
class Ended:
    """How a cell ended."""

    number: int
    label: str = ""
    error: str | None = None
    """Why it failed; None where it did not."""
    folders: tuple[str, ...] = ()
    """Of its runs."""
    value: Any = None
    """What it returns to the sweeper."""
    seconds: float | None = None
    estimates: tuple[dict[str, Any], ...] = ()
    """Of a dry run."""


class Marks:
    """The folder of a multirun."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)

    def begin(self, number: int) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        who = {"host": socket.gethostname(), "pid": os.getpid()}
        atomic.write(self.folder / f"{number}.began", json.dumps(who).encode())

    def end(self, ended: Ended) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        atomic.write(self.folder / f"{ended.number}.ended", json.dumps(asdict(ended)).encode())

    @property
    def began(self) -> set[int]:
        return {int(path.stem) for path in self.folder.glob("*.began")}

    def ended(self, known: Sequence[int] = ()) -> dict[int, Ended]:
        """By their numbers, in this order; those that are `known` apart."""
        numbers = sorted({int(path.stem) for path in self.folder.glob("*.ended")} - set(known))
        return {number: self._read(number) for number in numbers}

    def _read(self, number: int) -> Ended:
        content = json.loads((self.folder / f"{number}.ended").read_text(encoding="utf-8"))
        return Ended(**{**content, "folders": tuple(content["folders"]), "estimates": tuple(content["estimates"])})

    def hand_over(self, scheduler: str) -> None:
        """Notes that a scheduler has the jobs, which may outlive this process."""
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / SCHEDULER).write_text(scheduler, encoding="utf-8")

    @property
    def awaited(self) -> bool:
        """Whether jobs that a scheduler has still need the folder."""
        try:
            scheduler = (self.folder / SCHEDULER).read_text(encoding="utf-8")
        except OSError:
            return False
        submitted = [path for path in (self.folder / JOBS).glob("**/*_submitted.pkl") if not _has_result(path)]
        if scheduler == "local":
            return any(_job(path).isdigit() and is_alive(int(_job(path))) for path in submitted)
        return any(time.time() - path.stat().st_mtime < SLOWEST for path in submitted)

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Holds the folder for as long as this process needs it; leftovers beside it are removed."""
        with ExitStack() as stack:
            with suppress(TimeoutError, NoLocks):  # without locks nothing is removed either
                stack.enter_context(held(self.folder / LOCK, 0))
                if self.folder.parent.name == ".multirun":
                    clear(self.folder.parent, self.folder)
            yield

    def remove(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
        with suppress(OSError):  # kept where there is something else in them
            self.folder.parent.rmdir()
            self.folder.parent.parent.rmdir()


def clear(parent: Path, own: Path) -> None:
    """Removes what sweeps that were killed left."""
    for folder in parent.iterdir():
        if folder == own or not folder.is_dir() or Marks(folder).awaited:
            continue
        with suppress(TimeoutError, NoLocks, OSError), held(folder / LOCK, 0):
            shutil.rmtree(folder, ignore_errors=True)


def _job(submitted: Path) -> str:
    """The id of a job; of one of this machine, that of its process."""
    return submitted.name.removesuffix("_submitted.pkl")


def _has_result(submitted: Path) -> bool:
    return any(submitted.parent.glob(f"{_job(submitted)}_*_result.pkl"))
