"""Where the noise of scores comes from, as tables and sentences for a terminal."""

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

PLURALS = {"batch order": "repeats", "output": "outputs of each example"}
"""Of what is not called by adding an s."""


def print_variances(rows: Sequence[Any]) -> None:
    """A table and a sentence for each score of each system."""
    out = console()
    for (dataset, system), group in groupby(titled_rows(rows), key=lambda row: (row.dataset, row.system)):
        scores = list(group)
        first = scores[0]
        counts = "".join(f", {count:,} {plural(name)}" for name, count in first.levels.items())
        out.print(Text(f"{in_line(f'{dataset}: {system}')}, n = {first.n:,} {first.unit}{counts}", "bold"))
        interval = f"{100 * first.level:g}% interval"
        shown = Columns(
            ("score", "left"), ("source", "left"), ("share of the noise", "right"), (interval, "right"),
            ("standard deviation of one", "point"),
        )  # fmt: skip
        for row in scores:
            for place, source in enumerate(row.sources):
                shown.add_row(
                    "" if place else row.score,
                    source.name,
                    f"{source.share:.0%}",
                    f"{source.low:.0%} to {source.high:.0%}",
                    number(source.single, row.digits),
                )
        if any(row.sources for row in scores):
            show(out, shown)
        for row in scores:
            out.print(in_line(sentence(row)))
        if first.note:
            out.print(in_line(f"{first.note[0].upper()}{first.note[1:]}."), style="dim")
        out.print()
    out.print(
        "The noise: the squared standard error of a score on new examples, with new seeds and the like.", style="dim"
    )


def sentence(row: Any) -> str:
    """What the noise comes to, and what would lower it."""
    if row.standard_error is None:
        unit = row.unit.partition(" ")[0]
        why = f"nothing varies over {row.n:,} {unit}" if row.n > 1 else f"there is one {unit[:-1]}"
        return f"{row.score}: {why}, so that the noise cannot be seen."
    error = f"{row.score}: standard error {number(row.standard_error, row.digits)}"
    if not row.purchases:
        half = number(row.standard_error / 2**0.5, row.digits)
        return f"{error}; twice as many {row.unit} would make it {half}."
    return f"{error}. {' '.join(map(_bought(row), row.purchases))}"


def _bought(row: Any) -> Any:
    def words(purchase: Any) -> str:
        unit = row.unit.partition(" ")[0]
        narrowed = f"Two more {plural(purchase.name)} would make it {number(purchase.error, row.digits)}"
        if purchase.examples is None:
            return f"{narrowed}, which no number of {unit} would."
        if purchase.examples < 0.5:
            return f"{narrowed}: nothing is gained."
        examples = round(purchase.examples)
        return f"{narrowed}, as would {examples:,} more {unit.removesuffix('s') if examples == 1 else unit}."

    return words


def plural(name: str) -> str:
    """`seeds`, `outputs of each example`."""
    return PLURALS.get(name, f"{name}s")
