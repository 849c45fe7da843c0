"""Colours and shapes of systems: the theme's palette, shapes beside it so that more systems than colours differ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt

from harness.report.figures.theme import SHAPES


def systems(names: Sequence[str], field: str = "system") -> tuple[Any, Any]:
    """(colour, shape) of the names; both in one legend. Alone, a name needs none."""
    legend = {"legend": None} if len(names) == 1 else {"legend": alt.Legend(columns=_columns(names))}
    shapes = [SHAPES[i % len(SHAPES)] for i in range(len(names))]
    colour = alt.Color(f"{field}:N", scale=alt.Scale(domain=list(names)), **legend)
    shape = alt.Shape(f"{field}:N", scale=alt.Scale(domain=list(names), range=shapes), **legend)
    return colour, shape


def _columns(names: Sequence[str]) -> int:
    """Of a legend: few where names are long."""
    return max(1, min(len(names), 90 // (max(map(len, names)) + 5)))
