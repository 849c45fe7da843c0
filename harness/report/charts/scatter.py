"""Human scores against a metric's: a panel for each metric, a point for each system or output, the line through them
with its band."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from harness.report.charts.scales import side_by_side, systems
from harness.report.charts.shown_values import Values
from harness.report.charts.theme import EXTENT, WIDTH, columns, number


@dataclass(frozen=True)
class Point:
    name: str
    """Of its system."""
    x: float
    y: float


@dataclass(frozen=True)
class Band:
    """The fitted line at x, and its bounds."""

    x: float
    y: float
    low: float
    high: float


@dataclass(frozen=True)
class Panel:
    """One metric."""

    title: str
    points: Sequence[Point]
    band: Sequence[Band]
    digits: int
    """Of x, after the point."""


def draw(panels: Sequence[Panel], human: str, names: Sequence[str]) -> Any:
    across = columns(len(panels), WIDTH, 220)
    width = max(130, (WIDTH - 62 * across) / across)
    charts = [_panel(panel, human, names, width) for panel in panels]
    return side_by_side(charts, across)


def _panel(panel: Panel, human: str, names: Sequence[str], width: float) -> Any:
    many = len(panel.points) > 60
    values = [
        {"system": p.name, "x": p.x, "y": p.y, "shown": number(p.x, panel.digits), "people": number(p.y, 3)}
        for p in panel.points
    ]
    x = alt.X("x:Q", title=panel.title, scale=alt.Scale(zero=False, nice=False, padding=8), axis=alt.Axis(grid=False))
    y = alt.Y(
        "y:Q",
        title=human,
        scale=alt.Scale(zero=False, nice=False, padding=8),
        axis=alt.Axis(domain=False, ticks=False, tickCount=5, minExtent=EXTENT),
    )
    colour, shape = systems(names, WIDTH)
    dots = (
        alt.Chart(Values(values))
        .mark_point(filled=True, size=14 if many else 60, opacity=0.35 if many else 1)
        .encode(
            x=x,
            y=y,
            color=colour,
            shape=shape,
            tooltip=[
                alt.Tooltip("system:N", title="system"),
                alt.Tooltip("shown:N", title=panel.title),
                alt.Tooltip("people:N", title=human),
            ],
        )
    )
    line = alt.Chart(Values([vars(part) for part in panel.band]))
    band = line.mark_area(opacity=0.15, color="#8f8f8f").encode(x=alt.X("x:Q"), y=alt.Y("low:Q"), y2=alt.Y2("high:Q"))
    fitted = line.mark_line(style="mean", strokeWidth=1.5).encode(x=alt.X("x:Q"), y=alt.Y("y:Q"))
    return alt.layer(band, fitted, dots).properties(width=round(width), height=round(min(width, 220)))
