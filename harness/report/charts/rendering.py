"""A figure as a file: PDF, PNG and SVG through vl-convert, which needs no browser and no network; its Vega-Lite spec as
JSON; a page of HTML with all its scripts in it. Same figure, same bytes."""

from __future__ import annotations

import html
import json
import zlib
from collections.abc import Sequence
from typing import Any

from harness.report.charts.theme import LIGHT, themed
from harness.report.charts.vega_library import bundle
from harness.types import Figure, HarnessError

SUFFIXES = (".pdf", ".png", ".svg", ".json", ".html")
SCALE = 2.5
"""Pixels of a PNG for one of the figure."""


def rendered(figure: Figure, suffix: str, dark: bool = False) -> bytes:
    """The content of a file of this kind."""
    if suffix == ".html":
        return page([figure])
    paper = "#1a1a1a" if dark else "#ffffff"  # viewers of pictures show transparency in black or in checks
    spec = themed(figure.chart, dark, paper if suffix == ".png" else "transparent").to_dict()
    if suffix == ".json":
        return (json.dumps(spec, indent=1, ensure_ascii=False) + "\n").encode()
    import vl_convert

    version = ".".join(spec["$schema"].rsplit("/v", 1)[1].split(".")[:2])
    if suffix == ".pdf":
        return bytes(vl_convert.vegalite_to_pdf(spec, vl_version=version))
    if suffix == ".png":
        return _smaller(bytes(vl_convert.vegalite_to_png(spec, vl_version=version, ppi=72 * SCALE)))
    if suffix == ".svg":
        return str(vl_convert.vegalite_to_svg(spec, vl_version=version)).encode()
    raise HarnessError(
        f"no figure can be written as {suffix or 'a file without a suffix'}; expected {' '.join(SUFFIXES)}"
    )


def _smaller(png: bytes) -> bytes:
    """The same picture compressed better, to a quarter or so: vl-convert is in a hurry."""
    kept, pixels, i = [], b"", 8
    while i < len(png):
        size = int.from_bytes(png[i : i + 4], "big")
        kind, content, i = png[i + 4 : i + 8], png[i + 8 : i + 8 + size], i + 12 + size
        if kind == b"IDAT":
            pixels += content
        else:
            kept.append((kind, content))
    kept.insert(-1, (b"IDAT", zlib.compress(zlib.decompress(pixels), 9)))
    parts = [len(c).to_bytes(4, "big") + k + c + zlib.crc32(k + c).to_bytes(4, "big") for k, c in kept]
    return png[:8] + b"".join(parts)


def page(figures: Sequence[Figure]) -> bytes:
    """One page with the figures, their titles and captions, that opens with no network."""
    parts = [
        f"<figure><h2>{html.escape(figure.title)}</h2><div id='figure{i}'></div>"
        f"<figcaption>{html.escape(figure.caption)}</figcaption></figure>"
        for i, figure in enumerate(figures)
    ]
    specs = [_script(figure.chart.to_dict()) for figure in figures]
    shown = "{config: theme, renderer: 'svg', actions: false}"
    calls = [f"vegaEmbed('#figure{i}', {spec}, {shown});" for i, spec in enumerate(specs)]
    title = html.escape(", ".join(figure.title for figure in figures))
    return "\n".join(
        [
            "<!doctype html>",
            f"<html lang='en'><head><meta charset='utf-8'><title>{title}</title>",
            "<meta name='viewport' content='width=device-width, initial-scale=1'>",
            f"<style>{STYLE}</style></head><body>",
            *parts,
            f"<script>{bundle()}</script>",
            f"<script>const theme = {_script(LIGHT)};",
            *calls,
            "</script></body></html>\n",
        ]
    ).encode()


STYLE = (
    "body{font-family:system-ui,sans-serif;color:#222;margin:2em auto;max-width:60em;padding:0 1em}"
    "h2{font-size:1.1em}figure{margin:0 0 3em;overflow-x:auto}figcaption{color:#555;max-width:45em;line-height:1.4}"
)


def _script(value: Any) -> str:
    """JSON inside of a script: nothing in it ends the script."""
    return json.dumps(value).replace("<", "\\u003c")
