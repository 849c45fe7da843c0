"""Batches of rows of a Parquet file, as many at a time as fit into a bounded part of memory.

A value that is there a million times is stored once, and a list of a million nulls in a few bytes: fifty kilobytes can
be four gigabytes of rows. So the longest value of each dictionary and the number of values of each list are looked at
before rows are read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.types import HarnessError, Texts

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

ROWS = 4096
"""That are read at once, at most."""
BYTES = 2**26
"""Of a column that are read at once, unless one row has more: 64 MiB."""
MOST_VALUES = 2**24
"""Of lists in one row group, where they take less than a byte for a hundred of them: one row may hold them all."""


def batches_of(path: Path, groups: range | None = None) -> Iterator[tuple[int, pa.RecordBatch]]:
    """(how many rows were before, the next rows as columns) of the file, or of some of its row groups."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(path)
    except (pa.ArrowException, OSError) as error:
        raise HarnessError(f"{path} is not a Parquet file ({error})") from None
    number = 0
    with file:
        twice = [name for name, count in Counter(file.schema_arrow.names).items() if count > 1]
        if twice:
            raise HarnessError(f"{path} has the column {twice[0]!r} twice; expected each name once")
        for group in range(file.metadata.num_row_groups) if groups is None else groups:
            try:
                size = _rows_at_once(path, file, group)
                for batch in file.iter_batches(size, [group]):
                    yield number, batch
                    number += batch.num_rows
            except (pa.ArrowException, OSError, MemoryError) as error:
                raise HarnessError(f"{path} cannot be read after row {number} ({error})") from None


def rows_of(path: Path, batch: pa.RecordBatch, before: int) -> list[dict[str, Any]]:
    """The rows of a batch."""
    import pyarrow as pa

    try:
        rows: list[dict[str, Any]] = batch.to_pylist()
        return rows
    except (pa.ArrowException, MemoryError) as error:
        raise HarnessError(f"{path} cannot be read after row {before} ({error})") from None
    except (ValueError, OverflowError):
        raise _unreadable(path, batch, before) from None


def _unreadable(path: Path, batch: Any, before: int) -> HarnessError:
    """Names the value of a batch that Python cannot hold, such as a time after the year 9999."""
    for number, row in enumerate(range(batch.num_rows), start=before + 1):
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            try:
                column[row].as_py()
            except (ValueError, OverflowError) as error:
                return HarnessError(
                    f"{path} row {number}: {name!r} cannot be read ({error}); expected UTF-8 text, times of the years "
                    "1 to 9999, numbers"
                )
    return HarnessError(f"{path} cannot be read after row {before}")


def _rows_at_once(path: Path, file: pq.ParquetFile, group: int) -> int:
    """How many rows of a row group to read at once."""
    about = file.metadata.row_group(group)
    size = ROWS
    for i in range(about.num_columns):
        column = about.column(i)
        values = column.num_values / max(about.num_rows, 1)  # more than one a row only in lists
        if values > 1 and column.num_values > max(MOST_VALUES, 100 * column.total_uncompressed_size):
            raise HarnessError(
                f"{path}: the column {column.path_in_schema!r} has {column.num_values:,} values in "
                f"{column.total_uncompressed_size:,} bytes; expected at most {MOST_VALUES:,} of so few bytes"
            )
        width = max(file.schema.column(i).length, 8)
        if is_delta(column):
            width = max(column.total_uncompressed_size, 8)
        elif (
            is_coded(column) and size * values * column.total_uncompressed_size > BYTES
        ):  # no value is longer than that
            width = max(longest(path, group, column.path_in_schema), width)
        size = min(size, max(1, int(BYTES / max(values * width, 1))))
    return size


def is_coded(column: Any) -> bool:
    """Whether values of a column in a row group are stored once, however often they are there."""
    return any("DICTIONARY" in encoding for encoding in column.encodings)


def is_delta(column: Any) -> bool:
    """Whether each text is stored as what differs from the one before."""
    return "DELTA_BYTE_ARRAY" in column.encodings


def longest(path: Path, group: int, column: str) -> int:
    """Bytes of the longest value in a column's dictionary, which comes with its first rows."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with pq.ParquetFile(path, read_dictionary=[column]) as file:
        values = leaf(next(file.iter_batches(1, [group], [column])).column(0))
    if not pa.types.is_dictionary(values.type):
        return 8  # numbers
    return max(_longest_of(values.dictionary), 8)


def _longest_of(array: pa.Array) -> int:
    import pyarrow as pa

    if pa.types.is_string(array.type) or pa.types.is_binary(array.type):
        return int(np.diff(Texts(array).utf8[1]).max(initial=0))
    import pyarrow.compute as pc  # takes 0.1 s to import

    return int(pc.max(pc.binary_length(array)).as_py() or 0)


def leaf(values: Any) -> Any:
    """The innermost values of an array, of which one column of the file was read."""
    import pyarrow as pa

    while not pa.types.is_dictionary(values.type) and pa.types.is_nested(values.type):
        values = values.field(0) if pa.types.is_struct(values.type) else values.values
    return values
