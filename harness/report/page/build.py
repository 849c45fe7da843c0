"""The page as one text: template, style, scripts and packed data, with a policy that lets nothing else run.

The Content-Security-Policy names every script and style by its hash and forbids the network: even a text that came past
the escaping could not run, load or send anything. Charts are drawn by Vega's expression interpreter, which needs no
`eval`. Same content, same bytes.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from markupsafe import Markup

from harness.report.charts.vega_library import bundle
from harness.report.page.markup import visible
from harness.report.page.packed import at_once, clean, packed

FOLDER = Path(__file__).parent
STYLES = ("base", "page", "examples")
SCRIPTS = (
    "text", "diff", "data", "state", "query", "controls", "list", "marks", "alignment", "contexts", "detail", "charts",
    "tables", "theme", "keys", "main",
)  # fmt: skip
"""In the order in which they are joined: what a script uses at once stands before it."""


def build(content: Mapping[str, Any], blocks: Mapping[str, str], charts: str | None) -> str:
    """`content`: what page.html shows; `blocks`: the examples, packed, by name; `charts`: the figures, packed."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    script = "".join((FOLDER / "script" / f"{name}.js").read_text(encoding="utf-8") for name in SCRIPTS)
    script = f'"use strict";\n(() => {{\n{script}}})();\n'
    style = "".join((FOLDER / "style" / f"{name}.css").read_text(encoding="utf-8") for name in STYLES)
    vega = library() if charts else ""
    hashes = " ".join(_hash(source) for source in (script, vega) if source)
    policy = (
        f"default-src 'none'; script-src {hashes}; style-src {_hash(style)}; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )
    environment = Environment(
        loader=FileSystemLoader(FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["visible"] = visible
    plain = at_once(blocks)
    later = {"charts": charts, "library": packed(vega.encode())} if charts else {}
    parts = {"plain": set(plain or ()), "later": later}
    parts["blocks"] = {name: Markup(text) for name, text in (plain or blocks).items()}
    page: str = environment.get_template("page.html").render(
        **content, policy=Markup(policy), style=Markup(style), script=Markup(script), **parts
    )
    return clean(page)


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


@cache
def library() -> str:
    """A script that leaves `vegaEmbed` behind."""
    return f"(() => {{\n{bundle('globalThis.vegaEmbed = vegaEmbed;')}\n}})();\n"
