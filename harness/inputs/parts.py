"""The rows of a file some at a time, as columns.

What is right is read fast: a part's rows are parsed together and become a column for each field. Where a part cannot be
parsed so (a line that is no JSON, a byte that is no UTF-8), and for whoever finds something odd in its columns, the
same rows come one by one from harness/inputs/files.py, with their places and what that says of them.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np
import orjson

from harness.inputs import files, parquet
from harness.types import ABSENT, text_columns

if TYPE_CHECKING:
    import pyarrow as pa

BYTES = 2**21
"""Of a file that are read at once, to the end of a line: 2 MiB."""
MOST = 2**24
"""Bytes of CSV that are read for one part, unless a few records have more."""
AT_ONCE = 256
"""Rows that are parsed together."""
MOST_CELLS = 2**22
"""Of a part whose rows have different fields: each could have some of its own."""
NEWLINE, BRACE = b"\n}"
T = TypeVar("T")
Column: TypeAlias = Any
"""Python values, with `ABSENT` where a row has no such field, or an Arrow array."""


@dataclass(frozen=True)
class Part:
    """Some rows that follow each other."""

    columns: Mapping[str, Column] | None
    """By field, all of the same length; None where the rows have to be read one by one."""
    rows: Callable[[], Iterable[files.Row]]
    """The same rows, with their places."""
    place: tuple[int, bytes] | None = None
    """Of lines: where in the file they begin, and their bytes."""


def read_parts(path: str | Path, expected: str, quoting: bool = True) -> Iterator[Part]:
    """The rows of a .jsonl, .json, .csv, .tsv or .parquet file."""
    readers = {".jsonl": _jsonl, ".json": _json, ".parquet": _parquet}
    return files.read_by(files.existing(path, expected), readers, _csv, quoting)


def parts_of(rows: Iterable[files.Row]) -> Iterator[Part]:
    """Of rows that come one by one. Those before a row that cannot be read come before its message."""
    for some, error in in_growing_lists(rows):
        yield Part(columns_of([row for _, row in some]), partial(iter, some))
        if error is not None:
            raise error


def in_growing_lists(items: Iterable[T]) -> Iterator[tuple[list[T], Exception | None]]:
    """(some items, what was raised after them): few at first, so that nobody waits for thousands who wants five."""
    left, size = iter(items), min(64, text_columns.BLOCK)
    while True:
        some: list[T] = []
        try:
            some.extend(islice(left, size))
        except Exception as error:
            yield some, error
            return
        if not some:
            return
        yield some, None
        size = min(2 * size, text_columns.BLOCK)


def columns_of(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]] | None:
    """A column for each field that any of the rows has; None where none has any, or they would be mostly holes.

    >>> columns_of([{"a": 1}, {"a": 2, "b": None}])
    {'a': [1, 2], 'b': [ABSENT, None]}
    """
    if len(set(map(len, rows))) == 1:
        try:
            return {field: [row[field] for row in rows] for field in rows[0]} or None
        except KeyError:
            pass
    fields = dict.fromkeys(chain.from_iterable(rows))
    if not fields or len(fields) * len(rows) > MOST_CELLS:
        return None
    return {field: [row.get(field, ABSENT) for row in rows] for field in fields}


# ---------------------------------------------------------------- JSON


def _jsonl(path: Path) -> Iterator[Part]:
    number, offset = 1, files.mark_size(path)
    for piece in pieces(path):
        yield Part(_parsed(piece), partial(_json_lines, path, piece, number), (offset, piece))
        number, offset = number + newlines(piece), offset + len(piece)


def json_part(path: Path, piece: bytes) -> Part:
    """Of lines that were read from somewhere in the file."""
    return Part(_parsed(piece), partial(_json_lines, path, piece, 1))


def newlines(piece: bytes) -> int:
    """How many there are; `bytes.count` takes seven times as long."""
    return int(np.count_nonzero(np.frombuffer(piece, np.uint8) == NEWLINE))


def _json_lines(path: Path, piece: bytes, first: int) -> Iterator[files.Row]:
    return files.json_rows(path, enumerate(io.BytesIO(piece), start=first))


def _parsed(piece: bytes) -> Mapping[str, Column] | None:
    return _parsed_by_arrow(piece) or _parsed_by_line(piece)


def _parsed_by_arrow(piece: bytes) -> dict[str, Column] | None:
    """Columns without a Python object a row; None where the rows are not objects with the fields of the first one, a
    line each, of texts, lists of texts, whole numbers and truth values."""
    import pyarrow as pa
    from pyarrow import json

    schema = _schema(piece[: piece.find(b"\n")] if b"\n" in piece else piece)
    if schema is None:
        return None
    if b"\r" in piece:
        piece = piece.replace(b"\r\n", b"\n")
    if not piece.endswith(b"\n"):
        piece += b"\n"
    reading = json.ReadOptions(use_threads=False, block_size=len(piece) + 1)
    parsing = json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="error")
    try:
        table = json.read_json(pa.BufferReader(piece), reading, parsing)
    except (pa.ArrowException, ValueError):
        return None
    # Arrow looks for objects, not for lines. No value is an object, so that one ends wherever a line ends in a brace:
    # as many lines as objects, all of which end so, are an object each.
    content = np.frombuffer(piece, np.uint8)
    ends = np.flatnonzero(content == NEWLINE)
    if len(ends) != table.num_rows or not (content[ends - 1] == BRACE).all():
        return None
    arrays = [column.chunk(0) for column in table.columns if column.num_chunks == 1 and not column.null_count]
    return dict(zip(schema.names, arrays, strict=True)) if len(arrays) == len(schema) else None


def _schema(line: bytes) -> pa.Schema | None:
    """What Arrow is to expect of rows like this one."""
    import pyarrow as pa

    try:
        row = orjson.loads(line)
    except ValueError:
        return None
    if type(row) is not dict or not row:
        return None
    kinds = {str: pa.string(), int: pa.int64(), bool: pa.bool_(), list: pa.list_(pa.string())}
    if not all(type(value) in kinds for value in row.values()) or "" in row:
        return None
    return pa.schema([(name, kinds[type(value)]) for name, value in row.items()])


def _parsed_by_line(piece: bytes) -> dict[str, list[Any]] | None:
    lines = io.BytesIO(piece).readlines()
    try:
        return _parsed_alike(lines)
    except (ValueError, KeyError):
        pass
    try:
        rows = [orjson.loads(line) for line in lines if not line.isspace()]
    except ValueError:
        return None
    return columns_of(rows) if set(map(type, rows)) <= {dict} else None


def _parsed_alike(lines: list[bytes]) -> dict[str, list[Any]]:
    """The columns of rows that have the same fields; a KeyError where they do not. A few rows at a time: dictionaries
    that are made and forgotten together cost half as much."""
    columns: dict[str, list[Any]] = {}
    for start in range(0, len(lines), AT_ONCE):
        rows = list(map(orjson.loads, lines[start : start + AT_ONCE]))
        if set(map(type, rows)) != {dict}:
            raise ValueError("not an object")
        columns = columns or {field: [] for field in rows[0]}
        if not columns or set(map(len, rows)) != {len(columns)}:
            raise KeyError("another number of fields")
        for field, column in columns.items():
            column += [row[field] for row in rows]
    return columns


def _json(path: Path) -> Iterator[Part]:
    items = files.read_items(path)
    for start in range(0, len(items), text_columns.BLOCK):
        some = items[start : start + text_columns.BLOCK]
        columns = columns_of(some) if set(map(type, some)) == {dict} else None
        yield Part(columns, partial(files.item_rows, path, some, start))


# ---------------------------------------------------------------- bytes


def pieces(path: Path) -> Iterator[bytes]:
    """The bytes of a UTF-8 file without its byte order mark, some whole lines at a time."""
    with open(path, "rb", buffering=0) as raw, io.BufferedReader(raw, files.BLOCK) as handle:
        piece = files.without_mark(path, handle.readline())
        while piece or handle.peek(1):
            piece += handle.read(BYTES)
            if not piece.endswith(b"\n"):
                piece += handle.readline()
            yield piece
            piece = b""


# ---------------------------------------------------------------- CSV


def _csv(path: Path, delimiter: str, quoting: bool) -> Iterator[Part]:
    texts = _Texts(path)
    reader = files.csv_reader(texts.lines(), delimiter, quoting)
    done = 0
    try:
        header = files.csv_header(path, reader, delimiter)
        start = reader.line_num + 1
        while records := _records(reader, texts):
            columns = _transposed(header, records)
            yield Part(columns, partial(_csv_rows, path, start, header, records))
            done, start = done + sum(map(bool, records)), reader.line_num + 1
    except (csv.Error, ValueError):  # somewhere in what was read last, after some good rows maybe
        yield Part(None, lambda: islice(files.read_rows(path, "", quoting), done, None))


def _records(reader: Any, texts: _Texts) -> list[list[str]]:
    records: list[list[str]] = []
    before = texts.size
    while len(records) < text_columns.BLOCK and texts.size - before < MOST:
        some = list(islice(reader, min(AT_ONCE, text_columns.BLOCK - len(records))))
        if not some:
            break
        records += some
    return records


def _transposed(header: list[str], records: list[list[str]]) -> dict[str, Column] | None:
    """The columns of records of the same length, apart from empty ones, which are no rows."""
    columns: list[list[str]] = [[] for _ in header]
    for start in range(0, len(records), AT_ONCE):
        some = list(filter(None, records[start : start + AT_ONCE]))
        if some and set(map(len, some)) != {len(header)}:
            return None
        for column, cells in zip(columns, zip(*some, strict=True), strict=bool(some)):
            column += cells
    return dict(zip(header, columns, strict=True))


def _csv_rows(path: Path, start: int, header: list[str], records: Iterable[list[str]]) -> Iterator[files.Row]:
    for fields in records:
        if fields:
            yield files.csv_row(path, start, header, fields)
        start += 1 + sum(field.count("\n") for field in fields)


class _Texts:
    """The text of a file in pieces of whole lines. A fault in a piece is a ValueError."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.size = 0
        """Bytes that were read."""

    def lines(self) -> Iterator[str]:
        """Lines with their ends, all of which are newlines."""
        return chain.from_iterable(io.StringIO(text, newline="\n") for text in self._pieces())

    def _pieces(self) -> Iterator[str]:
        for piece in pieces(self._path):
            self.size += len(piece)
            if b"\0" in piece:
                raise ValueError("a NUL character")
            if b"\r" in piece:
                piece = piece.replace(b"\r\n", b"\n")
            yield (piece if piece.endswith(b"\n") else piece.removesuffix(b"\r") + b"\n").decode()


# ---------------------------------------------------------------- Parquet


def _parquet(path: Path) -> Iterator[Part]:
    for before, batch in parquet.batches_of(path):
        columns = dict(zip(batch.schema.names, batch.columns, strict=True))
        yield Part(columns, partial(files.parquet_rows, path, batch, before))


def in_one(column: pa.ChunkedArray) -> pa.Array:
    """A column of a table, in one piece."""
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
