"""A score against a number, the training step of checkpoints or a parameter of a sweep: one panel per score, one
line per series, its intervals as a band; the best step and the earliest that cannot be told from it are ringed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import altair as alt

from harness.report.charts.scales import headed, side_by_side, systems, titled
from harness.report.charts.shown_values import Values
from harness.report.charts.theme import EXTENT, WIDTH, columns, interval, number

NUMBERS = (
    "abs(datum.value) >= 10000 ? format(datum.value, '~s') : "
    "abs(datum.value) < 0.001 && datum.value != 0 ? format(datum.value, '~e') : format(datum.value, '~r')"
)
"""10k, 500, 0.1, 1e-5."""
FEW = 30
"""Points of a series up to which each is marked."""


@dataclass(frozen=True)
class Point:
    series: str
    x: float
    estimate: float | None
    low: float | None
    high: float | None
    system: str
    """For the tooltip."""
    mark: str = ""
    """`best` or `earliest`."""


@dataclass(frozen=True)
class Panel:
    """One score."""

    score: str
    points: Sequence[Point]
    digits: int
    """After the point."""
    higher_is_better: bool = True
    line: float | None = None
    """The estimate of a baseline that has no step."""


def draw(panels: Sequence[Panel], across_title: str, width: float = WIDTH) -> Any:
    names = list(dict.fromkeys(point.series for panel in panels for point in panel.points))
    across = columns(len(panels), width, 200)
    size = max(110, (width - 58 * across) / across)
    charts = [_panel(panel, names, across_title, size, width) for panel in panels]
    return side_by_side(charts, across)


def spans_decades(values: Sequence[float]) -> bool:
    """Whether a logarithmic axis shows the values better: positive, far apart, and apart by factors.

    >>> spans_decades([1e-5, 1e-4, 1e-3]), spans_decades([100, 200, 300])
    (True, False)
    """
    known = sorted(set(values))
    if len(known) < 3 or known[0] <= 0 or known[-1] / known[0] < 30:
        return False
    gaps = [b - a for a, b in pairwise(known)]
    return max(gaps) >= 5 * min(gaps)


def _panel(panel: Panel, names: Sequence[str], across_title: str, width: float, whole: float) -> Any:
    values = [
        {
            "series": point.series,
            "x": point.x,
            "estimate": point.estimate,
            "low": point.low,
            "high": point.high,
            "shown": number(point.estimate, panel.digits),
            "interval": interval(point.low, point.high, panel.digits),
            "system": point.system,
            "mark": point.mark,
        }
        for point in sorted(panel.points, key=lambda point: (names.index(point.series), point.x))
    ]
    title = headed(panel.score, panel.higher_is_better)
    steps = [point.x for point in panel.points]
    log = {"type": "log"} if spans_decades(steps) else {"zero": False}
    few = {"values": sorted(set(steps))} if log.get("type") and len(set(steps)) <= width // 35 else {}
    numbers = {"labelExpr": NUMBERS, "tickCount": max(3, int(width // 60)), **few}
    colour, shape = systems(names, whole, "series")
    base = alt.Chart(Values(values)).encode(
        x=alt.X(
            "x:Q",
            title=across_title,
            scale=alt.Scale(nice=False, padding=8, **log),
            axis=alt.Axis(grid=False, **numbers),
        ),
        color=colour,
        tooltip=[
            alt.Tooltip("system:N", title="system"),
            alt.Tooltip("x:Q", title=across_title, format=",~g"),
            alt.Tooltip("shown:N", title=title),
            alt.Tooltip("interval:N", title="interval"),
        ],
    )
    y = alt.Y(
        "low:Q",
        title=None,
        scale=alt.Scale(zero=False, nice=False, padding=8),
        axis=alt.Axis(domain=False, ticks=False, tickCount=5, minExtent=EXTENT),
    )
    band = base.mark_area(opacity=0.18).encode(y=y, y2=alt.Y2("high:Q"))
    line = base.mark_line(strokeWidth=1.75).encode(y=alt.Y("estimate:Q"))
    layers = [band, line]
    most = max(sum(point.series == name for point in panel.points) for name in names)
    dots = base.mark_point(filled=True, opacity=1, size=28 if most <= FEW else 8).encode(y=alt.Y("estimate:Q"))
    layers.append(dots.encode(shape=shape))
    for mark, dash in (("best", [1, 0]), ("earliest", [2, 2])):
        if any(point.mark == mark for point in panel.points):
            ring = base.transform_filter(f"datum.mark == '{mark}'").mark_point(
                filled=False, shape="circle", size=150, strokeWidth=1.75, strokeDash=dash, opacity=1
            )
            layers.append(ring.encode(y=alt.Y("estimate:Q")))
    if panel.line is not None:
        zero = alt.Chart(Values([{"low": panel.line}])).mark_rule(style="zero").encode(y=alt.Y("low:Q"))
        layers.insert(0, zero)
    return titled(layers, alt.Title(title, fontSize=12, fontWeight="normal"), width, 150)
