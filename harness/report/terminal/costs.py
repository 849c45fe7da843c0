"""What runs would take, and what they share: the tables of dry runs and of the caches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from harness.report.terminal.generation_line import price
from harness.report.terminal.layout import Columns, show
from harness.report.terminal.summary import console


def print_dry_run(runs: Sequence[Mapping[str, Any]]) -> None:
    """What runs would do, a row each, with a total where there are several."""
    counted = {"examples": "examples", "outputs": "outputs", "journal": "in the journal", "cached": "cached"}
    counted |= {"generate": "to generate", "input_tokens": "tokens in", "output_tokens": "tokens out"}
    priced = any(run["cost"] is not None for run in runs)
    heads = [*counted.values(), "time", *(["cost"] if priced else [])]
    shown = Columns(("run", "left"), *((head, "right") for head in heads))
    total: dict[str, Any] = {
        field: None if any(run[field] is None for run in runs) else sum(run[field] for run in runs)
        for field in (*counted, "seconds", "cost")
    }
    names = [run["name"] if run["cell"] is None else f"{run['name']} {run['cell']}" for run in runs]
    for name, costs in [*zip(names, runs, strict=True), *([("total", total)] if len(runs) > 1 else [])]:
        cells = ["unknown" if costs[field] is None else f"{costs[field]:,}" for field in counted]
        cells.append("unknown" if costs["seconds"] is None else str(timedelta(seconds=round(costs["seconds"]))))
        if priced:
            cells.append("unknown" if costs["cost"] is None else price(costs["cost"]))
        shown.add_row(name, *cells)
    out = console()
    show(out, shown)
    out.print("A dry run: nothing was generated or written. Tokens, time and cost are estimates.", style="dim")


def print_cache(folder: str, outputs: Any, systems: Mapping[str, Any], arrays: Any) -> None:
    """How full the shared caches are, outputs by system."""
    heads = (("", "left"), ("entries", "right"), ("size", "right"), ("least recently used", "left"))
    shown = Columns(*heads, title=f"in {folder}")
    named = [("outputs", outputs), *((f"  {name}", of) for name, of in systems.items()), ("embeddings", arrays)]
    for name, usage in named:
        used = datetime.fromtimestamp(usage.oldest).strftime("%Y-%m-%d %H:%M") if usage.oldest else ""
        shown.add_row(name, f"{usage.entries:,}", _size(usage.size), used)
    out = console()
    show(out, shown)


def _size(size: int) -> str:
    for unit, factor in (("GB", 10**9), ("MB", 10**6), ("KB", 10**3)):
        if size >= factor:
            return f"{size / factor:.1f} {unit}"
    return f"{size} B"
