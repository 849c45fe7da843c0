"""What `harness runs` read of run folders the last time, so that it reads ten thousand of them in a moment.

An aid and never the truth: an entry is known by the identity of a run's two files (device, number, times, size), so one
that was changed, replaced or copied is not found and is read again, and an index that came with someone else's folder
holds nothing: no file there has the time at which it was written here. It lies in an `ArrayStore`, which several
processes may use at once and which begins anew where it is damaged. Below a hundred runs there is none.

An entry is lines of JSON: the head of a run, then each of its scores, then each field of its manifest, which are parsed
when someone asks for them.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson

from harness.inputs import files, regular
from harness.store import shape
from harness.store.arrays import ArrayStore
from harness.types import RunRecord

WORTH = 100
"""Runs from which on an index saves time."""
LIMIT = 2**30
HEAD = ("name", "dataset", "system", "experiment", "examples", "failed")
RULES = files.digest(repr([shape.SCORES, shape.MANIFEST, shape.CONFIG, shape.SCHEMA, 1]))
"""What entries were checked against: with other rules they are others."""


def stamp(scores: os.stat_result, manifest: os.stat_result) -> str | None:
    """The identity of a run's two files; None where one is no plain file."""
    if not (stat.S_ISREG(scores.st_mode) and stat.S_ISREG(manifest.st_mode)):
        return None
    facts = [(s.st_dev, s.st_ino, s.st_ctime_ns, s.st_mtime_ns, s.st_size) for s in (scores, manifest)]
    return f"{RULES} {facts}"


class Index:
    """The entries below a folder."""

    def __init__(self, below: Path) -> None:
        path = below / ".cache" / "records.sqlite"
        self._usable = not path.parent.is_symlink() and regular.irregular(path) is None
        self._writable = os.access(path.parent if path.parent.is_dir() else below, os.W_OK)
        self._store = ArrayStore(path, LIMIT, touch=False)

    def get(self, stamps: Sequence[str]) -> dict[str, bytes]:
        """The entries that are there."""
        return self._store.get(stamps) if self._usable and len(stamps) >= WORTH else {}

    def put(self, entries: Mapping[str, bytes], runs: int) -> None:
        """Keeps entries, where there are so many runs that it is worth it."""
        if entries and runs >= WORTH and self._usable and self._writable:
            self._store.put(entries)


def entry(run: RunRecord) -> bytes:
    """A run for the index."""
    head = {name: getattr(run, name) for name in HEAD} | {"scores": list(run.values), "manifest": list(run.manifest)}
    return b"\n".join(map(orjson.dumps, [head, *run.values.values(), *run.manifest.values()]))


def record(folder: str, content: bytes) -> RunRecord:
    """The run of an entry."""
    first, *parts = content.split(b"\n")
    head = orjson.loads(first)
    names, fields = head.pop("scores"), head.pop("manifest")
    values = Parsed(zip(names, parts[: len(names)], strict=True))
    manifest = Parsed(zip(fields, parts[len(names) :], strict=True))
    started, ended = (shape.time_of(manifest[name]) for name in ("started", "ended"))
    mlflow = manifest["mlflow"]
    return RunRecord(
        Path(folder), **head, started=started, ended=ended, mlflow=mlflow, values=values, manifest=manifest
    )


class Parsed(Mapping[str, Any]):
    """A mapping whose values are parsed when they are asked for.

    >>> Parsed([("a", b"[1, 2]")]) == {"a": [1, 2]}
    True
    """

    def __init__(self, parts: Any) -> None:
        self._parts: dict[str, bytes] = dict(parts)
        self._values: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._values:
            self._values[name] = orjson.loads(self._parts[name])
        return self._values[name]

    def __contains__(self, name: object) -> bool:
        return name in self._parts

    def __iter__(self) -> Iterator[str]:
        return iter(self._parts)

    def __len__(self) -> int:
        return len(self._parts)
