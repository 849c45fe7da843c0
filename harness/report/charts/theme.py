"""How all figures look: colours that colour-blind people can tell apart (Okabe and Ito 2008), the system's sans-serif,
no background, so that the same figure stands on white paper and on a dark page.

A figure carries no colours of text, axes or palette itself: `LIGHT` and `DARK` are Vega-Lite configs that whoever shows
it puts on top, `themed` does it for a chart, `responsive` makes of a figure's spec panels that fill their containers.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

WIDTH = 640
"""Of a figure in pixels unless asked otherwise; 320 suits a column of a paper."""
FONT = "system-ui, 'Helvetica Neue', Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif"
BETTER, WORSE, NEUTRAL = "#2b83ba", "#d7641c", "#8f8f8f"
"""Blue and vermilion, apart for colour-blind eyes and in grey print; both clear on white and on black."""
SHAPES = ["circle", "square", "triangle-up", "diamond", "triangle-down", "cross", "triangle-right"]


def _config(ink: str, quiet: str, grid: str, paper: str, palette: Sequence[str]) -> dict[str, Any]:
    axis = {
        "labelColor": ink, "titleColor": ink, "domainColor": quiet, "tickColor": quiet, "gridColor": grid,
        "labelFontSize": 11, "titleFontSize": 12, "titleFontWeight": "normal", "tickSize": 4, "labelPadding": 3,
        "labelLimit": 220, "titlePadding": 6, "gridWidth": 0.75,
    }  # fmt: skip
    return {
        "background": "transparent",
        "font": FONT,
        "padding": 4,
        "view": {"stroke": None},
        "axis": axis,
        "legend": {
            "orient": "top", "direction": "horizontal", "title": None, "labelColor": ink, "titleColor": ink,
            "labelFontSize": 11, "labelLimit": 260, "symbolSize": 70, "columnPadding": 14, "padding": 0, "offset": 6,
            "symbolStrokeWidth": 1.5,
        },
        "title": {"color": ink, "fontSize": 13, "fontWeight": 600, "anchor": "start", "subtitleColor": quiet},
        "header": {"labelColor": ink, "titleColor": ink, "labelFontSize": 12},
        "concat": {"spacing": 18},
        "range": {"category": list(palette), "symbol": SHAPES, "heatmap": {"scheme": "cividis"}},
        "style": {
            "zero": {"color": quiet, "strokeWidth": 1, "strokeDash": [4, 3]},
            "frame": {"color": ink, "stroke": ink, "strokeWidth": 1.5, "fill": None},
            "note": {"color": quiet, "fontSize": 11},
            "number": {"color": ink, "fontSize": 11},
            "halo": {"stroke": paper, "strokeWidth": 4, "strokeJoin": "round", "color": paper, "opacity": 0.9},
            "mean": {"color": ink, "strokeWidth": 1.5},
            "blank": {"fill": grid, "opacity": 0.5},
        },
    }  # fmt: skip


LIGHT = _config(
    "#222222", "#6e6e6e", "#e4e4e4", "#ffffff",
    ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#595959", "#8a7a00"],
)  # fmt: skip
DARK = _config(
    "#e6e6e6", "#a3a3a3", "#3a3a3a", "#1a1a1a",
    ["#56b4e9", "#e8823a", "#2fc29a", "#dd9bc0", "#f0b732", "#8fa8ff", "#b8b8b8", "#d6cb52"],
)  # fmt: skip


def themed(chart: Any, dark: bool = False, background: str = "transparent") -> Any:
    """The chart with the theme in it, to be shown or saved as it is."""
    copy = chart.copy(deep=False)
    copy.config = {**(DARK if dark else LIGHT), "background": background}
    return copy


def responsive(spec: Mapping[str, Any]) -> tuple[dict[str, Any] | None, list[dict[str, Any]]]:
    """(the legend, the panels) of a figure's spec (`chart.to_dict()`), each a spec of its own.

    Vega-Lite gives no fluid width to panels side by side, so a page lays them out by itself (a grid of CSS), the legend
    above in a row of its own. Each panel has all its labels and is as wide as its container; what has its width by its
    content (a matrix) keeps it. A figure of one panel keeps its legend.
    """
    data = spec.get("datasets", {})
    parts = spec.get("concat") or [spec]
    panels = []
    for part in parts:
        own = {**_alone(part, data, len(parts) > 1), "$schema": spec["$schema"]}
        own.pop("datasets", None)
        if not isinstance(own.get("width"), dict):  # by step
            own["width"] = "container"
        panels.append(own)
    encodings = list(_encodings(parts[0]))
    return (_legend(encodings, spec["$schema"]) if len(parts) > 1 else None), panels


def _alone(value: Any, data: Mapping[str, Any], no_legend: bool) -> Any:
    """A part of a spec with its data in it, all its labels and, where asked, no legend."""
    if isinstance(value, list):
        return [_alone(item, data, no_legend) for item in value]
    if not isinstance(value, dict):
        return value
    if set(value) == {"name"} and value["name"] in data:
        return {"values": data[value["name"]]}
    own = {k: _alone(v, data, no_legend) for k, v in value.items() if not (k == "labels" and v is False)}
    for channel in ("color", "shape"):
        if no_legend and "field" in (own.get(channel) or {}):
            own[channel] = {**own[channel], "legend": None}
    return own


def _encodings(part: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield part.get("encoding", {})
    for layer in part.get("layer", ()):
        yield from _encodings(layer)


def _legend(encodings: Sequence[Mapping[str, Any]], schema: str, width: float = 330) -> dict[str, Any] | None:
    """The legend of these encodings' colours and shapes as a picture of its own, narrow enough for a phone."""
    scales = {}
    for channel in ("color", "shape"):
        coded = next((e[channel] for e in encodings if (e.get(channel, {}).get("scale") or {}).get("domain")), None)
        if coded is not None and coded.get("type") == "nominal" and coded.get("legend", True) is not None:
            scales[channel] = coded["scale"]
    if "color" not in scales:
        return None
    values, x, y = [], 6.0, 0
    for name in scales["color"]["domain"]:
        wide = width_of([name]) + 34
        if x > 6 and x + wide > width:
            x, y = 6.0, y + 18
        values.append({"name": name, "x": x, "y": y + 8, "at": x + 10})
        x += wide
    place = {"y": {"field": "y", "type": "quantitative", "scale": None, "axis": None}}
    across = {"type": "quantitative", "scale": None, "axis": None}
    marks = {k: {"field": "name", "type": "nominal", "scale": v, "legend": None} for k, v in scales.items()}
    return {
        "$schema": schema,
        "data": {"values": values},
        "width": width,
        "height": y + 16,
        "layer": [
            {
                "mark": {"type": "point", "filled": True, "opacity": 1, "size": 60},
                "encoding": {**place, "x": {"field": "x", **across}, **marks},
            },
            {
                "mark": {"type": "text", "align": "left", "baseline": "middle", "style": "number"},
                "encoding": {**place, "x": {"field": "at", **across}, "text": {"field": "name", "type": "nominal"}},
            },
        ],
    }


