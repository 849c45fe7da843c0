"""Cells of a sweep as they end, a line each."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from harness.inputs.visible import in_line
from harness.report.numbers import interval, number
from harness.report.terminal.summary import console, labelled, linked
from harness.types import RunRecord


def print_ended(ended: int, total: int, label: str, runs: Sequence[RunRecord], seconds: float | None) -> None:
    """`3/8  sentences=2  BLEU 4.99 [4.04, 5.92]  0.3 s  runs/…`, and what is wrong with the outputs.

    `ended`: how many of the cells have; `runs`: those of the cell, its checkpoints for instance, which are counted
    where they are all that there is, and have no time of their own.
    """
    out = console()
    took = "" if seconds is None or len(runs) > 1 else f"{seconds:,.1f} s"
    for i, run in enumerate(runs, 1):
        place = f"{ended}/{total}" if total > 1 else f"{i}/{len(runs)}"
        words = [place, in_line(run.cell or label or run.name), _headline(run), took]
        words += [f"{run.failed} failed"] if run.failed else []
        head = "  ".join(word for word in words if word)
        out.print(Text.assemble((head, "bold"), "  ", linked(str(run.path), run.path, dim=True)), soft_wrap=True)
        for warning in (run.manifest["health"] or {}).get("warnings", ()):
            labelled(out, "warning", warning, "yellow")


def _headline(run: RunRecord) -> str:
    """The first headline score."""
    for score in run.scores.values():
        if score.headline:
            return f"{score.title} {number(score.estimate, score.digits)} {interval(score, score.digits)}".rstrip()
    return ""
