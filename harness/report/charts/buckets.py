"""A score by bucket: one panel per score, the systems side by side in each bucket, with any intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from harness.report.charts.scales import headed, side_by_side, systems, titled
from harness.report.charts.shown_values import Values
from harness.report.charts.theme import EXTENT, WIDTH, columns, interval, number, width_of


@dataclass(frozen=True)
class Point:
    system: str
    bucket: int
    estimate: float | None
    low: float | None
    high: float | None
    n: int


@dataclass(frozen=True)
class Panel:
    """One score."""

    score: str
    points: Sequence[Point]
    digits: int
    """After the point."""
    higher_is_better: bool = True


@dataclass(frozen=True)
class Buckets:
    """What the examples were divided by."""

    field: str
    labels: Sequence[str]
    counts: Sequence[int] | None
    """The examples that each bucket has, where they are the same for all systems."""


@dataclass(frozen=True)
class _Frame:
    """What all panels of a figure share."""

    names: Sequence[str]
    """The systems'."""
    field: str
    labels: Mapping[int, str]
    """Of the buckets that are shown."""
    width: float
    """Of a panel."""
    whole: float
    """Of the figure."""
    turned: bool
    """Whether the labels are slanted, because they do not fit side by side."""


def draw(panels: Sequence[Panel], names: Sequence[str], buckets: Buckets, width: float = WIDTH) -> Any:
    """`names` are the systems'; of the buckets those with a score are shown."""
    used = sorted({point.bucket for panel in panels for point in panel.points})
    least = max(150, min(260, len(used) * (len(names) * 7 + 12)) + 40)
    across = columns(len(panels), width, least)
    size = max(110, (width - 52 * across) / across)
    labels, counts = buckets.labels, buckets.counts
    numbers = {i: f"n={counts[i]:,}" for i in used} if counts else {}
    turned = max(width_of([labels[i], numbers.get(i, "")], 10) for i in used) > size / len(used)
    join = " " if turned else "\n"
    shown = {i: f"{labels[i]}{join}{numbers[i]}" if numbers else labels[i] for i in used}
    frame = _Frame(names, buckets.field, shown, size, width, turned)
    charts = [_panel(panel, frame) for panel in panels]
    return side_by_side(charts, across)


def _panel(panel: Panel, frame: _Frame) -> Any:
    names, labels = frame.names, frame.labels
    values = [
        {
            "system": point.system,
            "bucket": labels[point.bucket],
            "estimate": point.estimate,
            "low": point.low,
            "high": point.high,
            "shown": number(point.estimate, panel.digits),
            "interval": interval(point.low, point.high, panel.digits),
            "n": point.n,
        }
        for point in panel.points
    ]
    title = headed(panel.score, panel.higher_is_better)
    room = frame.width / max(1, len(labels))
    turn = {"labelAngle": -40, "labelAlign": "right"} if frame.turned else {"labelAngle": 0}
    x = alt.X(
        "bucket:N",
        title=frame.field,
        scale=alt.Scale(domain=list(labels.values()), paddingInner=0.25, paddingOuter=0.1),
        axis=alt.Axis(
            labelExpr="split(datum.label, '\\n')", ticks=False, domain=False, labelLimit=130, labelFontSize=10, **turn
        ),
    )
    colour, shape = systems(names, frame.whole)
    base = alt.Chart(Values(values)).encode(
        x=x,
        xOffset=alt.XOffset("system:N", scale=alt.Scale(domain=list(names), paddingOuter=0.3)),
        color=colour,
        tooltip=[
            alt.Tooltip("system:N", title="system"),
            alt.Tooltip("bucket:N", title="bucket"),
            alt.Tooltip("shown:N", title=title),
            alt.Tooltip("interval:N", title="interval"),
            alt.Tooltip("n:Q", title="n", format=","),
        ],
    )
    scale = alt.Scale(zero=False, nice=False, padding=8)
    axis = alt.Axis(domain=False, ticks=False, tickCount=5, minExtent=EXTENT)
    bounds = base.mark_rule(strokeWidth=2).encode(
        y=alt.Y("low:Q", title=None, scale=scale, axis=axis), y2=alt.Y2("high:Q")
    )
    points = base.mark_point(filled=True, opacity=1, size=38 if room / len(names) > 9 else 22).encode(
        y=alt.Y("estimate:Q"), shape=shape
    )
    return titled([bounds, points], alt.Title(title, fontSize=12, fontWeight="normal"), frame.width, 150)
