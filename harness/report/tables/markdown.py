"""A results table in Markdown, as GitHub renders it.

>>> escaped("a|b *c* <d>")
'a\\\\|b \\\\*c\\\\* \\\\<d\\\\>'
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from harness.report.tables.cells import Cell, Column, Table, half_width, number
from harness.report.tables.notes import BETTER, MISSING, WORSE

SPECIAL = re.compile(r"([\\`*_{}\[\]<>|~&$#!])")


def written(table: Table, notes: Sequence[str], signatures: Sequence[tuple[str, str]], traces: Sequence[str]) -> str:
    several = len(table.sections) > 1
    head = [*(["Data set"] if several else []), "System", *(_heading(column, table.mixed) for column in table.columns)]
    rows = []
    for section in table.sections:
        for i, row in enumerate(section.rows):
            group = [escaped(section.dataset) if i == 0 else ""] if several else []
            cells = [_cell(cell, column, table.interval) for cell, column in zip(row.cells, table.columns, strict=True)]
            rows.append([*group, escaped(row.label), *cells])
    texts = len(head) - len(table.columns)
    widths = [max(3, *(len(row[i]) for row in (head, *rows))) for i in range(len(head))]
    rule = ["-" * width if i < texts else "-" * (width - 1) + ":" for i, width in enumerate(widths)]
    lines = [_line(row, widths, texts) for row in (head, rule, *rows)]
    lines += ["", " ".join(map(escaped, notes)), ""] if notes else []
    lines += [f"- {escaped(columns)}: {code(signature)}" for columns, signature in signatures]
    lines += ["", "<!--", *(trace.replace("-->", "--&gt;").replace("--!>", "--!&gt;") for trace in traces), "-->"]
    return "\n".join(lines) + "\n"


def escaped(text: str) -> str:
    """A text that Markdown shows as it is."""
    return SPECIAL.sub(r"\\\1", text)


def code(text: str) -> str:
    """A code span, whatever backticks the text holds."""
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", text)), default=0))
    room = " " if "`" in text else ""
    return f"{fence}{room}{text}{room}{fence}"


def _heading(column: Column, arrows: bool) -> str:
    return escaped(column.title) + (f" {column.arrow}" if arrows and column.arrow else "")


def _cell(cell: Cell | None, column: Column, interval: str) -> str:
    if cell is None:
        return ""
    score, digits = cell.score, column.digits
    if score.estimate is None:
        return MISSING
    shown = number(score.estimate, digits)
    shown = f"**{shown}**" if cell.best else shown
    shown += {"better": BETTER, "worse": WORSE}.get(cell.against or "", "")
    half = half_width(score)
    if score.low is None or score.high is None or half is None or interval == "none":
        return shown
    if interval == "bounds":
        return f"{shown} [{number(score.low, digits)}, {number(score.high, digits)}]"
    return f"{shown} ± {number(half, digits)}"


def _line(cells: Sequence[str], widths: Sequence[int], texts: int) -> str:
    padded = [
        cell.ljust(width) if i < texts else cell.rjust(width)
        for i, (cell, width) in enumerate(zip(cells, widths, strict=True))
    ]
    return f"| {' | '.join(padded)} |"
