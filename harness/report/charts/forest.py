"""Score intervals: one row per system, one panel per score on its own scale; the estimate a point, its interval a line.

The same picture shows differences from a baseline, with the line at zero.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from harness.report.charts.scales import SIGNED, fixed, headed, side_by_side
from harness.report.charts.shown_values import Values
from harness.report.charts.theme import BETTER, NEUTRAL, WIDTH, WORSE, columns, interval, number, width_of

Standings = dict[str, tuple[str, str]]
"""What a point can stand for, with its colour and shape."""
STANDINGS: Standings = {
    "best, or not distinguishable from the best": (BETTER, "diamond"),
    "worse than the best": (NEUTRAL, "circle"),
}
VERDICTS: Standings = {
    "better": (BETTER, "triangle-up"),
    "not worse": (BETTER, "triangle-right"),
    "equivalent": (NEUTRAL, "square"),
    "not distinguishable": (NEUTRAL, "circle"),
    "too few to tell": (NEUTRAL, "cross"),
    "worse": (WORSE, "triangle-down"),
}
USUAL = ("better", "not distinguishable", "worse")
"""Verdicts that a legend always has."""


def looks_of(verdicts: Iterable[str]) -> Standings:
    """How verdicts look: the usual ones, and those of the others that occur."""
    shown = {*USUAL, *verdicts}
    return {verdict: look for verdict, look in VERDICTS.items() if verdict in shown}


@dataclass(frozen=True)
class Row:
    """One system's score, or how far it is from the baseline's."""

    system: str
    estimate: float | None
    low: float | None
    high: float | None
    standing: str = ""
    """One of the standings that `draw` is given."""
    more: str = ""
    """For the tooltip: what the tests say, or why there is no value."""


@dataclass(frozen=True)
class Panel:
    """One score of all systems."""

    score: str
    rows: Sequence[Row]
    """In the order they are shown, the same in all panels."""
    digits: int
    """After the point."""
    higher_is_better: bool = True
    line: float | None = None
    """Where a dashed line stands: the baseline's estimate, or zero."""
    signed: bool = False


def draw(panels: Sequence[Panel], standings: Standings | None = None, width: float = WIDTH) -> Any:
    """One panel per score, side by side as far as they fit into the width."""
    room = width_of([row.system for row in panels[0].rows]) + 16
    across = columns(len(panels), width - room)
    size = max(90.0, (width - room - 18 * (across - 1)) / across)
    charts = [_panel(panel, standings or {}, size, width, i % across == 0) for i, panel in enumerate(panels)]
    return side_by_side(charts, across)


def _panel(panel: Panel, standings: Standings, width: float, whole: float, labels: bool) -> Any:
    values = [
        {
            "system": row.system,
            "estimate": row.estimate,
            "low": row.low,
            "high": row.high,
            "standing": row.standing,
            "size": 45
            if standings.get(row.standing, ("", "circle"))[1] == "circle"
            else 75,  # so that all look equally heavy
            "shown": number(row.estimate, panel.digits, panel.signed),
            "interval": interval(row.low, row.high, panel.digits),
            "more": row.more,
        }
        for row in panel.rows
    ]
    order = [row.system for row in panel.rows]
    beside = {} if labels else {"labels": False}
    axis = alt.Axis(grid=False, ticks=False, domain=False, **beside)
    y = alt.Y("system:N", scale=alt.Scale(domain=order), title=None, axis=axis)
    scale = alt.Scale(zero=False, nice=False, padding=8)
    sign = {"labelExpr": SIGNED} if panel.signed else {}
    ticks = alt.Axis(tickCount=max(4, int(width // 50)), domain=False, **sign)
    title = headed(panel.score, panel.higher_is_better)
    colour: Any = alt.ColorValue(BETTER)
    shape: Any = alt.ShapeValue("circle")
    size: Any = alt.SizeValue(45)
    if standings:
        colour, shape = fixed(standings, whole, "standing")
        size = alt.Size("size:Q", scale=None)
    tooltip = [alt.Tooltip("system:N", title="system"), alt.Tooltip("shown:N", title=title)]
    tooltip += [alt.Tooltip("interval:N", title="interval")]
    tooltip += [alt.Tooltip("standing:N", title="verdict")] if standings else []
    tooltip += [alt.Tooltip("more:N", title="more")] if any(row.more for row in panel.rows) else []
    base = alt.Chart(Values(values)).encode(y=y, color=colour, tooltip=tooltip)
    bounds = base.mark_rule(strokeWidth=2).encode(
        x=alt.X("low:Q", title=title, scale=scale, axis=ticks), x2=alt.X2("high:Q")
    )
    points = base.mark_point(filled=True, opacity=1).encode(x=alt.X("estimate:Q"), shape=shape, size=size)
    layers = [bounds, points]
    if panel.line is not None:
        line = alt.Chart(Values([{"line": panel.line}])).mark_rule(style="zero").encode(x=alt.X("line:Q"))
        layers.insert(0, line)
    return alt.layer(*layers).properties(width=round(width), height=22 * len(order))
