"""examples.parquet: one row for each example and repeat, with its texts, its metadata and one column per score.

A metadata field has the column of its name, `metadata.<name>` where a text or a score has that one, or where the field
is itself called so: no two fields share a column.

>>> [metadata_name(field, ["bleu"]) for field in ("topic", "output", "metadata.output", "metadata.topic", "bleu")]
['topic', 'metadata.output', 'metadata.metadata.output', 'metadata.topic', 'metadata.bleu']
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.inputs import arrow, regular
from harness.inputs.expanded import check_expanded
from harness.store.repeats import check_repeats
from harness.types import Example, HarnessError, Output, Statistics

if TYPE_CHECKING:
    import pyarrow as pa

COLUMNS = ("id", "repeat", "source", "references", "output", "error", "raw_output", "finish")
PREFIX = "metadata."


def examples_table(
    examples: Sequence[Example],
    raw: Sequence[Output],
    processed: Sequence[Output],
    statistics: Mapping[str, Statistics],
    finish: Sequence[str | None] = (),
) -> Any:
    """The content of examples.parquet, as an Arrow table; `finish`, how outputs ended, is in it where any is known."""
    import pyarrow as pa

    columns: dict[str, Any] = {
        "id": arrow.texts([e.id for e in examples]),
        "repeat": arrow.numbers(np.fromiter((e.repeat for e in examples), np.int32, len(examples))),
        "source": arrow.texts([e.source for e in examples]),
        "references": arrow.text_lists([e.references for e in examples]),
        "output": arrow.texts([o.text for o in processed]),
        "error": arrow.texts([o.error for o in processed]),
        "raw_output": arrow.texts([o.text for o in raw]),
    }
    if any(end is not None for end in finish):
        columns["finish"] = arrow.texts(finish)
    scores: dict[str, Any] = {}
    for scored in statistics.values():
        values = scored.metric.score_examples(scored.rows)
        for i, name in enumerate(scored.metric.score_names):
            if name in COLUMNS:
                raise HarnessError(
                    f"a score of {scored.metric.name} is called {name!r}, the name of a column; expected another name"
                )
            scores[name] = arrow.numbers(values[:, i])
    fields = dict.fromkeys(field for example in examples for field in example.metadata)
    for field in fields:
        columns[metadata_name(field, scores)] = _metadata_column([e.metadata.get(field) for e in examples])
    return pa.table({**columns, **scores})


def metadata_name(field: str, scores: Iterable[str]) -> str:
    """The column of a metadata field: its own name unless that is taken."""
    bare = field
    while bare.startswith(PREFIX):
        bare = bare.removeprefix(PREFIX)
    return PREFIX + field if bare in COLUMNS or bare in scores else field


def metadata_field(column: str, scores: Iterable[str]) -> str:
    """The metadata field of a column, the other way round."""
    field = column.removeprefix(PREFIX)
    return field if metadata_name(field, scores) == column else column


def _metadata_column(values: list[Any]) -> Any:
    """An Arrow array; mappings, and values of several kinds in one column, become their JSON."""
    import pyarrow as pa

    try:
        if any(
            isinstance(v, Mapping) or (isinstance(v, list) and any(isinstance(x, Mapping) for x in v)) for v in values
        ):
            raise TypeError
        return arrow.values(values)
    except (pa.ArrowException, TypeError, OverflowError):
        return arrow.texts([None if v is None else json.dumps(v, sort_keys=True, default=str) for v in values])


@dataclass(frozen=True)
class Expected:
    """What the examples of a run must fit."""

    rows: int | None = None
    """How many rows of statistics there are, where that is known."""
    fields: tuple[str, ...] = ()
    """Columns that the run names: clusters, strata."""
    scores: tuple[str, ...] = ()


def read_examples(folder: Path, expected: Expected | None = None) -> pa.Table:
    """The table of a stored run, with the columns that every run has."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = folder / "examples.parquet"
    try:
        regular.check(path)
        with pq.ParquetFile(path) as file:  # read_table would import pandas
            check_expanded(path, file)
            table = file.read().replace_schema_metadata(None)  # what pandas is told there, a run does not write
        _check(table, expected or Expected())
    except (OSError, ValueError, OverflowError, pa.ArrowException) as error:
        why = getattr(error, "strerror", None) or error
        raise HarnessError(f"{path} cannot be read ({why}); expected the examples of a run") from None
    return table


def _check(table: pa.Table, expected: Expected) -> None:
    """ValueError where the table is not that of a run."""
    import pyarrow.compute as pc
    import pyarrow.types as kinds

    table.validate(full=True)
    names = table.schema.names
    if twice := [name for name, count in Counter(names).items() if count > 1]:
        raise ValueError(f"two columns {twice[0]!r}")
    for name in (*(name for name in COLUMNS if name != "finish"), *expected.fields):
        if name not in names:
            raise ValueError(f"no column {name!r}")
    for name in names:
        column, kind = table.column(name), table.schema.field(name).type
        if name == "references":
            right = (kinds.is_list(kind) or kinds.is_large_list(kind)) and _is_text(kind.value_type)
            right = right and not column.null_count and not column.combine_chunks().flatten().null_count
        elif name == "repeat":
            right = kinds.is_integer(kind) and not column.null_count
            right = right and all(0 <= end.as_py() < len(column) for end in pc.min_max(column).values() if len(column))
        elif name in COLUMNS:
            right = _is_text(kind) and not (name == "id" and column.null_count)
        elif name in expected.scores:
            right = kinds.is_float64(kind)
        elif _is_text(kind) or (kinds.is_primitive(kind) and not kinds.is_temporal(kind)):
            right = True
        else:
            column.to_pylist()  # a time past the year 9999 is no value of Python's
            right = True
        if not right:
            raise ValueError(f"the column {name!r} is not as a run writes it, but of {kind}")
    if expected.rows is not None and table.num_rows != expected.rows:
        raise ValueError(f"{table.num_rows} rows, and {expected.rows} of statistics")
    if table.select(["id", "repeat"]).group_by(["id", "repeat"]).aggregate([]).num_rows < table.num_rows:
        raise ValueError("an id twice")
    check_repeats(table)


def _is_text(kind: pa.DataType) -> bool:
    import pyarrow.types as kinds

    return bool(kinds.is_string(kind) or kinds.is_large_string(kind))
