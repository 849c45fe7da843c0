"""How far each run is from the baseline, or where there is none from the best, of two from the first: differences,
intervals, adjusted p."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from harness.report.numbers import bounds, digits_of
from harness.types import Comparison, Group, RunResult, Study


@dataclass(frozen=True, slots=True)
class Reference:
    """What the others are measured against."""

    run: RunResult
    why: str
    """`the baseline`, `the first of the two`, or `the best by BLEU`."""
    rows: dict[tuple[str, str], Comparison]
    """By run and score, each as seen from that run."""


def reference(study: Study, group: Group, titles: dict[str, str]) -> Reference | None:
    """None where nothing was tested."""
    rows = [row for row in study.against if row.dataset == group.dataset]
    if group.baseline is not None and rows:
        return Reference(group.baseline, "the baseline", {(row.system, row.score): row for row in rows})
    pairs = [row for row in study.comparisons if row.dataset == group.dataset]
    if not pairs:
        return None
    if len(group.runs) == 2:  # as compare and the figures have it
        first = next(run for run in group.runs if run.name == pairs[0].baseline)
        return Reference(first, "the first of the two", {(row.system, row.score): row for row in pairs})
    score = pairs[0].score
    best = study.best(group, score)
    if best is None:
        return None
    seen = [
        row.turned() if row.system == best.name else row for row in pairs if best.name in (row.system, row.baseline)
    ]
    return Reference(best, f"the best by {titles[score]}", {(row.system, row.score): row for row in seen})


def part(study: Study, group: Group, order: Sequence[RunResult], names: Sequence[str]) -> dict[str, Any] | None:
    """The part of the table below the scores: a row for each other run, in the same columns."""
    from harness.report.score_titles import score_titles

    against = reference(study, group, score_titles(group.runs))
    if against is None:
        return None
    rows = [
        {
            "label": study.labels[run.name],
            "cells": [_cell(against.rows.get((run.name, name)), digits_of(group.runs, name)) for name in names],
        }
        for run in order
        if run is not against.run
    ]
    level = f"{100 * study.level:g}%"
    adjusted = "p" if study.correction == "none" else "adjusted p"
    return {
        "from": study.labels[against.run.name],
        "why": f"{against.why}: {level} intervals, {adjusted}",
        "rows": rows,
    }


def _cell(row: Comparison | None, digits: int) -> dict[str, Any]:
    if row is None or row.difference is None:
        return {"difference": "", "interval": "", "p": "", "mark": "", "value": None}
    mark = row.verdict if row.verdict in ("better", "worse") else ""
    return {
        "difference": signed(row.difference, digits),
        "interval": bounds(row.low, row.high, digits).replace("-", "−"),
        "p": p_of(row),
        "mark": mark,
        "value": row.difference,
    }


def signed(value: float, digits: int) -> str:
    """
    >>> signed(1.024, 2), signed(-0.5, 1), signed(-0.001, 2)
    ('+1.02', '−0.5', '0.00')
    """
    shown = f"{value:+.{digits}f}"
    return shown[1:] if not float(shown) else shown.replace("-", "−")


def p_of(row: Comparison) -> str:
    """`p = 0.039`, with as many digits as count; the adjusted one where there is one."""
    p = row.p_adjusted if row.p_adjusted is not None else row.p_value
    if p is None:
        return ""
    if p < 0.0001:
        return "p < 0.0001"
    return f"p = {p:.4f}" if p < 0.001 else f"p = {p:.3f}" if p < 0.1 else f"p = {p:.2f}"
