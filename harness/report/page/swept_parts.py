"""What the parameters of a sweep do, for the page: means by level, sentences, and what is not beaten for less."""

from __future__ import annotations

from typing import Any

from harness.report.numbers import bounds, number
from harness.report.score_titles import titled_rows
from harness.report.terminal.sweep_table import UNITS, ranked, sentences


def section(part: Any) -> dict[str, Any]:
    """One sweep on one data set."""
    (part,) = titled_rows([part])
    rows = []
    for name, own in ranked(part):
        for i, mean in enumerate(mean for mean in part.effects.means if mean.parameter == name):
            importance = "" if i or own is None else f"{own.share:.0%} [{own.low:.0%}, {own.high:.0%}]"
            interval = bounds(mean.low, mean.high, part.digits).strip()
            level = part.levels[name][mean.level]
            rows.append(
                ["" if i else name, importance, level, f"{mean.cells:,}", number(mean.estimate, part.digits), interval]
            )
    return {
        "dataset": part.dataset,
        "about": f"{part.score} by parameter, n = {part.n:,} {part.unit}",
        "heads": ["parameter", "importance", "level", "cells", part.score, f"{100 * part.level:g}% interval"],
        "rows": rows,
        "sentences": sentences(part),
        "front": _front(part),
    }


def _front(part: Any) -> dict[str, Any] | None:
    """The cells of which no other has a better score for less; None where nothing is known of what they take."""
    if part.against is None:
        return None
    points = sorted((point for point in part.points if point.front), key=lambda point: point.expense)
    return {
        "about": f"{part.score} against {UNITS[part.against]}: no other cell has a better score for less",
        "heads": ["cell", part.score, UNITS[part.against]],
        "rows": [[point.label, number(point.score, part.digits), f"{point.expense:.4g}"] for point in points],
    }