def columns(panels: int, width: float, least: float = 150) -> int:
    """How many panels stand side by side: as many as fit, rows evenly filled."""
    most = max(1, min(panels, int(width // least)))
    rows = -(-panels // most)
    return -(-panels // rows)


# ---------------------------------------------------------------- text

TURNING = {chr(code) for code in (*range(0x202A, 0x202F), *range(0x2066, 0x206A))}
"""Overrides and embeddings of the direction of text."""


def plain(text: object) -> str:
    """Text of a user in one line, as every renderer can show it: no control characters, no halves of characters, and
    nothing that turns the direction of what stands beside it.

    >>> plain("two" + chr(10) + "lines" + chr(0x202E))
    'two lines'
    """
    return " ".join("".join(map(_shown, str(text))).split())


def _shown(character: str) -> str:
    if character in TURNING:
        return ""
    category = unicodedata.category(character)
    return "\ufffd" if category == "Cs" else " " if category == "Cc" else character


def short(names: Sequence[str], limit: int = 28) -> list[str]:
    """The names as labels: cut in the middle where they are long, still different where the names are.

    >>> short(["a" * 40 + "1", "a" * 40 + "2", "b"], 9)
    ['aaaa…aaa1', 'aaaa…aaa2', 'b']
    """
    labels: list[str] = []
    for name in map(plain, names):
        label = name if len(name) <= limit else f"{name[: limit // 2]}…{name[len(name) - (limit - limit // 2 - 1) :]}"
        label, again = label or "(no name)", 1
        while label in labels:
            again += 1
            label = f"{label.removesuffix(f' ({again - 1})')} ({again})"
        labels.append(label)
    return labels


def width_of(labels: Sequence[str], size: float = 11) -> float:
    """About how wide the longest label is, in pixels."""
    return max((sum(1.0 if ord(c) > 0x2E80 else 0.55 for c in label) for label in labels), default=0) * size


def number(value: float | None, digits: int, signed: bool = False) -> str:
    return "none" if value is None else f"{value:{'+' if signed else ''},.{digits}f}".replace("-", "−")


def interval(low: float | None, high: float | None, digits: int) -> str:
    return "none" if low is None or high is None else f"[{number(low, digits)}, {number(high, digits)}]"
