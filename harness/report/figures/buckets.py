"""A score by bucket: a panel a score, the systems side by side in each bucket, with intervals where there are any."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from harness.report.figures.scales import systems
from harness.report.figures.theme import WIDTH, columns, interval, number, width_of
from harness.rounding import digits


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
    higher_is_better: bool = True


def draw(
    panels: Sequence[Panel],
    names: Sequence[str],
    labels: Sequence[str],
    counts: Sequence[int] | None,
    field: str,
    width: float = WIDTH,
) -> Any:
    """`names` are the systems', `labels` the buckets', of which those with a score are shown; `counts` the examples
    that each bucket has, where they are the same for all systems."""
    used = sorted({point.bucket for panel in panels for point in panel.points})
    least = max(150, min(260, len(used) * (len(names) * 7 + 12)) + 40)
    across = columns(len(panels), width, least)
    size = max(110, (width - 52 * across) / across)
    numbers = {i: f"n={counts[i]:,}" for i in used} if counts else {}
    turned = max(width_of([labels[i], numbers.get(i, "")], 10) for i in used) > size / len(used)
    join = " " if turned else "\n"
    said = {i: f"{labels[i]}{join}{numbers[i]}" if numbers else labels[i] for i in used}
    charts = [_panel(panel, names, said, field, size, width, turned) for panel in panels]
    return charts[0] if len(charts) == 1 else alt.concat(*charts, columns=across)


def _panel(
    panel: Panel,
    names: Sequence[str],
    labels: Mapping[int, str],
    field: str,
    width: float,
    whole: float,
    turned: bool,
) -> Any:
    places = digits([point.estimate for point in panel.points])
    values = [
        {
            "system": point.system,
            "bucket": labels[point.bucket],
            "estimate": point.estimate,
            "low": point.low,
            "high": point.high,
            "shown": number(point.estimate, places),
            "interval": interval(point.low, point.high, places),
            "n": point.n,
        }
        for point in panel.points
    ]
    title = panel.score if panel.higher_is_better else f"{panel.score} (lower is better)"
    room = width / max(1, len(labels))
    turn = {"labelAngle": -40, "labelAlign": "right"} if turned else {"labelAngle": 0}
    x = alt.X(
        "bucket:N",
        title=field,
        scale=alt.Scale(domain=list(labels.values()), paddingInner=0.25, paddingOuter=0.1),
        axis=alt.Axis(
            labelExpr="split(datum.label, '\\n')", ticks=False, domain=False, labelLimit=130, labelFontSize=10, **turn
        ),
    )
    colour, shape = systems(names, whole)
    base = alt.Chart(alt.InlineData(values=values)).encode(
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
    scale = alt.Scale(zero=False)
    axis = alt.Axis(domain=False, ticks=False, tickCount=5, labelFlush=True)
    bounds = base.mark_rule(strokeWidth=2).encode(y=alt.Y("low:Q", title=None, scale=scale, axis=axis), y2="high:Q")
    points = base.mark_point(filled=True, opacity=1, size=38 if room / len(names) > 9 else 22).encode(
        y="estimate:Q", shape=shape
    )
    return alt.layer(bounds, points).properties(
        width=round(width), height=150, title=alt.Title(title, fontSize=12, fontWeight="normal")
    )
