"""The folders in which a training run leaves its checkpoints: which there are, their steps, and which are whole.

A checkpoint's step is the `global_step` in its trainer_state.json, else the number at the end of its name. A trainer
writes that file last: where some folders have it, one without, or with half of it, is still being written. So is one
whose weights are shorter than their header says, or of which a part is missing.

>>> step_of(Path("out/checkpoint-500")), step_of(Path("out/best"))
(500, None)
"""

from __future__ import annotations

import glob
import json
import logging
import re
import time
import zipfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.types import HarnessError

log = logging.getLogger(__name__)
STATE = "trainer_state.json"
WEIGHTS = ("*.safetensors", "*.safetensors.index.json", "pytorch_model*.bin", "adapter_model.bin", "*.gguf")
SETTLED = 10.0
"""Seconds without a change after which a folder without the trainer's state is taken for whole, where one watches."""


@dataclass(frozen=True)
class CheckpointFolders:
    path: str
    """A glob, or the folder that the checkpoints are in."""
    every: int = 1
    last: int | None = None
    watched: bool = False
    """Whether training goes on beside this: one may have to wait for the first of them, and a folder that has just been
    written to may not be whole."""
    _seen: set[int] = field(default_factory=set, init=False)
    """Steps that were there at any look: every second one is the same where the trainer removes earlier ones."""

    def __post_init__(self) -> None:
        for option, value in (("every", self.every), ("last", 1 if self.last is None else self.last)):
            if not isinstance(value, int) or value < 1:
                raise HarnessError(f"system.{option}={value}; expected a whole number, at least 1")

    @property
    def parent(self) -> Path:
        """The folder that the checkpoints are in: of a glob, what comes before its first wildcard."""
        if not glob.has_magic(self.path):
            return Path(self.path)
        fixed: list[str] = []
        for part in Path(self.path).parts:
            if glob.has_magic(part):
                break
            fixed.append(part)
        return Path(*fixed)

    def chosen(self) -> list[tuple[int, Path]]:
        """(step, folder) of the whole ones, by step."""
        by_step: dict[int, Path] = {}
        whole, unfinished = self.found()
        for folder in () if self.watched else unfinished:
            log.warning("%s is incomplete; it is left for the next call", folder)
        for folder in whole:
            step = step_of(folder)
            if step is None:
                continue
            if step in by_step:
                raise HarnessError(
                    f"{by_step[step]} and {folder} are both at step {step}; "
                    "expected the checkpoints of one training run"
                )
            by_step[step] = folder
        if not by_step and not self.watched:
            raise HarnessError(
                f"system.path={self.path} has no checkpoints; expected folders with a model, a number at the end of "
                "their names or a trainer_state.json in them"
            )
        self._seen.update(by_step)
        kept = sorted(self._seen)[:: self.every]
        return [(step, by_step[step]) for step in (kept[-self.last :] if self.last else kept) if step in by_step]

    def found(self) -> tuple[list[Path], list[Path]]:
        """(folders with a whole model in them, those that look like checkpoints and are not whole yet)."""
        pattern = self.path if glob.has_magic(self.path) else str(Path(self.path) / "*")
        folders = sorted(Path(p) for p in glob.glob(str(Path(pattern).expanduser())) if Path(p).is_dir())
        weighted = [folder for folder in folders if _whole_weights(folder)]
        trained = [folder for folder in weighted if (folder / STATE).exists()]
        whole = trained or weighted
        if self.watched:
            whole = [folder for folder in whole if _state(folder) is not None or _unchanged(folder)]
        elif trained:
            whole = [folder for folder in trained if _state(folder) is not None]
        return whole, [folder for folder in folders if folder not in whole and re.search(r"\d$", folder.name)]

    def finished(self) -> bool:
        """Whether the trainer's state in one of them says that training is over."""
        states = (_state(folder) or {} for folder in self.found()[0])
        steps = ((state.get("global_step"), state.get("max_steps")) for state in states)
        return any(isinstance(now, int) and isinstance(end, int) and 0 < end <= now for now, end in steps)


def step_of(folder: Path) -> int | None:
    """The training step of a checkpoint."""
    state = folder / STATE
    if state.exists():
        try:
            return int(json.loads(state.read_text(encoding="utf-8"))["global_step"])
        except (ValueError, KeyError, TypeError) as error:
            raise HarnessError(f"{state} cannot be read ({error!r}); expected the trainer's global_step") from None
    number = re.search(r"\d+$", folder.name)
    return int(number[0]) if number else None


def _state(folder: Path) -> dict[str, Any] | None:
    """The trainer's state, where all of it is there."""
    with suppress(OSError, ValueError):
        state = json.loads((folder / STATE).read_text(encoding="utf-8"))
        return state if isinstance(state, dict) else None
    return None


def _unchanged(folder: Path) -> bool:
    """Whether nothing in it was written for a while, and the trainer's state is not half of one."""
    if (folder / STATE).exists():
        return False
    written = [0.0]
    for path in (folder, *folder.rglob("*")):
        with suppress(OSError):
            written.append(path.stat().st_mtime)
    return max(written) < time.time() - SETTLED


def _whole_weights(folder: Path) -> bool:
    files = sorted({path for pattern in WEIGHTS for path in folder.glob(pattern)})
    return bool(files) and all(_CHECKS.get(path.suffix, _there)(path) for path in files)


def _there(path: Path) -> bool:
    return True


def _whole_safetensors(path: Path) -> bool:
    """Whether it is as long as its header says: 8 bytes with the header's length, the header, the tensors."""
    try:
        size = path.stat().st_size
        if size == 0:  # a stand-in, or weights that are elsewhere
            return True
        with open(path, "rb") as file:
            length = int.from_bytes(file.read(8), "little")
            if length > size:
                return False
            header = json.loads(file.read(length))
        ends = [int(tensor["data_offsets"][1]) for name, tensor in header.items() if name != "__metadata__"]
        return size >= 8 + length + max(ends, default=0)
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return False


def _whole_index(path: Path) -> bool:
    """Whether every file that it names is there."""
    try:
        parts = set(json.loads(path.read_text(encoding="utf-8"))["weight_map"].values())
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return False
    return all((path.parent / str(part)).exists() for part in parts)


_CHECKS: dict[str, Callable[[Path], bool]] = {
    ".safetensors": _whole_safetensors,
    ".json": _whole_index,
    ".bin": zipfile.is_zipfile,
}
