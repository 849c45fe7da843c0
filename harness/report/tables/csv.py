"""A results table as CSV, for spreadsheets and pandas: a row for each data set and system, no comments, no note.

Values are not rounded unless digits are asked for. What the note of the other formats says stands in columns: how
intervals and tests were made, the signature of each score, and what leads back to the run. A field is empty where a run
does not have a score, or a score has no value. A text that a spreadsheet would run as a formula (`=…`, `@…`; names come
from whoever made the run) has `'` before it, which spreadsheets read as "a text"; numbers stay numbers.

>>> quoted("=HYPERLINK(1)"), quoted("-0.5"), quoted("lead")
("'=HYPERLINK(1)", '-0.5', 'lead')
"""

from __future__ import annotations

import csv
import io
from typing import Any

from harness import __version__
from harness.report.tables.cells import Cell, Column, Row, Table, half_width, plain
from harness.report.tables.notes import origin
from harness.types import Study

FORMULAS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
"""Beginnings of what Excel, LibreOffice or Google Sheets may run (OWASP, CSV injection)."""


TRACE = "harness_table"
"""The column that says, in the first row, what the table was made of: `harness verify` makes it again by that."""


def written(study: Study, table: Table, digits: int | None, trace: str = "") -> str:
    rows = [
        {"dataset": section.dataset, "system": row.label} | _row(study, table, row, digits)
        for section in table.sections
        for row in section.rows
    ]
    if trace and rows:
        rows[0][TRACE] = trace
    out = io.StringIO()
    names = dict.fromkeys(name for row in rows for name in row)
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(map(quoted, names))
    writer.writerows([quoted(row.get(name, "")) for name in names] for row in rows)
    return out.getvalue()


def quoted(value: Any) -> Any:
    """A cell that no spreadsheet runs."""
    if not isinstance(value, str) or not value.startswith(FORMULAS):
        return value
    try:
        float(value)
    except ValueError:
        return f"'{value}"
    return value


def _row(study: Study, table: Table, row: Row, digits: int | None) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for column, cell in zip(table.columns, row.cells, strict=True):
        fields |= _fields(column, cell, table.interval, bool(study.against), digits)
    run = row.run
    scores = [cell.score for cell in row.cells if cell]
    bounded = [score for score in scores if score.low is not None]
    fields |= {"n": len(run.columns("id").column("id").unique()), "failed": run.failed}
    fields |= {
        f"interval_{name}": "; ".join(dict.fromkeys(str(getattr(score, name)) for score in bounded))
        for name in ("level", "method", "resamples")
    }
    fields |= {"interval_seed": run.manifest.get("seed") if bounded else None, "test": study.test}
    fields |= {f"test_{name}": getattr(study, name) for name in ("correction", "level", "resamples", "seed")}
    signatures = {score.name: plain(score.signature) for score in scores}
    fields |= {f"{column.score}_signature": signatures.get(column.score) for column in table.columns}
    return fields | {"harness": __version__, **{name: plain(value) for name, value in origin(run).items()}}


def _fields(column: Column, cell: Cell | None, interval: str, baseline: bool, digits: int | None) -> dict[str, Any]:
    score = cell.score if cell else None
    values = {"": score.estimate if score else None}
    if interval == "bounds":
        values |= {"_low": score.low if score else None, "_high": score.high if score else None}
    elif interval == "plus-minus":
        values |= {"_half_width": half_width(score) if score else None}
    fields: dict[str, Any] = {
        column.score + part: value if digits is None or value is None else round(value, digits)
        for part, value in values.items()
    }
    if "." not in column.score:
        fields[f"{column.score}_best"] = None if cell is None else cell.best
        if baseline:
            fields[f"{column.score}_vs_baseline"] = None if cell is None else cell.against
    return fields
