"""Blocks that are needed more than once: in memory while they are few, beyond that in a temporary file.

What is kept is what comes back: texts, and metadata of any kind that JSON has. A block with other values (dates,
a user's own objects) stays in memory.

>>> from harness.types import Output
>>> kept = Kept.of(Outputs.of([Output("a"), Output(None, "no answer")]), Outputs.of([Output("b", None, {"n": 1})]))
>>> len(kept), kept.block_count, kept[2], list(kept.taken(np.array([1, 0])))[0].error
(3, 2, Output(text='b', error=None, info={'n': 1}), 'no answer')
"""

from __future__ import annotations

import os
import tempfile
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from threading import Lock
from typing import IO, TYPE_CHECKING, Any, ClassVar, Generic, TypeVar, overload

import numpy as np
import orjson

from harness.inputs import arrow
from harness.types import ABSENT, Contexts, Examples, Outputs, TextLists, Texts
from harness.types.texts import Places

if TYPE_CHECKING:
    import pyarrow as pa

Block = TypeVar("Block", Examples, Outputs)
EXACT = orjson.OPT_PASSTHROUGH_SUBCLASS | orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME
VALUE = 64
"""Bytes that a Python value is taken to need."""


class Kept(Sequence[Any], Generic[Block]):
    """Blocks one after the other, which are also a sequence of their rows."""

    in_memory: ClassVar[int] = 2**28
    """Bytes of the first blocks, which are not written: 256 MiB."""

    def __init__(self, folder: Path | None = None) -> None:
        """`folder`: of the temporary file; None: where the system has such files."""
        self._folder = folder
        self._blocks: list[Block | tuple[int, int]] = []
        """A block, or where in the file it is: (from, bytes)."""
        self._starts = [0]
        self._size = 0
        self._file: IO[bytes] | None = None
        self._lock = Lock()
        self._last: tuple[int, Block] | None = None
        """The block that was read last, by its place: rows are often asked for in their order."""

    @classmethod
    def of(cls, *blocks: Block, folder: Path | None = None) -> Kept[Block]:
        kept = cls(folder)
        for block in blocks:
            kept.append(block)
        return kept

    def append(self, block: Block) -> None:
        size = _size(block)
        content = None if self._size + size <= self.in_memory else packed(block)
        if content is None:
            self._blocks.append(block)
            self._size += size
        else:
            self._blocks.append(self._written(content))
        self._starts.append(self._starts[-1] + len(block))

    def _written(self, content: memoryview) -> tuple[int, int]:
        with self._lock:
            if self._file is None:  # it has no name, or loses it when it is closed: nothing is left behind
                self._file = tempfile.TemporaryFile(dir=self._folder, buffering=0)  # noqa: SIM115
            start = self._file.seek(0, os.SEEK_END)
            self._file.write(content)
        return start, len(content)

    def block(self, i: int) -> Block:
        """The block at a place."""
        stored = self._blocks[i]
        if not isinstance(stored, tuple):
            return stored
        last = self._last
        if last is not None and last[0] == i:
            return last[1]
        start, size = stored
        assert self._file is not None
        with self._lock:
            self._file.seek(start)
            content = self._file.read(size)
        block: Block = unpacked(content)
        self._last = i, block
        return block

    @property
    def block_count(self) -> int:
        """How many blocks there are."""
        return len(self._blocks)

    @property
    def written(self) -> int:
        """Bytes in the temporary file."""
        return sum(stored[1] for stored in self._blocks if isinstance(stored, tuple))

    def blocks(self) -> Iterator[Block]:
        """All blocks in their order."""
        return map(self.block, range(self.block_count))

    def __len__(self) -> int:
        return self._starts[-1]

    def __iter__(self) -> Iterator[Any]:
        for block in self.blocks():
            yield from block

    @overload
    def __getitem__(self, which: int) -> Any: ...
    @overload
    def __getitem__(self, which: slice) -> Block: ...
    def __getitem__(self, which: int | slice) -> Any:
        """A row, or as columns the rows of a slice."""
        if isinstance(which, slice):
            start, stop, step = which.indices(len(self))
            if step != 1:
                return self.taken(np.arange(start, stop, step))
            return self._between(start, max(start, stop))
        row = int(which) + (len(self) if which < 0 else 0)
        if not 0 <= row < len(self):
            raise IndexError(f"row {which} of {len(self)}")
        i = bisect_right(self._starts, row) - 1
        return self.block(i)[row - self._starts[i]]

    def _between(self, start: int, stop: int) -> Block:
        parts = []
        i = bisect_right(self._starts, start) - 1
        while start < stop:
            begin, end = self._starts[i], min(self._starts[i + 1], stop)
            block = self.block(i)
            parts.append(block if end - start == len(block) else block[start - begin : end - begin])
            start, i = end, i + 1
        if not parts:
            return self.block(0)[:0]
        return type(parts[0]).joined(parts)

    def taken(self, rows: Places) -> Block:
        """The rows at these places, in this order, as columns."""
        if not len(rows):
            return self.block(0)[:0]
        rows = np.asarray(rows, np.int64)
        if (np.diff(rows) == 1).all():
            return self._between(int(rows[0]), int(rows[-1]) + 1)
        starts = np.asarray(self._starts)
        order = np.argsort(rows, kind="stable")
        ordered = rows[order]
        of_block = np.searchsorted(starts, ordered, "right") - 1
        parts = []
        for i in np.unique(of_block).tolist():
            parts.append(self.block(i).taken(ordered[of_block == i] - starts[i]))
        joined = type(parts[0]).joined(parts)
        back = np.empty(len(rows), np.int64)
        back[order] = np.arange(len(rows))
        return joined.taken(back)

    def close(self) -> None:
        """Forgets everything."""
        self._blocks, self._starts, self._size, self._last = [], [0], 0, None
        if self._file is not None:
            self._file.close()
            self._file = None

    def __del__(self) -> None:
        if getattr(self, "_file", None) is not None:
            self.close()


