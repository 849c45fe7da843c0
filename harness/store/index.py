"""What `harness runs` read of run folders the last time, so that it reads ten thousand of them in a moment.

An aid and never the truth: an entry is known by the identity of a run's two files (device, number, times, size), so one
that was changed, replaced or copied is not found and is read again, and an index that came with someone else's folder
holds nothing: no file there has the time at which it was written here. It lies in an `ArrayStore`, which several
processes may use at once and which begins anew where it is damaged. Below a hundred runs there is none.

An entry is a line of JSON, the head of a run, and then its scores and the fields of its manifest, which are parsed when
someone asks for them; the head says where each ends.
"""

from __future__ import annotations

import os
import stat
from collections.abc import ItemsView, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import accumulate
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
HEAD = ("name", "dataset", "system", "experiment", "examples", "failed", "mlflow")
RULES = files.digest(repr([shape.SCORES, shape.MANIFEST, shape.CONFIG, shape.SCHEMA, 2]))
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
    parts = [orjson.dumps(value) + b"," for value in (*run.values.values(), *run.manifest.values())]
    head = {name: getattr(run, name) for name in HEAD} | {name: run.manifest[name] for name in ("started", "ended")}
    head |= {"scores": list(run.values), "manifest": list(run.manifest), "ends": list(accumulate(map(len, parts)))}
    return b"".join([orjson.dumps(head), b"\n", *parts])


def record(folder: str, content: bytes) -> RunRecord:
    """The run of an entry."""
    start = content.index(b"\n")
    head = orjson.loads(content[:start])
    scores, fields, ends = head.pop("scores"), head.pop("manifest"), [0, *head.pop("ends")]
    started, ended = (shape.time_of(head.pop(name)) for name in ("started", "ended"))
    values = Parsed(scores, content, start + 1, ends[: len(scores) + 1])
    manifest = Parsed(fields, content, start + 1, ends[len(scores) :])
    return RunRecord(Path(folder), **head, started=started, ended=ended, values=values, manifest=manifest)


class Parsed(Mapping[str, Any]):
    """A mapping whose values are parsed when they are asked for.

    >>> Parsed(["a", "b"], b"[1, 2],null,", 0, [0, 7, 12]) == {"a": [1, 2], "b": None}
    True
    """

    def __init__(self, names: Sequence[str], content: bytes, start: int, ends: Sequence[int]) -> None:
        """`ends`: where the first value begins after `start`, and where each ends, its comma included."""
        self._names, self._content, self._start, self._ends = names, content, start, ends
        self._values: dict[str, Any] = {}

    @cached_property
    def _places(self) -> dict[str, int]:
        return {name: place for place, name in enumerate(self._names)}

    def __getitem__(self, name: str) -> Any:
        if name not in self._values:
            place = self._places[name]
            self._values[name] = orjson.loads(self._part(place, place + 1))
        return self._values[name]

    def _part(self, first: int, last: int) -> bytes:
        return self._content[self._start + self._ends[first] : self._start + self._ends[last] - 1]

    def items(self) -> ItemsView[str, Any]:
        """All of them, parsed in one go."""
        if len(self._values) < len(self._names):
            whole = orjson.loads(b"[%b]" % self._part(0, len(self._names)))
            self._values = dict(zip(self._names, whole, strict=True))
        return self._values.items()

    def __contains__(self, name: object) -> bool:
        return name in self._places

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)
