"""Where the rows of blocks are in a file, so that a replica reads them without what is before.

JSON lines are known by the byte at which each block begins, noted as the file is read; rows in another order by the
bytes of each. Parquet is known by its row groups, as long as they are small. What comes back is a `Span`, which can be
sent anywhere and is read where the file is: as it was then, or not at all.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.inputs import files, parquet
from harness.inputs.parts import Part, json_part
from harness.inputs.remote import is_compressed, is_remote, opened, read_range, size_of
from harness.types import HarnessError, text_columns
from harness.types.texts import Places

LARGEST = 16
"""Blocks in a row group, all of which is read for each of them."""


@dataclass(frozen=True)
class Span:
    """Some rows of a file."""

    path: str
    state: tuple[int, int]
    """Bytes of the file, and when it was last changed."""
    start: int
    stop: int
    """Bytes from and to; of Parquet, row groups."""
    skip: int
    rows: int
    """How many of the rows in there, after how many others."""
    lines: NDArray[np.int64] | None = None
    """(rows, 2) the bytes of each, where they are in another order."""

    def parts(self) -> Iterator[Part]:
        """The rows between start and stop, or the lines."""
        if self.path.endswith(".parquet"):
            for before, batch in self._batches():
                columns = dict(zip(batch.schema.names, batch.columns, strict=True))
                yield Part(columns, partial(files.parquet_rows, Path(self.path), batch, before))
            return
        if is_remote(self.path):
            yield json_part(Path(self.path), read_range(self.path, self.start, self.stop))
            return
        with open(self.path, "rb", buffering=0) as file:
            if self.lines is None:
                content = os.pread(file.fileno(), self.stop - self.start, self.start)
            else:
                pieces = (os.pread(file.fileno(), stop - start, start) for start, stop in self.lines.tolist())
                content = b"".join(piece if piece.endswith(b"\n") else piece + b"\n" for piece in pieces)
        yield json_part(Path(self.path), content)

    def _batches(self) -> Iterator[tuple[int, Any]]:
        groups = range(self.start, self.stop)
        if not is_remote(self.path):
            yield from parquet.batches_of(Path(self.path), groups)
            return
        import pyarrow.parquet as pq

        with opened(self.path) as source, pq.ParquetFile(source) as file:
            yield from ((0, batch) for batch in file.iter_batches(parquet.ROWS, list(groups)))

    @property
    def there(self) -> bool:
        """Whether the file is here, and is what it was."""
        try:
            return state_of(self.path) == self.state
        except (OSError, HarnessError):
            return False


class RowIndex:
    """Of a file, filled as it is read."""

    def __init__(self, path: Path, given: str | None = None) -> None:
        """`given`: how the user named it, where the path is that of a copy."""
        self._path = path.absolute()
        self._named = given if given is not None and is_remote(given) else str(self._path)
        self._state = state_of(self._named)
        self._suffix = path.suffix.lower()
        self._starts: list[int] = []
        self._end, self._rows = 0, 0
        self._given = given or self._path.name
        self._whole = self._suffix == ".jsonl" and not is_compressed(self._given)

    def add(self, part: Part, rows: int) -> None:
        """The next part, of so many rows."""
        if part.place is None or not self._whole:
            return
        starts = _line_starts(*part.place)
        self._whole = len(starts) - 1 == rows  # else a line is no row: a blank one
        size = text_columns.BLOCK
        self._starts += starts[-self._rows % size : -1 : size].tolist()
        self._rows, self._end = self._rows + rows, int(starts[-1])

    def span(self, first: int, rows: int) -> Span | str:
        """Of rows from the beginning of a block; or why they cannot be read by themselves."""
        if is_compressed(self._given):
            return f"{self._given} is compressed, and is read by the driver alone"
        if self._suffix == ".parquet":
            return self._groups(first, rows)
        block, odd = divmod(first, text_columns.BLOCK)
        if not self._whole or odd or block >= len(self._starts) or first + rows > self._rows:
            kind = "has lines that are no rows" if self._suffix == ".jsonl" else "is neither JSON lines nor Parquet"
            return f"{self._path.name} {kind}"
        stop = self._starts[block + 1] if block + 1 < len(self._starts) else self._end
        return Span(self._named, self._state, self._starts[block], stop, 0, rows)

    def lines(self, places: Places) -> Span | str:
        """Of rows in any order."""
        if is_compressed(self._given):
            return f"{self._given} is compressed, and is read by the driver alone"
        if not self._whole:
            return f"{self._path.name} is not JSON lines, nor in the data set's order"
        if is_remote(self._named):
            return f"{self._path.name} is not in the data set's order, and a request for each row takes too long"
        starts = self._all_starts()
        both = np.stack([starts[places], starts[places + 1]], axis=1)
        return Span(self._named, self._state, 0, 0, 0, len(places), both)

    def _all_starts(self) -> Places:
        """(rows + 1) of each line: 8 bytes a row, found again when they are first needed."""
        if not hasattr(self, "_all"):
            parts: list[Any] = []
            with open(self._path, "rb") as file:
                offset = self._starts[0]
                file.seek(offset)
                while piece := file.read(files.BLOCK):
                    parts.append(offset + 1 + np.flatnonzero(np.frombuffer(piece, np.uint8) == 10))
                    offset += len(piece)
            starts = np.concatenate([[self._starts[0]], *parts])
            self._all = starts if starts[-1] == offset else np.append(starts, offset)
        return self._all

    def _groups(self, first: int, rows: int) -> Span | str:
        sizes = _row_groups(self._path)
        ends = np.cumsum(sizes)
        start = int(np.searchsorted(ends, first, "right"))
        stop = int(np.searchsorted(ends, first + rows, "left")) + 1
        if max(sizes[start:stop], default=0) > LARGEST * text_columns.BLOCK:
            return f"{self._path.name} has row groups of more than {LARGEST * text_columns.BLOCK:,} rows"
        before = int(ends[start - 1]) if start else 0
        return Span(self._named, self._state, start, stop, first - before, rows)


def state_of(path: str) -> tuple[int, int]:
    if is_remote(path):
        return size_of(path), 0
    about = os.stat(path)
    return about.st_size, about.st_mtime_ns


def _line_starts(offset: int, piece: bytes) -> Places:
    """(lines + 1) the byte of the file at which each line begins, and the last one ends."""
    ends = np.flatnonzero(np.frombuffer(piece, np.uint8) == 10) + 1
    if not len(ends) or ends[-1] != len(piece):
        ends = np.append(ends, len(piece))
    return offset + np.concatenate([[0], ends])


def _row_groups(path: Path) -> Sequence[int]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            return [file.metadata.row_group(group).num_rows for group in range(file.metadata.num_row_groups)]
    except (pa.ArrowException, OSError) as error:
        raise HarnessError(f"{path} cannot be read ({error}); expected it as it was") from None
