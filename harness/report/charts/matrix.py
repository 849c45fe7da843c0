"""Pairwise verdicts: one panel per score, one cell per pair, whether the system of the row beats that of the column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from harness.report.charts.forest import VERDICTS, Standings, looks_of
from harness.report.charts.scales import fixed, side_by_side
from harness.report.charts.shown_values import Values
from harness.report.charts.theme import WIDTH, columns, interval, number, width_of

NUMBERS = 6
"""Systems up to which a cell holds the difference itself."""


@dataclass(frozen=True)
class Cell:
    """The system of the row against that of the column."""

    row: str
    column: str
    verdict: str
    difference: float | None
    low: float | None
    high: float | None
    p_adjusted: float | None


@dataclass(frozen=True)
class Panel:
    """One score."""

    score: str
    order: Sequence[str]
    """The systems, the best first."""
    cells: Sequence[Cell]
    digits: int
    """After the point."""


def draw(panels: Sequence[Panel], width: float = WIDTH) -> Any:
    """One panel per score, each with its own order of systems, the best first."""
    count = len(panels[0].order)
    room = width_of(panels[0].order) + 16
    half = (width / 2 - room - 24) / count  # so that two stand side by side
    step = 52.0 if count <= NUMBERS else min(24.0, half if half >= 14 else max(11.0, (width - room) / count))
    across = columns(len(panels), width, room + step * count + 24)
    looks = looks_of(cell.verdict for panel in panels for cell in panel.cells)
    charts = [_panel(panel, looks, step, width) for panel in panels]
    return side_by_side(charts, across)


def _panel(panel: Panel, looks: Standings, step: float, width: float) -> Any:
    numbers = len(panel.order) <= NUMBERS
    values = [
        {
            "row": cell.row,
            "column": cell.column,
            "verdict": cell.verdict,
            "shade": VERDICTS[cell.verdict][0],
            "difference": number(cell.difference, panel.digits, signed=True),
            "interval": interval(cell.low, cell.high, panel.digits),
            "p": number(cell.p_adjusted, 4),
        }
        for cell in panel.cells
    ]
    order = list(panel.order)
    scale = alt.Scale(domain=order, paddingInner=0.06, paddingOuter=0)
    plain = {"ticks": False, "domain": False, "grid": False, "title": None}
    height = step if not numbers else step * 0.75
    size = min(11, height - 1)
    base = alt.Chart(Values(values)).encode(
        y=alt.Y("row:N", scale=scale, axis=alt.Axis(**plain, labelFontSize=size)),
        x=alt.X("column:N", scale=scale, axis=alt.Axis(**plain, orient="top", labelAngle=-50, labelFontSize=size)),
        tooltip=[
            alt.Tooltip("row:N", title="system"),
            alt.Tooltip("column:N", title="against"),
            alt.Tooltip("verdict:N", title="verdict"),
            alt.Tooltip("difference:N", title="difference"),
            alt.Tooltip("interval:N", title="interval"),
            alt.Tooltip("p:N", title="p adj."),
        ],
    )
    colour, shape = fixed(looks, width)
    shade = base.mark_rect(opacity=0.22).encode(
        fill=alt.Fill("shade:N", scale=None)  # a colour itself; a scale, even one hidden, takes the others' legend away
    )
    above = {"yOffset": -height * 0.17} if numbers else {}
    symbols = base.mark_point(filled=True, opacity=1, size=min(80, (step * 0.55) ** 2), **above).encode(
        color=colour, shape=shape
    )
    layers = [shade, symbols]
    if numbers:
        layers.append(base.mark_text(style="number", yOffset=height * 0.22).encode(text=alt.Text("difference:N")))
    title = alt.Title(panel.score, anchor="start")
    return alt.layer(*layers).properties(width=alt.Step(step), height=alt.Step(height), title=title)
