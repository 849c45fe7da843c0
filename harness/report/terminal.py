"""Tables and sentences for a terminal; plain text, as wide as needed, where the output is piped."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from harness.types import RunResult, Score


def console() -> Console:
    """Standard output; not folded at 80 columns where it is not a terminal."""
    if sys.stdout.isatty():
        return Console(highlight=False, markup=False)
    return Console(highlight=False, markup=False, width=240, no_color=True)


def number(value: float | None, digits: int) -> str:
    return "n/a" if value is None else f"{value:,.{digits}f}"


def digits_of(scores: Mapping[str, Score], name: str) -> int:
    """Two digits for scores out of 100, four for those out of 1: the same for a score, its bounds and sub-scores.

    None for counts, such as lengths.
    """
    if name.endswith("_len"):
        return 0
    family = [s for n, s in scores.items() if n.partition(".")[0] == name.partition(".")[0]]
    return 2 if any(abs(x or 0.0) >= 1.5 for s in family for x in (s.estimate, s.low, s.high)) else 4


def table(*columns: tuple[str, str], title: str | None = None) -> Table:
    table = Table(box=None, title=title, title_justify="left", title_style="bold", pad_edge=False, padding=(0, 2, 0, 0))
    for name, justify in columns:
        table.add_column(name, justify=justify, no_wrap=True, header_style="dim")  # type: ignore[arg-type]
    return table


def interval(score: Score, digits: int) -> str:
    if score.low is None or score.high is None:
        return score.note or "n/a"
    return f"[{number(score.low, digits)}, {number(score.high, digits)}]"


def _error(score: Score, digits: int) -> str:
    """The Monte Carlo error of the worse bound: how far another seed would move it."""
    errors = [error for error in (score.low_error, score.high_error) if error is not None]
    return f"±{max(errors):.{digits + 1 if digits else 0}f}" if errors else ""


def _extremes(score: Score, digits: int) -> str:
    if score.if_worst is None or score.if_best is None:
        return "n/a"
    return f"{number(score.if_worst, digits)} … {number(score.if_best, digits)}"


def print_run(run: RunResult, scores: bool = True) -> None:
    """The score table of one run, where it is kept and where it was logged."""
    out = console()
    some = next(iter(run.scores.values()))
    failed = f", {run.failed} failed" if run.failed else ""
    units = f", clustered by {run.cluster}" if run.cluster else ""
    moved = any(score.if_worst is not None for score in run.scores.values())
    noted = {name: score.note for name, score in run.scores.items() if score.headline and score.low is not None}
    shown = table(
        ("score", "left"), ("estimate", "right"), (f"{some.level:.0%} interval", "left"), ("MC error", "right"),
        *([("failed worst … best", "left")] if moved else []),
    )  # fmt: skip
    for name, score in run.scores.items():
        digits = digits_of(run.scores, name)
        more = [_extremes(score, digits)] if moved else []
        cells = (number(score.estimate, digits), interval(score, digits), _error(score, digits))
        style = None if score.headline else "dim"
        shown.add_row(name if score.headline else f"  {name}", *cells, *more, style=style)
    out.print(Text.assemble((run.name, "bold"), f"  {_count(run)}{failed}{units}"), soft_wrap=True)
    if scores:
        out.print(shown)
        for name, note in noted.items():
            if note:
                out.print(f"note        {name}: {note}", soft_wrap=True)
    if run.stopped:
        out.print(f"stopped     {_stopped(run.stopped)}", soft_wrap=True)
    if run.health:
        out.print(f"outputs     {_health(run.health)}", soft_wrap=True)
        for warning in run.health["warnings"]:
            out.print(Text(f"warning     {warning}", "yellow"), soft_wrap=True)
    out.print(f"run folder  {run.path}", soft_wrap=True)
    logged = run.manifest.get("mlflow")
    if logged:
        out.print(f"MLflow run  {logged['where']}", soft_wrap=True)
    out.print()


def _count(run: RunResult) -> str:
    if not run.manifest:  # not of a folder
        return f"{len(run.examples)} examples"
    repeats = run.manifest["system"]["repeats"]
    return f"{run.manifest['dataset']['examples']} examples" + (f", {repeats} outputs each" if repeats > 1 else "")


def _stopped(found: Mapping[str, Any]) -> str:
    """How a run ended that was to end once its answer is known."""
    bounds = (
        f"[{found['low']:.4g}, {found['high']:.4g}] at {found['level']:.0%}, all {found['looks']} looks allowed for"
    )
    if found["answer"] is None:
        return f"not known after all {found['of']:,} examples: {found['score']} {bounds}"
    used = f"after {found['examples']:,} of {found['of']:,} examples, {found['saved']:.0%} saved"
    return f"{used}: {found['answer']} {bounds}"


def _health(health: Mapping[str, Any]) -> str:
    """The outputs' health in a line; what cannot be known is left out."""
    said = {"empty": "empty", "cut": "cut at the token limit", "loop": "in a loop", "copied": "identical to the source"}
    parts = [f"{health[name]:.1%} {words}" for name, words in said.items() if health[name] is not None]
    ratio = health["length_ratio"]
    return ", ".join([*parts, f"{ratio:.2f} times the references' length"] if ratio is not None else parts)