def _size(block: Examples | Outputs) -> int:
    if isinstance(block, Outputs):
        texts, lists = [block.texts, block.errors], [block.infos or ()]
        passages = [] if block.contexts is None else [block.contexts]
    else:
        texts = [block.ids, block.sources, block.references.flat]
        lists = [column for column in block.metadata.values() if not isinstance(column, Texts)]
        texts += [column for column in block.metadata.values() if isinstance(column, Texts)]
        passages = list(block.passages.values())
    sizes = [int(column.array.nbytes) for column in texts] + [column.nbytes for column in passages]
    return sum(sizes) + VALUE * sum(map(len, lists))


# ---------------------------------------------------------------- bytes


def packed(block: Examples | Outputs) -> memoryview | None:
    """A block as a batch in Arrow's stream format; None where a value of it cannot be stored exactly."""
    import pyarrow as pa

    columns = _Columns()
    try:
        if isinstance(block, Outputs):
            columns.arrays = [block.texts.array, block.errors.array]
            columns.add("infos", block.infos)
            columns.add_passages({} if block.contexts is None else {"contexts": block.contexts})
        else:
            columns.arrays = [block.ids.array, block.sources.array, block.references.array]
            columns.add("repeats", None if block.repeats is None else block.repeats.tolist())
            columns.add_passages(block.passages)
            for name, column in block.metadata.items():
                columns.add(name, column)
        described = {"columns": columns.notes, "passages": columns.passages}
        notes = {"described": orjson.dumps(described, option=EXACT), **columns.values}
    except TypeError:
        return None
    fields = [(str(i), array.type) for i, array in enumerate(columns.arrays)]
    batch = pa.record_batch(columns.arrays, pa.schema(fields, {"kind": type(block).__name__, **notes}))
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as stream:
        stream.write_batch(batch)
    return memoryview(sink.getvalue())


def unpacked(content: bytes) -> Any:
    """The block that was packed."""
    import pyarrow as pa

    with pa.ipc.open_stream(pa.py_buffer(content)) as stream:
        batch = stream.read_next_batch()
    arrays, notes = batch.columns, stream.schema.metadata
    described = orjson.loads(notes[b"described"])
    columns = [(note["name"], _restored(note, i, arrays, notes)) for i, note in enumerate(described["columns"])]
    (_, first), *rest = columns
    passages = {name: Contexts.of_array(arrays[place]) for name, place in described["passages"].items()}
    if notes[b"kind"] == b"Outputs":
        return Outputs(Texts(arrays[0]), Texts(arrays[1]), first, **passages)
    lists = arrays[2]
    starts = np.frombuffer(lists.buffers()[1], np.int32 if pa.types.is_list(lists.type) else np.int64)
    references = TextLists(Texts(lists.values), starts[: len(lists) + 1].astype(np.int64))
    repeats = None if first is None else np.array(first, np.int32)
    return Examples(Texts(arrays[0]), Texts(arrays[1]), references, dict(rest), repeats, **passages)


class _Columns:
    """Arrow arrays, and columns that are none as JSON."""

    def __init__(self) -> None:
        self.arrays: list[pa.Array] = []
        self.notes: list[dict[str, Any]] = []
        self.values: dict[str, bytes] = {}
        self.passages: dict[str, int] = {}
        """Which of the arrays is a column of contexts, by its name."""

    def add_passages(self, columns: Mapping[str, Contexts]) -> None:
        for name, column in columns.items():
            self.passages[name] = len(self.arrays)
            self.arrays.append(column.array())

    def add(self, name: str, column: Sequence[Any] | None) -> None:
        """A TypeError where a value is none of JSON's."""
        note: dict[str, Any] = {"name": name}
        if isinstance(column, Texts):
            note |= {"array": len(self.arrays), "texts": True}
            self.arrays.append(column.array)
        elif column is not None:
            absent = [i for i, value in enumerate(column) if value is ABSENT]
            if absent:
                note["absent"] = absent
                column = [None if value is ABSENT else value for value in column]
            if set(map(type, column)) - {type(None)} == {float}:  # NaN is one, and JSON has none
                note["array"] = len(self.arrays)
                self.arrays.append(arrow.values(column))
            else:
                note["values"] = True
                self.values[str(len(self.notes))] = _exact(list(column))
        self.notes.append(note)


def _exact(values: list[Any]) -> bytes:
    content = orjson.dumps(values, option=EXACT)
    if orjson.loads(content) != values:
        raise TypeError("not what JSON has")
    return content


def _restored(note: Mapping[str, Any], i: int, arrays: Sequence[pa.Array], notes: Mapping[bytes, bytes]) -> Any:
    if "texts" in note:
        return Texts(arrays[note["array"]])
    if "array" in note:
        column: list[Any] = arrays[note["array"]].to_pylist()
    elif "values" in note:
        column = orjson.loads(notes[str(i).encode()])
    else:
        return None
    for place in note.get("absent", ()):
        column[place] = ABSENT
    return column
