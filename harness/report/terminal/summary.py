"""Tables and sentences for a terminal; plain text, as wide as needed, where the output is piped."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any
from urllib.parse import quote

from rich.console import Console
from rich.style import Style
from rich.text import Text

from harness.inputs.visible import in_line, visible
from harness.report.numbers import counted, digits_of, interval, number
from harness.report.score_titles import score_titles
from harness.report.terminal.generation_line import generation_line
from harness.report.terminal.layout import Columns, show
from harness.report.terminal.screen import Screen
from harness.report.terminal.slice_table import slice_notes, slice_tables, worst_slice
from harness.types import RunRecord, RunResult, Score, dropped

PIPED = 1_000_000
"""Columns of what is not a terminal: nothing is folded there."""
LABEL = 12


def console() -> Console:
    """Standard output; a terminal's width is respected, a pipe gets whole lines and no escape codes."""
    if sys.stdout.isatty():
        return Screen(highlight=False, markup=False)
    return Screen(highlight=False, markup=False, width=PIPED, force_terminal=False)


def linked(text: str, target: str | Path, dim: bool = False) -> Text:
    """A text that a terminal opens as a page or a folder."""
    if not sys.stdout.isatty():  # a pipe gets no links
        return Text(in_line(text), "dim" if dim else "")
    uri = in_line(target) if isinstance(target, str) else f"file://{quote(os.path.abspath(target), errors='replace')}"
    return Text(in_line(text), Style(link=uri, dim=dim or None))


def labelled(out: Console, label: str, text: str | Text, style: str = "") -> None:
    """`label       text`; a text of more than one line stays right of its label, what is linked is never broken."""
    if isinstance(text, Text):
        out.print(Text.assemble(f"{label:<{LABEL}}", text), soft_wrap=True)
        return
    for i, part in enumerate(Text(visible(text)).wrap(out, max(out.width - LABEL, 20))):
        out.print(Text(f"{'' if i else label:<{LABEL}}{part.plain.rstrip()}", style), soft_wrap=True)


def _error(score: Score) -> str:
    """The Monte Carlo error of the worse bound: how far another seed would move it."""
    errors = [error for error in (score.low_error, score.high_error) if error is not None]
    return f"±{max(errors):.{score.digits + 1 if score.digits else 0}f}" if errors else ""


def _extremes(score: Score) -> str:
    """What the score would be, had failed examples given nothing, and had they given a reference."""
    if score.if_worst is None or score.if_best is None:
        return "n/a"
    return f"{number(score.if_worst, score.digits)} … {number(score.if_best, score.digits)}"


def print_run(run: RunResult, scores: bool = True) -> None:
    """The score table of one run, where it is kept and where it was logged."""
    out = console()
    failed = f", {run.failed} failed" if run.failed else ""
    units = f", clustered by {run.cluster}" if run.cluster else ""
    cell = run.manifest.get("cell") if run.manifest else None
    called = f"{run.name} {cell['label']}" if cell else run.name
    out.print(Text.assemble((in_line(called), "bold"), f"  {_count(run)}{failed}{units}"))
    if scores:
        show(out, *_scores(run))
    for note, names in _notes(run).items():  # the table of several runs has intervals too
        labelled(out, "note", f"{', '.join(names)}: {note}")
    for _by, parts in groupby(run.slices, key=lambda part: part.by):
        slices = list(parts)
        show(out, *slice_tables(slices))
        for note in slice_notes(slices):
            labelled(out, "note", note)
        if worst := worst_slice(slices):
            labelled(out, "worst", worst)
    if run.stopped:
        labelled(out, "stopped", _stopped(run))
    if run.health:
        if texts := _health(run.health):
            labelled(out, "outputs", texts)
        for warning in run.health["warnings"]:
            labelled(out, "warning", warning, "yellow")
    if took := generation_line(run.manifest.get("generation") or {}):
        labelled(out, "generated", took)
    if run.path is not None:
        labelled(out, "run folder", linked(str(run.path), run.path))
    logged = run.manifest.get("mlflow")
    if logged:
        where = logged.get("where") or logged["run_id"]
        labelled(out, "MLflow run", linked(where, where) if where.startswith("http") else Text(in_line(where)))
    out.print()


def _notes(run: RunResult) -> dict[str, list[str]]:
    """What is to be known of intervals, with the headline scores that it is said of."""
    titles, notes = score_titles([run]), dict[str, list[str]]()
    for name, score in run.scores.items():
        if score.headline and score.low is not None and score.note:
            notes.setdefault(score.note, []).append(titles[name])
    return notes


