"""How single examples differ between a system and the one it is measured against: a histogram for each system and
score, wins, ties and losses by colour, zero dashed and the mean a triangle below the axis.

Ties stand on one value and may be most examples: what is won and lost sets the scale, and a bar of ties that does not
fit is cut, with its share written beside it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from harness.report.charts.scales import SIGNED, side_by_side, titled
from harness.report.charts.shown_values import Values
from harness.report.charts.theme import BETTER, EXTENT, NEUTRAL, WIDTH, WORSE, columns, number

LEAST = 140
"""Width of a panel."""
HEIGHT, MARGIN = 70, 10
"""Of a panel, and of the strip between it and its axis."""
OUTCOMES = {"won": BETTER, "tied": NEUTRAL, "lost": WORSE}


@dataclass(frozen=True)
class Bar:
    low: float
    high: float
    outcome: str
    share: float
    below: float
    """Share that it stands on."""
    count: int


@dataclass(frozen=True)
class Panel:
    """One system by one score."""

    system: str
    score: str
    bars: Sequence[Bar]
    reach: float
    """The scale goes from minus this to plus this."""
    mean: float
    digits: int
    """After the point."""
    won: float
    tied: float
    lost: float


def draw(panels: Sequence[Panel], width: float = WIDTH) -> Any:
    """A panel for each system and score: one row per system where all scores fit side by side, else per score."""
    systems, scores = list(dict.fromkeys(p.system for p in panels)), list(dict.fromkeys(p.score for p in panels))
    most = max(1, int(width // LEAST))
    rows = len(scores) <= most or len(systems) > most
    across = columns(len(scores if rows else systems), width, LEAST)
    ranks = {id(p): (systems.index(p.system), scores.index(p.score)) for p in panels}
    panels = sorted(panels, key=lambda panel: ranks[id(panel)] if rows else ranks[id(panel)][::-1])
    size = (width - 46 * across) / across
    tallest = {panel.score: _tallest([other for other in panels if other.score == panel.score]) for panel in panels}
    charts = [_panel(panel, tallest[panel.score], size) for panel in panels]
    table = {"usermeta": {"row": across}} if len(systems) > 1 and len(scores) > 1 else {}
    return side_by_side(charts, across, **table)


def _tallest(panels: Sequence[Panel]) -> float:
    """Of what is won and lost; of ties where there is nothing else."""
    bars = [bar for panel in panels for bar in panel.bars]
    decided = [bar.below + bar.share for bar in bars if bar.outcome != "tied"]
    whole = max(bar.below + bar.share for bar in bars)
    return min(whole, 1.15 * max(decided)) if decided else whole


def _panel(panel: Panel, tallest: float, width: float) -> Any:
    values = [
        {
            "low": bar.low,
            "high": bar.high,
            "from": bar.below,
            "to": min(bar.below + bar.share, tallest),
            "outcome": bar.outcome,
            "range": f"{number(bar.low, panel.digits, True)} to {number(bar.high, panel.digits, True)}",
            "count": bar.count,
            "share": f"{bar.share:.1%}",
        }
        for bar in panel.bars
    ]
    tick, step = _tick(panel.reach), _tick(tallest, 1.0) / 2
    x = alt.X(
        "low:Q",
        title=f"difference in {panel.score}",
        scale=alt.Scale(domain=[-panel.reach, panel.reach], nice=False),
        axis=alt.Axis(grid=False, labelExpr=SIGNED, values=[-tick, 0, tick], offset=MARGIN),
    )
    y = alt.Y(
        "from:Q",
        title=None,
        scale=alt.Scale(domain=[0, tallest]),
        axis=alt.Axis(format="~%", values=_up_to(tallest, step), domain=False, ticks=False, minExtent=EXTENT),
    )
    domain = list(OUTCOMES)
    colour = alt.Color("outcome:N", scale=alt.Scale(domain=domain, range=list(OUTCOMES.values())))
    bars = (
        alt.Chart(Values(values))
        .mark_rect(opacity=0.85)
        .encode(
            x=x,
            x2=alt.X2("high:Q"),
            y=y,
            y2=alt.Y2("to:Q"),
            color=colour,
            tooltip=[
                alt.Tooltip("range:N", title="difference"),
                alt.Tooltip("outcome:N", title="outcome"),
                alt.Tooltip("count:Q", title="examples"),
                alt.Tooltip("share:N", title="share"),
            ],
        )
    )
    zero = alt.Chart(Values([{"low": 0.0}])).mark_rule(style="zero").encode(x=alt.X("low:Q"))
    means = [{"low": panel.mean, "mean": number(panel.mean, panel.digits, True)}]
    mean = (
        alt.Chart(Values(means))
        .mark_point(style="mean", filled=True, shape="triangle-up", size=45, opacity=1)
        .encode(
            x=alt.X("low:Q"),
            y=alt.YValue(HEIGHT + MARGIN / 2),
            tooltip=[alt.Tooltip("mean:N", title="mean difference")],
        )
    )
    cut = [
        {"low": (bar.low + bar.high) / 2, "from": tallest, "share": f"{bar.share:.0%}"}
        for bar in panel.bars
        if bar.below + bar.share > tallest
    ]
    ties = alt.Chart(Values(cut)).encode(x=alt.X("low:Q"), y=alt.Y("from:Q"), text=alt.Text("share:N"))
    written = [ties.mark_text(style=style, dx=6, align="left", baseline="top") for style in ("halo", "number")]
    shares = f"won {panel.won:.0%}, tied {panel.tied:.0%}, lost {panel.lost:.0%}"
    title = alt.Title(panel.system, subtitle=shares, fontSize=11, subtitleFontSize=10, offset=4)
    layers = [bars, zero, *(written if cut else ()), mean]
    return titled(layers, title, width, HEIGHT)


def _tick(reach: float, room: float = 0.8) -> float:
    """The largest round number that leaves room for its label.

    >>> _tick(0.34), _tick(28.0), _tick(100)
    (0.2, 20.0, 50.0)
    """
    most = reach * room
    power = 10.0 ** math.floor(math.log10(most))
    return float(f"{max(step * power for step in (1, 2, 5) if step * power <= most):.6g}")


def _up_to(top: float, step: float) -> list[float]:
    """
    >>> _up_to(0.36, 0.1)
    [0.0, 0.1, 0.2, 0.3]
    """
    return [float(f"{i * step:.6g}") for i in range(math.floor(top / step + 1e-9) + 1)]
