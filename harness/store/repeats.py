"""What the rows of a run folder may ask of memory beside what they take themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

MOST = 2**22
"""Pairs of an example and a repeat that any run may have: each has a place in what is resampled."""
TIMES = 8
"""As many as there are rows that it may have beyond that: not every example has every repeat."""


def check_repeats(table: pa.Table) -> None:
    """ValueError where the repeats of a few examples leave room for more rows than memory has."""
    import pyarrow.compute as pc

    highest = pc.max(table.column("repeat")).as_py()
    if not highest:
        return
    examples = pc.count_distinct(table.column("id")).as_py()
    if examples * (highest + 1) > max(MOST, TIMES * table.num_rows):
        raise ValueError(f"a repeat {highest} among {table.num_rows} rows of {examples} examples")