def _scores(run: RunResult) -> tuple[Columns, Columns]:
    """One row per score, sub-scores below their score; and names above numbers, for narrow terminals."""
    level = next(iter(run.scores.values())).level
    moved = any(score.if_worst is not None for score in run.scores.values())
    heads = [("estimate", "point"), (f"{100 * level:g}% interval", "interval"), ("MC error", "point")]
    heads += [("failed worst … best", "left")] if moved else []
    wide, tall = Columns(("score", "left"), *heads), Columns(*heads)
    titles = score_titles([run])
    for name, score in run.scores.items():
        more = [_extremes(score)] if moved else []
        cells = (number(score.estimate, score.digits), interval(score, score.digits), _error(score), *more)
        style = None if score.headline else "dim"
        wide.add_row(titles[name] if score.headline else f"  {titles[name]}", *cells, style=style)
        tall.add_row(titles[name], *("" for _ in heads[1:]), style="bold" if score.headline else None)
        tall.add_row(*cells, style=style)
    return wide, tall


def _count(run: RunResult) -> str:
    if not run.manifest:  # not of a folder
        return counted(run.table.num_rows, "example")
    repeats = run.manifest["system"]["repeats"]
    examples = run.manifest["dataset"]["examples"]
    if repeats == 1:
        return counted(examples, "example")
    most = "" if run.columns("id").num_rows == repeats * examples else "up to "
    return f"{counted(examples, 'example')}, {most}{repeats} outputs each"


def _stopped(run: RunResult) -> str:
    """How a run ended that was to end once its answer is known."""
    stop = run.stopped or {}
    looks = "one look" if stop["looks"] == 1 else f"all {stop['looks']} looks"
    known = f"[{stop['low']:.4g}, {stop['high']:.4g}] at {100 * stop['level']:g}%, {looks} allowed for"
    if stop["answer"] is None:
        return f"not known after all {stop['of']:,} examples: {run.scores[stop['score']].title} {known}"
    used = f"after {stop['examples']:,} of {stop['of']:,} examples, {stop['saved']:.0%} saved"
    answer = stop["answer"].replace(stop["score"], run.scores[stop["score"]].title, 1)
    return f"{used}: {answer} {known}"


def _health(health: Mapping[str, Any]) -> str:
    """The outputs' health in a line; what cannot be known is left out."""
    words = {
        "empty": "empty", "cut": "cut at the token limit", "loop": "in a loop", "copied": "identical to the source",
    }  # fmt: skip
    parts = [f"{health[name]:.1%} {text}" for name, text in words.items() if health[name] is not None]
    if health.get("windows") is not None:
        parts.append(f"{health['windows']:.1%} scored in windows")
    ratio = health["length_ratio"]
    return ", ".join([*parts, f"{ratio:.2f} times the references' length"] if ratio is not None else parts)


def print_summary(
    runs: Sequence[RunResult | RunRecord], labels: Callable[[Sequence[Any]], Sequence[str]] | None = None
) -> None:
    """The headline scores of several runs side by side, one table per data set; one row per score if too wide.

    `labels` says what runs on one data set are called, their systems by default."""
    out = console()
    runs = [run for run in runs if not dropped(run)]
    keys = {run.dataset_key: run.dataset for run in runs}
    for key, dataset in keys.items():
        on_it = [run for run in runs if run.dataset_key == key]
        shown = dataset if list(keys.values()).count(dataset) == 1 else f"{dataset} ({key[:8]})"
        level = next(iter(on_it[0].scores.values())).level
        names = list(dict.fromkeys(n for run in on_it for n, s in run.scores.items() if s.headline))
        titles, digits = score_titles(on_it), {name: digits_of(on_it, name) for name in names}
        title = f"{shown}, {100 * level:g}% intervals"
        wide = Columns(("system", "left"), *((titles[name], "right") for name in names), title=title)
        ends = (("estimate", "point"), ("interval", "interval"))
        long = Columns(("system", "left"), ("score", "left"), *ends, title=title)
        tall = Columns(("system", "left"), ("score", "point"), ends[1], title=title)
        called = labels(on_it) if labels else [run.system for run in on_it]
        for run, label in zip(on_it, called, strict=True):
            cells = [_cells(run, name, digits[name]) for name in names]
            system = Text(label, "bold") if run.path is None else linked(label, run.path)
            wide.add_row(system, *(estimate for estimate, _ in cells))
            wide.add_row("", *(ends for _, ends in cells), style="dim")
            tall.add_row(system, "", "")
            for i, (name, pair) in enumerate(zip(names, cells, strict=True)):
                long.add_row("" if i else system, titles[name], *pair)
                tall.add_row(f"  {titles[name]}", *pair)
        show(out, wide, long, tall, last=tall)
        out.print()


def _cells(run: RunResult | RunRecord, name: str, digits: int) -> tuple[str, str]:
    score = run.scores.get(name)
    return ("", "") if score is None else (number(score.estimate, digits), interval(score, digits))
