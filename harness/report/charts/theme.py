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
EXTENT = 36
"""Least room for the numbers of an upright axis, so that panels below each other begin at one place."""
LEAST = 300.0
"""Pixels that a panel wants on a page."""
SHAPES = ["circle", "square", "triangle-up", "diamond", "triangle-down", "cross", "triangle-right"]


def _config(ink: str, quiet: str, grid: str, paper: str, palette: Sequence[str]) -> dict[str, Any]:
    axis = {
        "labelColor": ink, "titleColor": ink, "domainColor": quiet, "tickColor": quiet, "gridColor": grid,
        "labelFontSize": 11, "titleFontSize": 12, "titleFontWeight": "normal", "tickSize": 4, "labelPadding": 3,
        "labelLimit": 320, "titlePadding": 6, "gridWidth": 0.75, "labelFlush": False, "labelSeparation": 8,
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
    ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#1a1a1a", "#8428d8"],
)  # fmt: skip
DARK = _config(
    "#e6e6e6", "#a3a3a3", "#3a3a3a", "#1a1a1a",
    ["#56b4e9", "#e8823a", "#1fa37c", "#dd9bc0", "#f0d132", "#9a5cf5", "#f4f4d0", "#f04860"],
)  # fmt: skip


def themed(chart: Any, dark: bool = False, background: str = "transparent") -> Any:
    """The chart with the theme in it, to be shown or saved as it is."""
    copy = chart.copy(deep=False)
    copy.config = {**(DARK if dark else LIGHT), "background": background}
    return copy


def responsive(spec: Mapping[str, Any]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """(the legend for wide and for narrow windows, if there is one; the panels) of a figure's spec (`chart.to_dict()`),
    each a spec of its own.

    Vega-Lite gives no fluid width to panels side by side, so a page lays them out by itself (a grid of CSS), the legend
    above in a row of its own. Each panel has all its labels and is as wide as its container; what has its width by its
    content (a matrix) keeps it. A figure of one panel keeps its legend. `usermeta` of a panel says how many pixels it
    wants at `least`, without the labels `beside` it, which those after the first of a row need not repeat, how many the
    labels `below` it take side by side, and how many panels make a `row` that belongs together.
    """
    data = spec.get("datasets", {})
    parts = spec.get("concat") or [spec]
    panels = []
    for part in parts:
        own = {**_alone(part, data, len(parts) > 1), "$schema": spec["$schema"]}
        own.pop("datasets", None)
        own["usermeta"] = {**_room(own), **(spec.get("usermeta") or {})}
        if not isinstance(own.get("width"), dict):  # by step
            own["width"], own["padding"] = "container", {"left": 4, "top": 4, "right": 14, "bottom": 4}
        panels.append(own)
    encodings = list(_encodings(parts[0]))
    legends = [_legend(encodings, spec["$schema"], width) for width in (1_000, 330)] if len(parts) > 1 else []
    return [legend for legend in legends if legend], panels


def _room(panel: Mapping[str, Any]) -> dict[str, float]:
    """How much room a panel wants."""
    axes: dict[str, Any] = {}
    for encoding in _encodings(panel):
        axes = {**{k: v for k, v in encoding.items() if k in ("x", "y")}, **axes}
    names = {axis: ((at.get("scale") or {}).get("domain") or []) for axis, at in axes.items()}
    nominal = {axis: at.get("type") == "nominal" for axis, at in axes.items()}
    beside = width_of(names["y"]) + 12 if nominal.get("y") else 0.0
    if isinstance(panel.get("width"), dict):
        return {"least": panel["width"]["step"] * len(names["x"]) + beside + 12, "beside": 0.0, "below": 0.0}
    lines = [line for name in names["x"] for line in name.split("\n")] if nominal.get("x") else []
    below = len(names["x"]) * (width_of(lines, 10) + 6) if lines else 0.0
    return {"least": 170.0 if beside else LEAST, "beside": beside, "below": below}


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


def _legend(encodings: Sequence[Mapping[str, Any]], schema: str, width: float) -> dict[str, Any] | None:
    """The legend of these encodings' colours and shapes as a picture of its own."""
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
    """How many panels stand side by side: as many as fit, rows evenly filled, none alone in the last row; rather than
    that, panels are a quarter narrower, or stand below each other.

    >>> columns(5, 640), columns(7, 640, 200), columns(3, 400, 190)
    (3, 4, 1)
    """
    most = max(1, min(panels, int(width // least)))
    across = -(-panels // -(-panels // most))
    if across == 1 or panels % across != 1:
        return across
    narrower = range(across + 1, min(panels, int(width // (0.75 * least))) + 1)
    wider = range(across - 1, 1, -1)
    return next((count for count in (*narrower, *wider) if panels % count != 1), 1)


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
    """The names as labels: cut in the middle where they are longer, and so that different names stay different, at
    another place or at a greater length if need be.

    >>> short(["a" * 40 + "1", "a" * 40 + "2", "b"], 9)
    ['aaaa…aaa1', 'aaaa…aaa2', 'b']
    >>> short(["model-x-of-a-long-name", "model-y-of-a-long-name"], 12)
    ['model-x…name', 'model-y…name']
    """
    clean = [plain(name) or "(no name)" for name in names]
    different = len(set(clean))
    longest = max(map(len, clean), default=0)
    for size in (limit, limit * 3 // 2, limit * 2, limit * 3):
        if size >= longest:
            break
        heads = sorted(range(1, size - 1), key=lambda head: abs(head - size // 2))
        for head in heads if size > 3 else ():
            labels = [_cut(name, size, head) for name in clean]
            if len(set(labels)) == different:
                return _counted(labels)
    return _counted(clean)


def _cut(name: str, size: int, head: int) -> str:
    return name if len(name) <= size else f"{name[:head]}…{name[len(name) - (size - head - 1) :]}"


def _counted(labels: Sequence[str]) -> list[str]:
    """Names that are the same, numbered."""
    made: list[str] = []
    for label in labels:
        numbered, again = label, 1
        while numbered in made:
            again += 1
            numbered = f"{label} ({again})"
        made.append(numbered)
    return made


def width_of(labels: Sequence[str], size: float = 11) -> float:
    """About how wide the longest label is, in pixels."""
    return max((sum(1.0 if ord(c) > 0x2E80 else 0.55 for c in label) for label in labels), default=0) * size


def number(value: float | None, digits: int, signed: bool = False) -> str:
    return "none" if value is None else f"{value:{'+' if signed else ''}z,.{digits}f}".replace("-", "−")


def interval(low: float | None, high: float | None, digits: int) -> str:
    return "none" if low is None or high is None else f"[{number(low, digits)}, {number(high, digits)}]"
