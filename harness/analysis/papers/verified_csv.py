"""A table of `harness table --format csv` beside the same made again: every number, mark, signature and count."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

from harness.analysis.papers.findings import Document
from harness.analysis.papers.tabulate import Tabulated
from harness.analysis.papers.traced_runs import near
from harness.report.tables.cells import number
from harness.report.tables.csv import TRACE
from harness.types import HarnessError

LEADING = ("dataset", "system", "harness", "run", "folder", "key", "mlflow_run_id", "git_commit", TRACE)
"""Columns that say where a row comes from, and nothing of the result."""

SETTINGS = ("interval_", "test_")
"""How columns begin that hold no result: nobody rounds these."""


def trace_of(page: Document) -> dict[str, Any]:
    """What the table was made of, from the column that says so."""
    for row in csv.DictReader(io.StringIO(page.text)):
        if text := row.get(TRACE):
            try:
                trace: dict[str, Any] = json.loads(text)
            except ValueError:
                break
            return trace
    raise HarnessError(
        f"{page.file} is no table of harness table --format csv; expected its columns, {TRACE} among them"
    )


def compare_csv(page: Document, made: Tabulated) -> None:
    """Rows of a CSV table beside those of the same made again."""
    page.verified.tables += 1
    expected = list(csv.DictReader(io.StringIO(made.text())))
    by_name = {(row["dataset"], row["system"]): row for row in expected}
    places = field_places(page.text)
    for row, (line, columns) in zip(csv.DictReader(io.StringIO(page.text)), places[1:], strict=False):
        right = by_name.get((row.get("dataset", ""), row.get("system", "")))
        if right is None:
            page.say(line, 1, f"no run of the table is called {row.get('system')!r}")
            continue
        for (name, text), column in zip(row.items(), columns, strict=False):
            if name in right and name not in LEADING:
                _compare_field(page, (line, column), (name, text or ""), right[name])


def row_of(page: Document, label: str) -> tuple[int, int]:
    """(line, column) of the row of that name."""
    rows = zip(csv.DictReader(io.StringIO(page.text)), field_places(page.text)[1:], strict=False)
    return next(((line, columns[1]) for row, (line, columns) in rows if row.get("system") == label), (2, 1))


def field_places(text: str) -> list[tuple[int, list[int]]]:
    """(line, column of each field), from 1, of each row; a field in quotes may have commas and line breaks.

    >>> field_places('a,b\\n"x,y",2\\n')
    [(1, [1, 3]), (2, [1, 7])]
    """
    rows: list[tuple[int, list[int]]] = []
    line, start, quoted, begins = 1, 0, False, True
    for offset, character in enumerate(text):
        if begins:
            rows.append((line, [1]))
            begins = False
        if character == '"':
            quoted = not quoted
        elif character == "," and not quoted:
            rows[-1][1].append(offset - start + 2)
        if character == "\n":
            line, start, begins = line + 1, offset + 1, not quoted
    return rows


def _compare_field(page: Document, place: tuple[int, int], cell: tuple[str, str], right: str) -> None:
    name, text = cell
    page.verified.numbers += 1
    value, wanted = _number(text), _number(right)
    shown = right
    rounded = not name.startswith(SETTINGS) and "." in text
    if value is not None and wanted is not None and rounded:
        digits = len(text.partition(".")[2])
        shown = right if len(right.partition(".")[2]) <= digits else number(wanted, digits)
    if text != shown and not (value is not None and near(value, wanted)):
        page.say(*place, f"{text or 'nothing'}, where the run has {shown or 'nothing'} ({name})")


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
