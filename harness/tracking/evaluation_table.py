"""Examples as a table that MLflow's evaluation view shows, and compares between runs.

`eval_results_table.json` has the first rows in the data set's order, so that runs on the same data have the same rows.
MLflow's page reads the file whole and hangs on 10 MB: rows and bytes are bounded, long texts are cut with a mark.
examples.parquet beside it has everything.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.inputs.expanded import check_expanded
from harness.types import HarnessError
from harness.types.shown import counted

FILE = "eval_results_table.json"
TAG = {"mlflow.loggedArtifacts": json.dumps([{"path": FILE, "type": "table"}])}
"""By this the page knows that a run has a table."""
MAX_ROWS, MAX_BYTES, MAX_TEXT = 500, 1_000_000, 1000
TEXTS = ("source", "references", "output", "error")
NOT_DATA = ("output", "error", "raw_output", "finish", "repeat")


@dataclass(frozen=True)
class Table:
    content: bytes
    """The file for MLflow's view."""
    shown: int
    """Rows in it."""
    rows: int
    """Rows of examples.parquet."""
    fields: dict[str, str]
    """The data set's fields with their types."""


def examples_of(path: Path, examples: int, scores: Sequence[str]) -> Table:
    """The table of an examples.parquet with so many examples and these scores; those with a bare name are shown."""
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        _check_expanded(path, file)
        schema, total = file.schema_arrow, file.metadata.num_rows
        repeat = ["repeat"] if total > examples else []
        headlines = [name for name in scores if "." not in name]
        wanted = [name for name in ("id", *repeat, *TEXTS, *headlines) if name in schema.names]
        first = next(file.iter_batches(MAX_ROWS, columns=wanted, use_threads=False), None)
    rows = [] if first is None else first.to_pylist()
    if not any(row.get("error") is not None for row in rows):
        wanted = [name for name in wanted if name != "error"]
    content, shown = _table(wanted, rows)
    data = {name: _type(schema.field(name).type) for name in schema.names if name not in (*NOT_DATA, *scores)}
    return Table(content, shown, total, data)


def _check_expanded(path: Path, file: Any) -> None:
    try:
        check_expanded(path, file)
    except ValueError as error:
        raise HarnessError(f"{path} cannot be read ({error}); expected the examples of a run") from None


def _table(columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> tuple[bytes, int]:
    head = f'{{"columns": {json.dumps(columns)}, "data": ['
    size, lines = len(head) + 2, []
    for row in rows:
        line = json.dumps([_cell(row[name]) for name in columns], ensure_ascii=False)
        size += len(line.encode()) + 2
        if size > MAX_BYTES:
            break
        lines.append(line)
    return (head + ",\n".join(lines) + "]}").encode(), len(lines)


def _cell(value: Any) -> Any:
    if isinstance(value, list):
        value = "\n".join(map(str, value))
    if isinstance(value, float):
        return round(value, 6)
    if isinstance(value, str) and len(value) > MAX_TEXT:
        return f"{value[:MAX_TEXT]} … [{counted(len(value) - MAX_TEXT, 'more character')}]"
    return value


def _type(kind: Any) -> str:
    """An Arrow type as MLflow names it."""
    import pyarrow.types as kinds

    if kinds.is_list(kind) or kinds.is_large_list(kind):
        return f"list of {_type(kind.value_type)}"
    if kinds.is_boolean(kind):
        return "boolean"
    if kinds.is_integer(kind):
        return "long"
    return "double" if kinds.is_floating(kind) else "string"
