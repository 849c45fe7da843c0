"""The output journal of a run folder: every batch is appended and flushed to disk as soon as it was generated.

Lines of JSON, of three kinds:

    {"plan": [[key, …], …]}                          which outputs are generated together, before the first of them is
    {"key": …, "text": …, "error": …, "info": {…}}   an output, with "contexts": […] where it has any
    {"batch": 8, "seconds": 1.25}                    ends a batch; {"batch": 8, "cached": true}: it came from the cache

Outputs count once the line that ends their batch is there. Whatever a kill or a full disk left after the last whole
batch or plan is ignored when the journal is read, and cut away before the next one is appended.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from harness.inputs import regular
from harness.store import atomic
from harness.types import Gate, HarnessError, Output
from harness.types.admission import amount

log = logging.getLogger(__name__)


@dataclass
class Content:
    """What a journal holds."""

    outputs: dict[str, Output] = field(default_factory=dict)
    """By key; the newest of a key counts."""
    planned: list[list[str]] = field(default_factory=list)
    """The batches of all plans, oldest first."""
    generated: int = 0
    """Outputs that were generated here, repeated attempts included."""
    seconds: float = 0.0
    """That generating them took."""
    cached: int = 0
    """Outputs that came from the shared cache."""

    def add(self, batch: Mapping[str, Output], seconds: float | None) -> None:
        self.outputs.update(batch)
        if seconds is None:
            self.cached += len(batch)
        else:
            self.generated += len(batch)
            self.seconds += seconds


class Journal:
    def __init__(self, path: Path) -> None:
        self.path = path
        self._size = 0
        """Bytes up to the end of the last whole batch or plan."""

    @cached_property
    def content(self) -> Content:
        """What is in it, with whatever is appended from here."""
        content = Content()
        batch: dict[str, Output] = {}
        gate, size = Gate(str(self.path)), 0
        for line in self._lines():
            size += len(line)
            try:
                record = json.loads(line)
                if "key" in record:
                    info, contexts = record.get("info") or {}, record.get("contexts")
                    batch[str(record["key"])] = gate(Output(record["text"], record["error"], info, contexts))
                    continue
                if "plan" in record:
                    content.planned += [[str(key) for key in batch] for batch in record["plan"]]
                else:
                    content.add(batch, None if record.get("cached") else amount(record["seconds"]))
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
                log.warning("%s has a line that cannot be read; its output is generated again", self.path)
                continue
            batch, self._size = {}, size
        return content

    def _lines(self) -> Iterator[bytes]:
        """All lines that have an end."""
        if (strange := regular.irregular(self.path)) is not None:
            raise HarnessError(f"{self.path} is {strange}; expected a plain file, as a run leaves it")
        if self.path.exists():
            with open(self.path, "rb") as file:
                yield from (line for line in file if line.endswith(b"\n"))

    def whole(self) -> bytes:
        """Its lines up to the end of the last whole batch or plan, to be put into another journal."""
        self.content  # noqa: B018  (finds where it ends)
        return self.path.read_bytes()[: self._size] if self._size else b""

    def plan(self, batches: Sequence[Sequence[str]]) -> None:
        """Fixes which outputs are generated together."""
        self._append([{"plan": batches}])
        self.content.planned += [list(batch) for batch in batches]

    def append(self, outputs: Mapping[str, Output], seconds: float | None) -> None:
        """Keeps a batch that took `seconds` to generate, or came from the cache (None)."""
        lines: list[dict[str, Any]] = [
            {"key": key, "text": output.text, "error": output.error} | output.beside()
            for key, output in outputs.items()
        ]
        seconds = None if seconds is None else round(seconds, 6)
        end = {"cached": True} if seconds is None else {"seconds": seconds}
        self._append([*lines, {"batch": len(lines), **end}])
        self.content.add(outputs, seconds)

    def _append(self, records: Sequence[Mapping[str, Any]]) -> None:
        self.content  # noqa: B018  (finds where it ends)
        content = "".join(json.dumps(record) + "\n" for record in records).encode()
        new = not self.path.exists()
        descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | regular.NOFOLLOW | regular.BINARY, 0o666)
        try:
            os.ftruncate(descriptor, self._size)
            os.lseek(descriptor, self._size, os.SEEK_SET)
            left = memoryview(content)
            while left:
                left = left[os.write(descriptor, left) :]
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        if new:
            atomic.sync_folder(self.path.parent)
        self._size += len(content)
