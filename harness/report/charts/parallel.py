"""A score over many parameters of a sweep: parallel coordinates, one axis per parameter, one line per run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from harness.report.charts.scales import side_by_side
from harness.report.charts.shown_values import Values
from harness.report.charts.theme import BETTER, NEUTRAL, WIDTH, WORSE, columns, number

LEADER, REST = "best, or not distinguishable from the best", "other runs, the better the bluer"


@dataclass(frozen=True)
class Axis:
    """A parameter."""

    name: str
    ticks: Sequence[tuple[float, str]]
    """(place from 0 to 1, what stands there)"""


@dataclass(frozen=True)
class Line:
    """A run."""

    system: str
    places: Sequence[float]
    """On each axis, from 0 to 1."""
    estimate: float
    best: bool


@dataclass(frozen=True)
class Panel:
    """One score."""

    score: str
    lines: Sequence[Line]
    digits: int
    """After the point."""
    higher_is_better: bool = True


def draw(panels: Sequence[Panel], axes: Sequence[Axis], width: float = WIDTH) -> Any:
    across = columns(len(panels), width, 95 * (len(axes) + 1))
    size = max(160.0, (width - 40 * across) / across)
    charts = [_panel(panel, axes, size) for panel in panels]
    return side_by_side(charts, across)


def _panel(panel: Panel, axes: Sequence[Axis], width: float) -> Any:
    known = [line.estimate for line in panel.lines]
    low, high = min(known), max(known)
    names = [*(axis.name for axis in axes), panel.score]
    if names.count(panel.score) > 1:
        names[-1] = f"{panel.score} (score)"

    def height(estimate: float) -> float:
        part = 0.5 if high == low else (estimate - low) / (high - low)
        return part if panel.higher_is_better else 1 - part

    ends = (
        [(height(low), number(low, panel.digits)), (height(high), number(high, panel.digits))]
        if high > low
        else [(0.5, number(low, panel.digits))]
    )
    ticks = [(names[i], *tick) for i, axis in enumerate(axes) for tick in axis.ticks]
    ticks += [(names[-1], *tick) for tick in ends]
    rows = [
        {
            "run": str(i),
            "axis": names[j],
            "order": j,
            "place": place,
            "height": height(line.estimate),
            "standing": LEADER if line.best else REST,
            "system": line.system,
            "shown": number(line.estimate, panel.digits),
        }
        for i, line in enumerate(sorted(panel.lines, key=lambda line: (line.best, height(line.estimate))))
        for j, place in enumerate([*line.places, height(line.estimate)])
    ]
    x = alt.X(
        "axis:N",
        title=None,
        scale=alt.Scale(domain=names, type="point", padding=0.35),
        axis=alt.Axis(grid=True, domain=False, ticks=False, labelAngle=0, orient="top", labelLimit=width / len(names)),
    )
    y = alt.Y("place:Q", scale=alt.Scale(domain=[0, 1], padding=6), axis=None)
    tooltip = [alt.Tooltip("system:N", title="run"), alt.Tooltip("shown:N", title=panel.score)]
    chart = alt.Chart(Values([row for row in rows if row["standing"] == REST]))
    rest = chart.mark_line(strokeWidth=1.25, opacity=0.75).encode(
        x=x,
        y=y,
        detail=alt.Detail("run:N"),
        order=alt.Order("order:Q"),
        tooltip=tooltip,
        color=alt.Color("height:Q", scale=alt.Scale(domain=[0, 1], range=["#c4c4c4", BETTER]), legend=None),
    )
    chart = alt.Chart(Values([row for row in rows if row["standing"] == LEADER]))
    best = chart.mark_line(strokeWidth=2.5, color=WORSE).encode(
        x=x, y=y, detail=alt.Detail("run:N"), order=alt.Order("order:Q"), tooltip=tooltip
    )
    marks = [{"axis": name, "place": place, "label": label} for name, place, label in ticks]
    labels = alt.Chart(Values(marks)).encode(x=x, y=y)
    dots = labels.mark_tick(orient="horizontal", size=8, thickness=1.5, color=NEUTRAL)
    beside = {"align": "left", "dx": 7, "fontSize": 11}
    halo = labels.mark_text(style="halo", **beside).encode(text=alt.Text("label:N"))
    text = labels.mark_text(style="number", **beside).encode(text=alt.Text("label:N"))
    title = panel.score if panel.higher_is_better else f"{panel.score} (lower is better, so turned round)"
    return alt.layer(rest, best, dots, halo, text).properties(
        width=round(width), height=200, title=alt.Title(title, fontSize=12)
    )
