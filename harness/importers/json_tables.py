"""The lines of a log as Arrow tables, some at a time, without a Python object a line.

Where a piece is odd (a line that is no JSON, a key given twice, half a surrogate pair, a NUL) there is no table, and
its rows come one by one, as they do for a reader that finds something in a table that it does not expect.
"""

from __future__ import annotations

import io
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import json

from harness.inputs import files
from harness.inputs.arrow import floats
from harness.inputs.arrow import starts as starts_in
from harness.inputs.cores import cores
from harness.inputs.parts import NEWLINE, pieces
from harness.types import TextLists, Texts
from harness.types.texts import whole_numbers

BRACES = b"{}"


class Odd(Exception):
    """A piece is not as its log's tool usually writes it: its rows are to be read one by one."""


@dataclass(frozen=True)
class Piece:
    """Some lines that follow each other."""

    table: pa.Table | None
    rows: Callable[[], Iterable[files.Row]]
    """The same lines, with their places."""


def read_pieces(path: Path) -> Iterator[Piece]:
    """The lines of a file, parsed on all cores."""
    first = 1
    ahead: deque[tuple[Future[pa.Table | None], bytes, int]] = deque()
    with ThreadPoolExecutor(cores()) as threads:
        for content in pieces(path):
            ahead.append((threads.submit(parsed, content), content, first))
            first += content.count(b"\n")
            if len(ahead) > cores():
                yield _piece(path, *ahead.popleft())
        while ahead:
            yield _piece(path, *ahead.popleft())


def _piece(path: Path, table: Future[pa.Table | None], content: bytes, first: int) -> Piece:
    return Piece(table.result(), lambda: files.json_rows(path, zip(count(first), io.BytesIO(content))))


def parsed(content: bytes) -> pa.Table | None:
    """A row for each line; None where they are not an object each, or Arrow reads one otherwise than JSON says.

    >>> parsed(b'{"a": "2026-01-01"}\\n').to_pylist(), parsed(b'{"a": 1, "a": 2}\\n')
    ([{'a': '2026-01-01'}], None)
    """
    if b"\r" in content:
        content = content.replace(b"\r\n", b"\n")
    if not content.endswith(b"\n"):
        content += b"\n"
    if b"\\u0000" in content or not _is_utf8(content) or not (lines := _objects(content)):
        return None
    read = partial(json.read_json, read_options=json.ReadOptions(use_threads=False, block_size=len(content) + 1))
    try:
        table = read(pa.BufferReader(content))
        schema = pa.schema([field.with_type(_no_times(field.type)) for field in table.schema])
        if schema != table.schema:
            table = read(pa.BufferReader(content), parse_options=json.ParseOptions(explicit_schema=schema))
    except (pa.ArrowException, ValueError):
        return None
    return table.combine_chunks() if table.num_rows == lines else None


def _is_utf8(content: bytes) -> bool:
    try:
        return content.isascii() or bool(content.decode())
    except UnicodeDecodeError:
        return False


def _objects(content: bytes) -> int:
    """How many lines there are, all of which begin and end with a brace; 0 where one does not. Where a line that ends
    so is followed by one that begins so, an object has ended: inside of one a comma is between them. So as many lines
    as objects, all of which are such, are an object each."""
    characters = np.frombuffer(content, np.uint8)
    ends = np.flatnonzero(characters == NEWLINE)
    starts = np.append(0, ends[:-1] + 1)
    whole = (characters[starts] == BRACES[0]).all() and (characters[ends - 1] == BRACES[1]).all()
    return len(ends) if whole else 0


def _no_times(kind: pa.DataType) -> pa.DataType:
    """What Arrow takes for a time is a text in JSON."""
    if pa.types.is_timestamp(kind):
        return pa.string()
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_no_times(field.type)) for field in kind])
    return pa.list_(_no_times(kind.value_type)) if pa.types.is_list(kind) else kind


# ---------------------------------------------------------------- columns


def column(table: pa.Table, name: str) -> pa.Array:
    """A column in one piece; nulls where there is none."""
    return table[name].chunk(0) if name in table.column_names else pa.nulls(len(table))


def child(struct: pa.Array, name: str) -> pa.Array:
    """A field of a column of objects, null where there is no object."""
    place = struct.type.get_field_index(name)
    parent = struct if place < 0 or struct.null_count else struct.field(place)
    return parent if parent is not struct else pa.nulls(len(struct)) if place < 0 else struct.flatten()[place]


def texts(array: pa.Array, nullable: bool = False) -> list[Any]:
    """The strings of a column of texts."""
    if pa.types.is_null(array.type) and nullable:
        return [None] * len(array)
    if not pa.types.is_string(array.type) or (array.null_count and not nullable):
        raise Odd
    return Texts(array).strings()


def firsts(lists: pa.Array) -> list[str]:
    """The first text of each list, none of which is empty."""
    if not pa.types.is_list(lists.type) or lists.null_count:
        raise Odd
    starts = starts_in(lists)
    if (np.diff(starts) < 1).any():
        raise Odd
    return texts(lists.values.take(whole_numbers(starts[:-1])))


def text_lists(lists: pa.Array) -> list[tuple[str, ...]]:
    """The lists of a column of lists of texts."""
    if not pa.types.is_list(lists.type) or lists.null_count or lists.values.null_count:
        raise Odd
    if not pa.types.is_string(lists.values.type):  # empty lists only, say
        raise Odd
    return list(TextLists(Texts(lists.values), starts_in(lists)))


def scalars(array: pa.Array) -> list[Any]:
    """The values of a column of texts, truth values or numbers; None where there is none. Arrow makes whole numbers
    between others fractions: then it is not known which they were."""
    if pa.types.is_string(array.type) or pa.types.is_null(array.type):
        return texts(array, nullable=True)
    if pa.types.is_floating(array.type):
        values = floats(pa.chunked_array([array]))
        if (values == np.floor(values)).any():
            raise Odd
    elif not pa.types.is_integer(array.type) and not pa.types.is_boolean(array.type):
        raise Odd
    listed: list[Any] = array.to_pylist()
    return listed


def numbers(array: pa.Array) -> list[float | None]:
    """The scores of a column; None where there is none."""
    if pa.types.is_null(array.type):
        return [None] * len(array)
    if pa.types.is_boolean(array.type):
        array = array.cast(pa.int8()).cast(pa.int64())
    if not pa.types.is_floating(array.type) and not pa.types.is_integer(array.type):
        raise Odd
    values = floats(pa.chunked_array([array]))
    if np.isinf(values).any():
        raise Odd
    scores: list[float | None] = values.tolist()
    return scores if not np.isnan(values).any() else [None if score != score else score for score in scores]


def records(names: Sequence[str], columns: Sequence[Sequence[Any]], rows: int) -> list[dict[str, Any]]:
    """A dictionary for each row, without what is None.

    >>> records(["a", "b"], [[1, 2], [None, "x"]], 2)
    [{'a': 1}, {'a': 2, 'b': 'x'}]
    """
    if not names:
        return [{} for _ in range(rows)]
    if any(None in values for values in columns):
        return [
            {name: value for name, value in zip(names, row, strict=True) if value is not None}
            for row in zip(*columns, strict=True)
        ]
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]
