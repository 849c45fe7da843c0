"""Colours and shapes: legends that fit the width, systems by the theme's palette with shapes beside it, so that more
systems than colours differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from harness.report.charts.shown_values import Values
from harness.report.charts.theme import SHAPES, WIDTH, width_of

SIGNED = "datum.value == 0 ? '0' : format(datum.value, '+~r')"
"""Labels of an axis of differences: +20, 0, −0.05."""
ROOM = 8
"""Pixels that a number at the top of an upright axis reaches above it, at most."""


def systems(names: Sequence[str], width: float = WIDTH, field: str = "system") -> tuple[Any, Any]:
    """(colour, shape) of the names, in one legend; alone, a name needs none."""
    legend = None if len(names) == 1 else _legend(names, width)
    shapes = [SHAPES[i % len(SHAPES)] for i in range(len(names))]
    colour = alt.Color(f"{field}:N", scale=alt.Scale(domain=list(names)), legend=legend)
    shape = alt.Shape(f"{field}:N", scale=alt.Scale(domain=list(names), range=shapes), legend=legend)
    return colour, shape


def fixed(looks: Mapping[str, tuple[str, str]], width: float = WIDTH, field: str = "verdict") -> tuple[Any, Any]:
    """(colour, shape) of what always looks the same, such as verdicts."""
    legend, domain = _legend(list(looks), width), list(looks)
    colours, shapes = zip(*looks.values(), strict=True)
    colour = alt.Color(f"{field}:N", scale=alt.Scale(domain=domain, range=list(colours)), legend=legend)
    shape = alt.Shape(f"{field}:N", scale=alt.Scale(domain=domain, range=list(shapes)), legend=legend)
    return colour, shape


def _legend(names: Sequence[str], width: float) -> Any:
    """As many columns as fit."""
    return alt.Legend(columns=max(1, min(len(names), int(width // (width_of(names) + 34)))), symbolOpacity=1)


def titled(layers: Sequence[Any], title: Any, width: float, height: float) -> Any:
    """The layers as a panel with a title. Its title stands above room for half a number, whether the topmost one of the
    upright axis needs it or not, so that panels side by side align."""
    room = alt.Chart(Values([{}])).mark_rule(opacity=0)
    above = room.encode(x=alt.XValue(0), y=alt.YValue(-ROOM), y2=alt.Y2Value(0))
    return alt.layer(*layers, above).properties(width=round(width), height=height, title=title)


def headed(score: str, higher_is_better: bool) -> str:
    """What stands above a panel of a score."""
    return score if higher_is_better else f"{score} (lower is better)"


def side_by_side(panels: Sequence[Any], columns: int, **more: Any) -> Any:
    """A figure of these panels; of one alone, the panel itself, which then keeps its legend."""
    return panels[0] if len(panels) == 1 else alt.concat(*panels, columns=columns, **more)
