"""A score over two parameters of a sweep: one panel per score, one cell per run, the number in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from harness.report.charts.scales import headed, side_by_side
from harness.report.charts.shown_values import Values
from harness.report.charts.theme import WIDTH, columns, interval, number, width_of

NUMBER = 42
"""Width of a cell that has room for its number."""


@dataclass(frozen=True)
class Cell:
    across: str
    down: str
    estimate: float | None
    low: float | None
    high: float | None
    best: bool
    """Framed: the best run, or not distinguishable from it."""
    system: str


@dataclass(frozen=True)
class Panel:
    """One score."""

    score: str
    cells: Sequence[Cell]
    digits: int
    """After the point."""
    higher_is_better: bool = True


def draw(
    panels: Sequence[Panel], names: tuple[str, str], values: tuple[Sequence[str], Sequence[str]], width: float = WIDTH
) -> Any:
    """`names` and `values` of the two parameters, the one across first."""
    across, down = values
    room = width_of(down) + 40
    half = (width / 2 - room - 20) / len(across)  # so that two stand side by side
    step = min(62.0, half if half >= NUMBER else max(14.0, (width - room) / len(across)))
    beside = columns(len(panels), width, room + step * len(across) + 16)
    charts = [_panel(panel, names, across, down, step) for panel in panels]
    return side_by_side(charts, beside)


def _panel(panel: Panel, names: tuple[str, str], across: Sequence[str], down: Sequence[str], step: float) -> Any:
    known = [cell.estimate for cell in panel.cells if cell.estimate is not None]
    low, high = (min(known), max(known)) if known else (0.0, 0.0)
    rows = []
    for cell in panel.cells:
        part = 0.5 if cell.estimate is None or high == low else (cell.estimate - low) / (high - low)
        light = part > 0.5 if panel.higher_is_better else part < 0.5
        rows.append(
            {
                "across": cell.across,
                "down": cell.down,
                "estimate": cell.estimate,
                "shown": number(cell.estimate, panel.digits),
                "interval": interval(cell.low, cell.high, panel.digits),
                "ink": "#111111" if light else "#ffffff",
                "best": cell.best,
                "system": cell.system,
            }
        )
    plain = {"ticks": False, "domain": False, "grid": False}
    x = alt.X("across:N", title=names[0], scale=alt.Scale(domain=list(across)), axis=alt.Axis(**plain, labelAngle=0))
    y = alt.Y("down:N", title=names[1], scale=alt.Scale(domain=list(down)), axis=alt.Axis(**plain))
    colour = alt.Color(
        "estimate:Q",
        scale=alt.Scale(scheme="cividis", domain=[low, high], reverse=not panel.higher_is_better),
        legend=None,
    )
    tooltip = [
        alt.Tooltip("system:N", title="run"),
        alt.Tooltip("across:N", title=names[0]),
        alt.Tooltip("down:N", title=names[1]),
        alt.Tooltip("shown:N", title=panel.score),
        alt.Tooltip("interval:N", title="interval"),
    ]
    base = alt.Chart(Values(rows)).encode(x=x, y=y, tooltip=tooltip)
    layers = [base.mark_rect(strokeWidth=1).encode(color=colour)]
    if step >= NUMBER:
        layers.append(
            base.mark_text(fontSize=11).encode(text=alt.Text("shown:N"), color=alt.Color("ink:N", scale=None))
        )
    best = alt.Chart(Values([row for row in rows if row["best"]])).encode(x=x, y=y)
    layers.append(best.mark_rect(style="frame", fillOpacity=0))
    title = headed(panel.score, panel.higher_is_better)
    return (
        alt.layer(*layers)
        .properties(width=alt.Step(step), height=alt.Step(min(step, 30)), title=alt.Title(title, fontSize=12))
        .resolve_scale(color="independent")
    )
