"""What experiments can detect, as tables for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from rich.text import Text

from harness.inputs.visible import in_line
from harness.report.numbers import number
from harness.report.score_titles import titled_rows
from harness.report.terminal.layout import Columns, show
from harness.report.terminal.summary import console


def print_powers(rows: Sequence[Any], power: float) -> None:
    """One table per pair."""
    out = console()
    for (dataset, baseline, system), group in groupby(
        titled_rows(rows), key=lambda r: (r.dataset, r.baseline, r.system)
    ):
        pair = list(group)
        first = pair[0]
        seeds = "" if first.seeds is None else f", {' and '.join(map(str, first.seeds))} seeds"
        head = f"{in_line(f'{dataset}: {system} against {baseline}')}, n = {first.n:,} {first.unit}{seeds}"
        out.print(Text(head, "bold"))
        of_difference = [
            ("difference", "point"), ("power for it", "right"), ("n for it", "right"), ("interval of n", "right"),
            *([("seeds for it", "right")] if first.seeds else []),
        ]  # fmt: skip
        asked = first.difference is not None
        shown = Columns(
            ("score", "left"), ("standard error", "point"), ("smallest detectable", "point"),
            *(of_difference if asked else []),
        )  # fmt: skip
        for row in pair:
            values = (number(x, row.digits) for x in (row.standard_error, row.smallest_detectable))
            shown.add_row(row.score, *values, *(_for_the_difference(row) if asked else []))
        show(out, shown)
        for note in dict.fromkeys(row.note for row in pair if row.note):
            out.print(in_line(f"{note[0].upper()}{note[1:]}."), style="dim")
        out.print()
    out.print(f"Smallest detectable, n and seeds: with a chance of {power:.0%}, in a single test.", style="dim")


def _for_the_difference(row: Any) -> list[str]:
    """The difference, the power for it, and how many examples and seeds would detect it."""
    power_for_it = "n/a" if row.power is None else f"{row.power:.0%}"
    more = [_seeds(row.needed_seeds)] if row.seeds else []
    return [number(row.difference, row.digits), power_for_it, _needed(row), _interval(row), *more]


def _needed(row: Any) -> str:
    if row.needed is not None:
        return f"{row.needed:,}"
    if not row.seeds or not row.difference:
        return "n/a"
    return "no n will do: more seeds" if row.needed_seeds else "no n will do: more of both"


def _interval(row: Any) -> str:
    if row.needed is None or row.needed_low is None:
        return "n/a"
    return f"{row.needed_low:,} or more" if row.needed_high is None else f"{row.needed_low:,} to {row.needed_high:,}"


def _seeds(count: int | None) -> str:
    return "none will do" if count is None else f"{count:,} each"
