"""Cells of a sweep as they end, a line each."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from rich.text import Text

from harness.inputs.visible import in_line
from harness.report.numbers import interval, number
from harness.report.terminal.summary import console, labelled, linked
from harness.types import RunRecord


def print_ended(
    ended: int,
    total: int,
    label: str,
    runs: Sequence[RunRecord],
    seconds: float | None,
    before: Mapping[str, RunRecord],
) -> None:
    """`3/8  sentences=2  BLEU 4.99 [4.04, 5.92]  0.3 s  runs/…`, and what is wrong with the outputs.

    `ended`: how many of the cells have; `runs`: those of the cell, its checkpoints for instance, which are counted
    where they are all that there is, and have no time of their own; `before`: by folder, as they were in an earlier
    round of a race, which has told what was wrong then.
    """
    out = console()
    took = "" if seconds is None or len(runs) > 1 else f"{seconds:,.1f} s"
    for i, run in enumerate(runs, 1):
        place = f"{ended}/{total}" if total > 1 else f"{i}/{len(runs)}"
        words = [place, in_line(run.cell or label or run.name), _headline(run), took]
        words += [f"{run.failed} failed"] if run.failed else []
        head = "  ".join(word for word in words if word)
        out.print(Text.assemble((head, "bold"), "  ", linked(str(run.path), run.path, dim=True)), soft_wrap=True)
        earlier = before.get(str(run.path))
        known = {_kind(warning) for warning in _warnings(earlier)} if earlier is not None else set()
        for warning in _warnings(run):
            if _kind(warning) not in known:
                labelled(out, "warning", warning, "yellow")


def _warnings(run: RunRecord) -> Sequence[str]:
    warnings: Sequence[str] = (run.manifest["health"] or {}).get("warnings", ())
    return warnings


def _kind(warning: str) -> str:
    """What it warns of, without its numbers.

    >>> _kind("12.5% of the outputs are empty")
    '% of the outputs are empty'
    """
    return re.sub(r"[\d.,]*\d", "", warning)


def _headline(run: RunRecord) -> str:
    """The first headline score."""
    for score in run.scores.values():
        if score.headline:
            return f"{score.title} {number(score.estimate, score.digits)} {interval(score, score.digits)}".rstrip()
    return ""
