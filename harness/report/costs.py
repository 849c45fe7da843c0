"""What runs would take, and what they share: the tables of dry runs and of the caches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from harness.report.columns import Columns, show
from harness.report.terminal import console


def print_dry_run(found: Sequence[Mapping[str, Any]]) -> None:
    """What runs would do, a row each, with a total where there are several."""
    counted = {"examples": "examples", "outputs": "outputs", "journal": "in the journal", "cached": "cached"}
    counted |= {"generate": "to generate", "input_tokens": "tokens in", "output_tokens": "tokens out"}
    priced = any(one["cost"] is not None for one in found)
    heads = [*counted.values(), "time", *(["cost"] if priced else [])]
    shown = Columns(("run", "left"), *((head, "right") for head in heads))
    total: dict[str, Any] = {
        field: None if any(one[field] is None for one in found) else sum(one[field] for one in found)
        for field in (*counted, "seconds", "cost")
    }
    for name, one in [*((one["name"], one) for one in found), *([("total", total)] if len(found) > 1 else [])]:
        cells = ["unknown" if one[field] is None else f"{one[field]:,}" for field in counted]
        cells.append("unknown" if one["seconds"] is None else str(timedelta(seconds=round(one["seconds"]))))
        if priced:
            cells.append("unknown" if one["cost"] is None else f"{one['cost']:.2f}")
        shown.add_row(name, *cells)
    out = console()
    show(out, shown)
    out.print("A dry run: nothing was generated or written. Tokens, time and cost are estimates.", style="dim")


def print_cache(folder: str, outputs: Any, systems: Mapping[str, Any], arrays: Any) -> None:
    """How full the shared caches are, outputs by system."""
    heads = (("", "left"), ("entries", "right"), ("size", "right"), ("least recently used", "left"))
    shown = Columns(*heads, title=f"in {folder}")
    named = [("outputs", outputs), *((f"  {name}", one) for name, one in systems.items()), ("embeddings", arrays)]
    for name, one in named:
        used = datetime.fromtimestamp(one.oldest).strftime("%Y-%m-%d %H:%M") if one.oldest else ""
        shown.add_row(name, f"{one.entries:,}", _size(one.size), used)
    out = console()
    show(out, shown)


def _size(size: int) -> str:
    for unit, factor in (("GB", 10**9), ("MB", 10**6), ("KB", 10**3)):
        if size >= factor:
            return f"{size / factor:.1f} {unit}"
    return f"{size} B"
