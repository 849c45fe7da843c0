"""What was chosen on one data set, as it scores on another."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from rich.text import Text

from harness.inputs.visible import in_line
from harness.report.numbers import bounds, number, signed
from harness.report.score_titles import titled_rows
from harness.report.terminal.layout import Columns, show
from harness.report.terminal.summary import console


def print_reported(rows: Sequence[Any]) -> None:
    """A table for each data set that is reported on; of checkpoints, what the earlier step would have cost there."""
    out = console()
    for dataset, group in groupby(sorted(titled_rows(rows), key=lambda row: row.dataset), key=lambda row: row.dataset):
        some = list(group)
        first = some[0].chosen_on
        title = f"chosen on {first.dataset} (of {first.of} runs, n = {first.n:,}), reported on {dataset}"
        title += f" (n = {some[0].n:,})"
        out.print(Text(in_line(title), "bold"))
        head = f"{100 * some[0].level:g}% interval"
        shown = Columns(
            ("score", "left"), ("chosen", "left"), (f"on {first.dataset}", "point"), (f"on {dataset}", "point"),
            (head, "interval"),
        )  # fmt: skip
        for row in some:
            own = number(row.chosen_on.estimate, row.digits)
            ends = bounds(row.low, row.high, row.digits)
            shown.add_row(row.score, row.run, own, number(row.estimate, row.digits), ends)
        show(out, shown)
        for row in (row for row in some if row.earliest is not None):
            out.print(in_line(_earlier(row)))
        out.print()
    out.print(
        "The data that is reported had no say in the choice: its scores and intervals need no correction. Those on the "
        "data that was chosen on do: harness best with its runs alone has them.",
        style="dim",
    )


def _earlier(row: Any) -> str:
    """What the earliest step costs where nothing was chosen."""
    ends = bounds(row.difference_low, row.difference_high, row.digits)
    return (
        f"{row.score}: step {row.earliest:,}, the earliest that cannot be told from the best there, has "
        f"{number(row.earliest_estimate, row.digits)} here, {signed(row.difference, row.digits)} {ends} from the best."
    )
