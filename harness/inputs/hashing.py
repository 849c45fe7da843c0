"""Keys of columns: what decides a result is hashed from the columns' own bytes, not row by row as JSON.

A value is hashed (SipHash, 128 bits) under a key made of its column's name and its kind, so that no two columns are
mixed up; a row is the hash of the sum of its values' hashes. So a row has the same hash whatever file it came from,
whatever other rows are in its block and in whatever order its fields stand.

>>> rows = hashed_rows(hashed(Texts.of(["a", None, "a"]), "id"), hashed_values([1, 1, ABSENT], "year"))
>>> rows[0].tolist() == rows[1].tolist(), rows.shape
(False, (3, 2))
>>> one, other = Content(), Content()
>>> one.add(rows[:1]), one.add(rows[1:]), other.add(rows[::-1])
(None, None, None)
>>> one.key == other.key, one.ordered == other.ordered
(True, False)
>>> parts = Content(), Content()
>>> [part.add(some) for part, some in zip(parts, (rows[:2], rows[2:]))]
[None, None]
>>> Content.summed(part.document for part in parts).key == one.key
True
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.inputs import files
from harness.inputs.hash_kernels import siphash
from harness.types import ABSENT, PASSAGES, Contexts, Examples, TextLists, Texts

Hashes = NDArray[np.uint64]
"""(n, 2): 128 bits for each row, zeros where there is no value."""
TEXT, OTHER, NUMBER, LIST, ITEM, ROW = "text", "json", "number", "list", "item", "row"
"""Kinds of what is hashed: a number and a text that looks like it differ."""
WRITTEN: dict[type, Callable[[Any], str]] = {int: str, float: lambda x: repr(x) if isfinite(x) else files.canonical(x)}
"""Values that are written as JSON writes them, without asking it."""


def hashed(texts: Texts, name: str, kind: str = TEXT) -> Hashes:
    """Of a column of texts."""
    if len(texts) and texts.array.null_count == len(texts):
        return np.zeros((len(texts), 2), np.uint64)
    data, offsets = texts.utf8
    hashes = _siphash(data, offsets, kind, name)
    if texts.array.null_count:
        hashes[~texts.present] = 0
    return hashes


def hashed_lists(lists: TextLists, name: str) -> Hashes:
    """Of a column of lists of texts: each list is hashed as the hashes of its items."""
    items = hashed(lists.flat, name, ITEM)
    return _siphash(items.reshape(-1).view(np.uint8), (lists.starts - lists.starts[0]) * 16, LIST, name)


def hashed_values(column: Sequence[Any], name: str) -> Hashes:
    """Of a column of any values, as JSON; ABSENT is no value, None is null."""
    if isinstance(column, Texts):
        texts = hashed(column, name)
        return texts if not column.array.null_count else texts + _nulls(column, name)
    kinds = set(map(type, column))
    if kinds == {str}:
        return hashed(Texts.of(column), name)
    if len(kinds) == 1 and (write := WRITTEN.get(next(iter(kinds)))) is not None:
        return hashed(Texts.of([write(value) for value in column]), name, OTHER)
    texts = hashed(Texts.of([value if type(value) is str else None for value in column]), name)
    written = [None if value is ABSENT or type(value) is str else files.canonical(value) for value in column]
    return texts + hashed(Texts.of(written), name, OTHER)


def hashed_contexts(contexts: Contexts | None, name: str) -> Hashes | None:
    """Of a column of lists of contexts, zeros where there is no list; None where there is no column."""
    if contexts is None:
        return None
    numbers = np.ascontiguousarray(contexts.scores + 0.0)  # no number is -0.0
    scores = _siphash(numbers.view(np.uint8), np.arange(len(numbers) + 1) * 8, NUMBER, f"{name}.score")
    scores[np.isnan(numbers)] = 0
    items = hashed_rows(hashed(contexts.ids, f"{name}.id"), hashed(contexts.texts, f"{name}.text"), scores)
    lists = _siphash(items.reshape(-1).view(np.uint8), contexts.starts * 16, LIST, name)
    return lists * contexts.given[:, None]


def hashed_rows(*columns: Hashes) -> Hashes:
    """Of rows that have these columns."""
    total = columns[0].copy() if len(columns) > 1 else np.ascontiguousarray(columns[0])
    for column in columns[1:]:
        total += column
    return _siphash(total.reshape(-1).view(np.uint8), np.arange(len(total) + 1) * 16, ROW, "")


def hashed_examples(examples: Examples) -> Hashes:
    """Of whole examples: id, source, references, contexts that come with them, and every other field."""
    fields = [hashed_values(column, f"metadata.{name}") for name, column in examples.metadata.items()]
    fields += [hashes for name in PASSAGES if (hashes := hashed_contexts(getattr(examples, name), name)) is not None]
    return hashed_rows(
        hashed(examples.ids, "id"), hashed(examples.sources, "source"), hashed_lists(examples.references, "references"),
        *fields,
    )  # fmt: skip


class Content:
    """The key of many rows, added block by block."""

    def __init__(self) -> None:
        self.rows = 0
        self._sum = np.zeros(2, np.uint64)
        self._sequence = hashlib.sha256()

    def add(self, rows: Hashes) -> None:
        """The next rows, as `hashed_rows` gives them."""
        self.rows += len(rows)
        self._sum += rows.sum(0, dtype=np.uint64)
        self._sequence.update(rows.tobytes())

    @classmethod
    def summed(cls, documents: Iterable[Mapping[str, Any]]) -> Content:
        """Of parts, as their documents have them; it has a `key`, but says nothing of the order."""
        content = cls()
        for part in documents:
            content.rows += part["rows"]
            content._sum += np.array([int(part["sum"][:16], 16), int(part["sum"][16:], 16)], np.uint64)
        return content

    @property
    def document(self) -> dict[str, Any]:
        """What of it can be added to that of other rows."""
        return {"rows": self.rows, "sum": "".join(f"{int(half):016x}" for half in self._sum)}

    @property
    def key(self) -> str:
        """The same for the same rows in any order."""
        return files.digest([self.rows, *map(int, self._sum)])

    @property
    def ordered(self) -> str:
        """The same for the same rows in the same order."""
        return files.digest([self.rows, self._sequence.hexdigest()])


def _nulls(column: Texts, name: str) -> Hashes:
    """Of the nulls in a column of texts, zeros elsewhere."""
    hashes = np.zeros((len(column), 2), np.uint64)
    hashes[~column.present] = hashed(Texts.of([files.canonical(None)]), name, OTHER)[0]
    return hashes


def _siphash(data: NDArray[np.uint8], offsets: NDArray[np.int64], kind: str, name: str) -> Hashes:
    hashes = np.zeros((len(offsets) - 1, 2), np.uint64)
    siphash(data, offsets, *_key(kind, name), hashes)
    return hashes


@cache
def _key(kind: str, name: str) -> tuple[np.uint64, np.uint64]:
    digest = hashlib.sha256(f"{kind}:{name}".encode()).digest()
    return np.uint64(int.from_bytes(digest[:8], "little")), np.uint64(int.from_bytes(digest[8:16], "little"))
