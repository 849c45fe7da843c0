"""The table of `harness runs`: one line per run where there is room, else two, else one line per field."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from rich.text import Text

from harness.inputs.visible import in_line
from harness.report.numbers import bounds, counted, number
from harness.report.score_titles import apart
from harness.report.terminal.layout import GAP, Columns, put
from harness.report.terminal.summary import console, linked
from harness.types import RunRecord, RunRecords, titled
from harness.types.nouns import DIGITS

NAMED = 3
"""So many of the folders that are not finished runs are named."""


def print_runs(
    runs: RunRecords,
    scores: Sequence[str],
    more: Sequence[str],
    below: str,
    fields: Mapping[str, Sequence[str]] | None = None,
) -> None:
    """`scores`: those to show, all of them; where empty, those in `more` and as many of the common ones as fit.
    `fields`: others that were asked for, with what each run has there."""
    out = console()
    if runs:
        names = list(scores) or common(runs, more)
        shown, left = _layout(runs, names, out.width, bool(scores), _facts(runs, fields or {}))
        put(out, shown)
        levels = {run.values[name]["level"] for run in runs for name in names if name in run.values}
        notes = [counted(len(runs), "run")]
        notes += [f"{100 * levels.pop():g}% intervals"] if len(levels) == 1 else []
        notes += [f"no room for {', '.join(left)} (--score NAME shows one)"] if left else []
        out.print(", ".join(notes), style="dim")
    elif runs.others:
        subject = "the only finished run" if runs.others == 1 else f"none of the {runs.others:,} finished runs"
        out.print(f"{subject} below {below} {'does not fit' if runs.others == 1 else 'fits'} the conditions")
    else:
        out.print(f"there is no finished run below {below}")
    if runs.unfinished:
        folders = [f"{path} ({reason})" for path, reason in runs.unfinished.items()]
        rest = f" and {len(folders) - NAMED:,} more (--json lists them)" if len(folders) > NAMED else ""
        count = (
            "1 folder is not a finished run" if len(folders) == 1 else f"{len(folders):,} folders are not finished runs"
        )
        out.print(Text(in_line(f"{count}: {', '.join(folders[:NAMED])}{rest}"), "yellow"))


def common(runs: Sequence[RunRecord], first: Sequence[str] = ()) -> list[str]:
    """The headline scores that at least half of the runs have, after those of `first` that any has."""
    count = Counter(name for run in runs for name in run.values)
    often = [name for name, times in count.items() if "." not in name and 2 * times >= len(runs)]
    return list(dict.fromkeys([*(name for name in first if name in count), *often]))


def _facts(runs: Sequence[RunRecord], fields: Mapping[str, Sequence[str]]) -> dict[str, Sequence[str]]:
    """What is shown beside names and scores: which cell of its sweep a run is, where any is one, and what was asked
    for."""
    cells = {"cell": [run.cell or "" for run in runs]} if any(run.cell for run in runs) else {}
    return {**cells, **fields}


def _layout(
    runs: Sequence[RunRecord], names: Sequence[str], width: int, all_of_them: bool, facts: Mapping[str, Sequence[str]]
) -> tuple[Columns, Sequence[str]]:
    """(the widest table that fits, the scores that it has no room for); one that was asked for is never left out."""
    wide = _wide(runs, names, facts)
    if wide.width <= width:
        return wide, ()
    two_lines = _two_lines(runs, names, facts)
    widths = two_lines.widths
    before, last = range(len(widths) - 1 - len(names)), len(widths) - 1
    for n in [len(names)] if all_of_them else range(len(names), 0, -1):
        kept = [*before, *range(len(before), len(before) + n), last]
        if sum(widths[i] + GAP for i in kept) - GAP <= width:
            return two_lines.keeping(kept), names[n:]
    return _stackable(runs, names, facts).stacked(width), ()


def _wide(runs: Sequence[RunRecord], names: Sequence[str], facts: Mapping[str, Sequence[str]]) -> Columns:
    failed, titles = any(run.failed for run in runs), _titles(runs, names)
    shown = Columns(
        ("name", "left"), *((fact, "left") for fact in facts), ("data set", "left"), ("system", "left"),
        ("examples", "right"),
        *([("failed", "right")] if failed else []),
        *(column for name in names for column in ((titles[name], "point"), ("", "interval"))),
        ("ended", "left"), ("folder", "left"),
    )  # fmt: skip
    digits = _digits(runs, names)
    for i, run in enumerate(runs):
        link = linked(str(run.path), run.path)
        own = [values[i] for values in facts.values()]
        cells = [cell for name in names for cell in _cells(run, name, digits[name])]
        counts = [f"{run.examples:,}", *([_failed(run)] if failed else [])]
        shown.add_row(Text(run.name, link.style), *own, run.dataset, run.system, *counts, *cells, _ended(run), link)
    return shown


def _two_lines(runs: Sequence[RunRecord], names: Sequence[str], facts: Mapping[str, Sequence[str]]) -> Columns:
    """Below the name, or what the run is called in its sweep, the folder's own name, below the data set the system,
    below a score its interval."""
    asked = {fact: values for fact, values in facts.items() if fact != "cell"}
    shown = Columns(
        ("run", "left"), *((fact, "left") for fact in asked), ("data set", "left"), ("examples", "right"),
        *((title, "right") for title in _titles(runs, names).values()),
        ("ended", "left"),
    )  # fmt: skip
    digits = _digits(runs, names)
    for i, run in enumerate(runs):
        cells = [_cells(run, name, digits[name]) for name in names]
        own = [values[i] for values in asked.values()]
        date, _, time = _ended(run).partition(" ")
        link = linked(run.path.name, run.path, dim=True)
        name = run.cell or run.name
        shown.add_row(name, *own, run.dataset, f"{run.examples:,}", *(estimate for estimate, _ in cells), date)
        failed = _failed(run) and Text(f"{_failed(run)} failed", "yellow")
        shown.add_row(link, *("" for _ in own), run.system, failed, *(ends for _, ends in cells), time, style="dim")
    return shown


def _stackable(runs: Sequence[RunRecord], names: Sequence[str], facts: Mapping[str, Sequence[str]]) -> Columns:
    """One column per field, to be shown below each other."""
    heads = [*facts, "data set", "system", "examples", "failed", *_titles(runs, names).values(), "ended", "folder"]
    shown = Columns(("name", "left"), *((head, "left") for head in heads))
    digits = _digits(runs, names)
    for i, run in enumerate(runs):
        own = [values[i] for values in facts.values()]
        cells = [" ".join(_cells(run, name, digits[name])).strip() for name in names]
        counts = (f"{run.examples:,}", _failed(run))
        shown.add_row(
            run.name, *own, run.dataset, run.system, *counts, *cells, _ended(run), linked(str(run.path), run.path)
        )
    return shown


def _cells(run: RunRecord, name: str, digits: int) -> tuple[str, str]:
    value = run.values.get(name)
    if value is None:
        return "", ""
    ends = "" if value["low"] is None else bounds(value["low"], value["high"], digits)
    return number(value["estimate"], digits), ends


def _failed(run: RunRecord) -> str:
    return f"{run.failed:,}" if run.failed else ""


def _ended(run: RunRecord) -> str:
    return run.ended.astimezone().isoformat(" ", "minutes")[:16]


def _titles(runs: Sequence[RunRecord], names: Sequence[str]) -> dict[str, str]:
    """What the columns of these scores are called."""
    stored = {name: value.get("title") for run in reversed(runs) for name, value in run.values.items()}
    return apart({name: stored.get(name) or titled(name) for name in names})


def _digits(runs: Sequence[RunRecord], names: Sequence[str]) -> dict[str, int]:
    """One scale per column."""
    known = {name: [value for run in runs if (value := run.values.get(name)) is not None] for name in names}
    return {name: min((_digits_in(value) for value in values), default=DIGITS) for name, values in known.items()}


def _digits_in(value: Mapping[str, Any]) -> int:
    """As `Score` has them; to make one of each score of ten thousand runs takes longer than all else."""
    return int(value.get("digits", DIGITS))
