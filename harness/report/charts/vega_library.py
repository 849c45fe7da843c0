"""Vega, Vega-Lite and vega-embed as one script, with which a browser draws charts.

vl-convert bundles them anew each time it is asked, which takes it more than a second, a third of what a small report
takes: so what it made is kept on disk.
"""

from __future__ import annotations

from hashlib import sha256
from importlib.metadata import version

from harness.compiled import made_once


def bundle(exported: str = "") -> str:
    """The script; `exported`: JavaScript that makes of it what is needed, by default what vl-convert does."""
    places = made_once.folders(__file__)
    name = f"vega-{version('vl-convert-python')}-{sha256(exported.encode()).hexdigest()[:8]}.js"
    kept = made_once.read(places, name)
    if kept is not None:
        return kept.decode()
    import vl_convert

    script: str = vl_convert.javascript_bundle(exported) if exported else vl_convert.javascript_bundle()  # type: ignore[call-arg]
    made_once.keep(places, name, script.encode())
    return script
