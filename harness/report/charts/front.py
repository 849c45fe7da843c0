"""A score against what an output takes: a point for each cell of a sweep, and as a line the front of those that no
other beats in both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from harness.report.charts.shown_values import Values
from harness.report.charts.theme import BETTER, NEUTRAL, WIDTH, number


@dataclass(frozen=True)
class Point:
    """One cell."""

    name: str
    expense: float
    score: float
    front: bool


def draw(points: Sequence[Point], score: str, expense: str, digits: int, width: float = WIDTH) -> Any:
    """`score`, `expense`: what the axes are called."""
    values = [
        {"cell": p.name, "x": p.expense, "y": p.score, "front": p.front, "shown": number(p.score, digits), "name": ""}
        | ({"name": p.name} if p.front else {})
        for p in points
    ]
    least = min(p.expense for p in points)
    log = least > 0 and max(p.expense for p in points) > 20 * least
    scale = alt.Scale(type="log", nice=False, padding=24) if log else alt.Scale(zero=False, nice=False, padding=24)
    x = alt.X("x:Q", title=expense, scale=scale, axis=alt.Axis(grid=False, format="~g", tickCount=6))
    y = alt.Y(
        "y:Q",
        title=score,
        scale=alt.Scale(zero=False, nice=False, padding=22),
        axis=alt.Axis(domain=False, ticks=False),
    )
    tooltip = [alt.Tooltip("cell:N"), alt.Tooltip("shown:N", title=score), alt.Tooltip("x:Q", title=expense)]
    base = alt.Chart(Values(values)).encode(x=x, y=y, tooltip=tooltip)
    line = base.transform_filter("datum.front").mark_line(interpolate="step-after", color=BETTER, strokeWidth=1.5)
    colour = alt.condition("datum.front", alt.value(BETTER), alt.value(NEUTRAL))
    dots = base.mark_point(filled=True, size=60, opacity=1).encode(color=colour)
    names = (  # below the line, which goes to the right and then up
        base.transform_filter("datum.front")
        .mark_text(align="left", dx=7, dy=9, style="number")
        .encode(text=alt.Text("name:N"))
    )
    return alt.layer(line, dots, names).properties(width=round(width - 60), height=260)