def print_dry_run(found: Sequence[Mapping[str, Any]]) -> None:
    """What runs would do, a row each, with a total where there are several."""
    counted = {"examples": "examples", "outputs": "outputs", "journal": "in the journal", "cached": "cached"}
    counted |= {"generate": "to generate", "input_tokens": "tokens in", "output_tokens": "tokens out"}
    priced = any(one["cost"] is not None for one in found)
    heads = [*counted.values(), "time", *(["cost"] if priced else [])]
    shown = table(("run", "left"), *((head, "right") for head in heads))
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
    out.print(shown)
    out.print("A dry run: nothing was generated or written. Tokens, time and cost are estimates.", style="dim")


def print_cache(folder: str, outputs: Any, systems: Mapping[str, Any], arrays: Any) -> None:
    """How full the shared caches are, outputs by system."""
    shown = table(("in " + folder, "left"), ("entries", "right"), ("size", "right"), ("least recently used", "left"))
    named = [("outputs", outputs), *((f"  {name}", one) for name, one in systems.items()), ("embeddings", arrays)]
    for name, one in named:
        used = datetime.fromtimestamp(one.oldest).strftime("%Y-%m-%d %H:%M") if one.oldest else ""
        shown.add_row(name, f"{one.entries:,}", _size(one.size), used)
    console().print(shown)


def _size(size: int) -> str:
    for unit, factor in (("GB", 10**9), ("MB", 10**6), ("KB", 10**3)):
        if size >= factor:
            return f"{size / factor:.1f} {unit}"
    return f"{size} B"


def print_summary(runs: Sequence[RunResult]) -> None:
    """The headline scores of several runs side by side, one table a data set; a row a score where that is too wide."""
    out = console()
    keys = {run.dataset_key: run.dataset for run in runs}
    for key, dataset in keys.items():
        some = [run for run in runs if run.dataset_key == key]
        shown = dataset if list(keys.values()).count(dataset) == 1 else f"{dataset} ({key[:8]})"
        level = next(iter(some[0].scores.values())).level
        names = list(dict.fromkeys(n for run in some for n, s in run.scores.items() if s.headline))
        title = f"{shown}, {level:.0%} intervals"
        wide = table(("system", "left"), *((name, "right") for name in names), title=title)
        long = table(("system", "left"), ("score", "left"), ("estimate", "right"), ("interval", "left"), title=title)
        for run in some:
            cells = [_cells(run, name) for name in names]
            wide.add_row(run.system, *(estimate for estimate, _ in cells))
            wide.add_row("", *(bounds for _, bounds in cells), style="dim")
            for i, (name, pair) in enumerate(zip(names, cells, strict=True)):
                long.add_row("" if i else run.system, name, *pair)
        needed = Console(width=10_000, markup=False).measure(wide).maximum
        out.print(wide if needed <= out.width else long)
        out.print()


def _cells(run: RunResult, name: str) -> tuple[str, str]:
    score = run.scores.get(name)
    if score is None:
        return "", ""
    digits = digits_of(run.scores, name)
    return number(score.estimate, digits), interval(score, digits)


def print_compare_command(folders: Sequence[Path]) -> None:
    """How to compare these runs, and where there are several, what the best of them is worth."""
    for command in ("compare", "best") if len(folders) > 2 else ("compare",):
        console().print(f"{command:<7}  {shlex.join(['harness', command, *map(str, folders)])}", soft_wrap=True)
