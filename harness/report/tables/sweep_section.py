"""What `harness sweep` says, as a section in Markdown: means by level, importance, the best and the front."""

from __future__ import annotations

from typing import Any

from harness.report.score_titles import titled_rows
from harness.report.tables.markdown import escaped
from harness.report.terminal import sweep_table
from harness.report.terminal.layout import Columns


def section(part: Any) -> str:
    """Of one data set by one score."""
    (part,) = titled_rows([part])
    lines = [escaped(line) for line in sweep_table.sentences(part)]
    lines += [] if part.saved is None else [escaped(sweep_table.saved(part.saved))]
    tables = [sweep_table.parameters(part)]
    tables += [] if part.against is None else [sweep_table.front(part)]
    return "\n\n".join([" ".join(lines), *map(_table, tables)])


def _table(columns: Columns) -> str:
    """Columns of a terminal as a table of Markdown, below its title."""
    rule = [":---" if kind == "left" else "---:" for kind in columns.kinds]
    rows = [[escaped(str(cell)) for cell in cells] for cells, _ in columns.rows]
    shown = [f"| {' | '.join(cells)} |" for cells in ([escaped(head) for head in columns.heads], rule, *rows)]
    return "\n".join([f"**{escaped(columns.title or '')}**", "", *shown])
