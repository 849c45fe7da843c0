"""How much memory a Parquet file takes that is read whole, known before it is read.

A text that is there a million times is stored once, and a million nulls in a few bytes: fifty kilobytes from a stranger
can be ten gigabytes of rows. What a run wrote is seldom ten times as large as its file; where much is repeated, such as
one document below a thousand questions, more, and then it is still of the size that was in memory when it was written.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from harness.inputs.parquet import ROWS, is_coded, is_delta, leaf, longest

if TYPE_CHECKING:
    import pyarrow.parquet as pq

LEAST = 2**30
"""Bytes that any file may take: 1 GiB, a million examples with texts of a thousand characters."""
SHARE = 4
"""A file may take one part in so many of the memory that there is."""
TIMES = 64
"""As large as itself that a file may be beyond that: a number of 8 bytes in a bit."""
MOST_COLUMNS = 12_000
"""Ten thousand fields of the data, the texts and the scores."""


def check_expanded(path: Path, file: pq.ParquetFile) -> None:
    """ValueError where a file takes more columns or memory than the rows of a run."""
    columns = len(file.schema_arrow.names)
    if columns > MOST_COLUMNS or file.metadata.num_columns > MOST_COLUMNS:
        raise ValueError(f"{max(columns, file.metadata.num_columns):,} columns, at most {MOST_COLUMNS:,} are read")
    size = path.stat().st_size
    most, total = max(room(), TIMES * size), 0
    for group in range(file.metadata.num_row_groups):
        for column in range(file.metadata.num_columns):
            total += _expanded(path, file, group, column, most - total)
            if total > most:
                raise ValueError(
                    f"more than {most:,} bytes of rows up to the column "
                    f"{file.schema.column(column).path!r} in a file of {size:,} bytes"
                )


def room() -> int:
    """Bytes that any file may take on this machine, within the limits of this process."""
    try:
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ImportError, OSError, ValueError):  # not on Windows
        return LEAST
    return max(LEAST, (memory if limit == resource.RLIM_INFINITY else min(memory, limit)) // SHARE)


def _expanded(path: Path, file: pq.ParquetFile, group: int, column: int, most: int) -> int:
    """Bytes of a column in a row group; of one that takes more than `most`, any number beyond that."""
    about, kind = file.metadata.row_group(group).column(column), file.schema.column(column)
    if kind.physical_type == "FIXED_LEN_BYTE_ARRAY":
        return int(about.num_values * max(kind.length, 8))
    stored = int(8 * about.num_values + about.total_uncompressed_size)
    if kind.physical_type != "BYTE_ARRAY" or stored > most or not (is_coded(about) or is_delta(about)):
        return stored
    if stored + about.num_values * about.total_uncompressed_size <= most:  # no value is longer than all of them
        return stored
    if is_delta(about):  # each text may begin as the one before
        return int(stored + about.num_values * about.total_uncompressed_size)
    if stored + about.num_values * longest(path, group, about.path_in_schema) <= most:
        return stored
    return stored + _lengths(path, group, about.path_in_schema, most - stored)


def _lengths(path: Path, group: int, column: str, most: int) -> int:
    """Bytes of all texts of a column, counted without reading any of them twice, until there are more than `most`."""
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    total = 0
    with pq.ParquetFile(path, read_dictionary=[column]) as file:
        for batch in file.iter_batches(ROWS, [group], [column], use_threads=False):
            texts = leaf(batch.column(0))
            lengths = pc.binary_length(texts.dictionary).cast("int64")
            total += pc.sum(pc.take(lengths, texts.indices)).as_py() or 0
            if total > most:
                break
    return int(total)
