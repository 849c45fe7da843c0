"""The output journal of a run folder: every batch is appended and flushed to disk as soon as it was generated.

One JSON line an output, {"key", "text", "error"}. A line that a kill or a full disk tore off is ignored when the
journal is read, and cut away before the next batch is appended.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Mapping
from pathlib import Path

from harness.types import Output

log = logging.getLogger(__name__)


class Journal:
    def __init__(self, path: Path) -> None:
        self.path = path
        self._size: int | None = None
        """Bytes of whole lines, once known."""

    def read(self) -> dict[str, Output]:
        """All outputs so far by key; the newest of a key counts."""
        found: dict[str, Output] = {}
        for line in self._whole().splitlines():
            try:
                record = json.loads(line)
                found[record["key"]] = Output(record["text"], record["error"])
            except (ValueError, KeyError, TypeError):
                log.warning("%s has a line that cannot be read; its output is generated again", self.path)
        return found

    def append(self, outputs: Mapping[str, Output]) -> None:
        lines = [
            json.dumps({"key": key, "text": output.text, "error": output.error}) + "\n"
            for key, output in outputs.items()
        ]
        if self._size is None:
            self._size = len(self._whole())
        content = "".join(lines).encode()
        with open(self.path, "ab") as file:
            file.truncate(self._size)
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        self._size += len(content)

    def _whole(self) -> bytes:
        """The journal without a torn last line."""
        if not self.path.exists():
            return b""
        content = self.path.read_bytes()
        return content[: content.rfind(b"\n") + 1]
