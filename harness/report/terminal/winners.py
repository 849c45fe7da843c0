"""The best of many runs, as a table and sentences for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from rich.text import Text

from harness.inputs.visible import in_line
from harness.report.numbers import bounds, number
from harness.report.terminal.comparisons import listed
from harness.report.terminal.layout import Columns, show
from harness.report.terminal.summary import console


def print_best(rows: Sequence[Any]) -> None:
    """The best of several runs, as it stands and corrected for the choice."""
    out = console()
    for dataset, group in groupby(rows, key=lambda r: r.dataset):
        winners = list(group)
        first = winners[0]
        halves = "" if first.held_out is None else f" to choose on, {first.held_out:,} held out"
        title = f"{in_line(dataset)}: the best of {first.of} runs, n = {first.n:,} {first.unit}{halves}"
        out.print(Text(title, "bold"))
        bounds_head = f"{100 * first.level:g}% interval"
        reported = "corrected" if first.held_out is None else "held out"
        shown = Columns(
            ("score", "left"), ("best", "left"), ("as it stands", "point"), (bounds_head, "interval"),
            (reported, "point"), (bounds_head, "interval"), ("chosen again", "right"),
        )  # fmt: skip
        narrow = Columns(
            ("score", "left"), ("best", "left"), ("estimate", "point"), (bounds_head, "interval"),
            ("chosen again", "right"),
        )  # fmt: skip
        for row in winners:
            pairs = ((row.estimate, row.low, row.high), (row.corrected, row.corrected_low, row.corrected_high))
            cells = [
                cell
                for estimate, low, high in pairs
                for cell in (number(estimate, row.digits), bounds(low, high, row.digits))
            ]
            shown.add_row(row.score, row.system, *cells, f"{row.chosen_again:.0%}")
            narrow.add_row(row.score, row.system, *cells[:2], f"{row.chosen_again:.0%}")
            narrow.add_row("", f"  {reported}", *cells[2:], "")
        show(out, shown, narrow)
        for row in (row for row in winners if row.ties):
            out.print(
                in_line(f"{row.score}: {listed(row.ties)} {'has' if len(row.ties) == 1 else 'have'} the same score")
            )
        out.print(in_line(_contenders(winners)))
        out.print()
    luck = "minus what the best of so many gains by luck, with bounds that hold whichever run had won"
    other = "the winner's score on the half that it was not chosen on"
    out.print(
        f"{'Corrected: ' + luck if rows[0].held_out is None else 'Held out: ' + other}. Chosen again: the share of "
        "resamples in which the same run wins.",
        style="dim",
    )


def _contenders(rows: Sequence[Any]) -> str:
    """How many runs could as well be the best."""
    parts = [f"{row.score} {row.contenders - 1}" for row in rows if row.contenders > 1]
    return f"Others that could be the best: {listed(parts)}." if parts else "No other run could be the best."
