"""Data that runs of one process share: the same data set, while nobody writes its files, is read once.

A data set is known by its config and by the stamps of all files that it names. One of the user's own is always read
again: nobody else knows what it reads.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from harness.inputs import shelf
from harness.inputs.files import digest
from harness.types import Dataset

Read = TypeVar("Read")
OWN = "harness.datasets."
MOST = 1000
"""Files of a folder whose stamps are looked at; one with more is read again."""
_reads: WeakKeyDictionary[Dataset, dict[Hashable, Any]] = WeakKeyDictionary()


def stamped(spec: Any) -> str | None:
    """The key of a data set before it is read; None where there is none."""
    if not isinstance(spec, Mapping) or not str(spec.get("_target_", "")).startswith(OWN):
        return None
    try:
        stamps = [stamp for text in _texts(spec) for stamp in _stamps(text)]
    except (OSError, OverflowError, ValueError):
        return None
    return digest([spec, stamps])


def once(dataset: Dataset, how: Hashable, read: Callable[[], Read]) -> Read:
    """What is read of a data set, in the same way only once; `how`: what of it. Kept with the data set only."""
    if not shelf.kept.most or not type(dataset).__module__.startswith(OWN):
        return read()
    known = _reads.setdefault(dataset, {})
    if how not in known:
        known[how] = read()
    result: Read = known[how]
    return result


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item)


def _stamps(text: str) -> Iterator[list[Any]]:
    """Of the file, or of all files of the folder, that a text names."""
    if len(text) > 4096 or "\n" in text:
        return
    path = Path(text)
    with suppress(RuntimeError):  # ~ of nobody
        path = path.expanduser()
    if not path.exists():
        return
    files = sorted(islice(path.rglob("*"), MOST + 1)) if path.is_dir() else [path]
    if len(files) > MOST:
        raise ValueError(f"{path} has more than {MOST} files")
    for file in files:
        known = file.stat()
        yield [str(file), known.st_mtime_ns, known.st_size, known.st_ino]
