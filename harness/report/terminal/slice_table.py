"""Scores by slice, for a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from harness.inputs.visible import in_line
from harness.report.numbers import interval, number
from harness.report.score_titles import apart
from harness.report.terminal.layout import Columns
from harness.types import Interaction, Slice

NAMED = 5
"""Slices that a note names."""
FEW = 5
"""Examples up to which a score says little."""


def slice_tables(slices: Sequence[Slice]) -> tuple[Columns, Columns]:
    """A row for each slice, its headline scores beside each other; and below each other, for narrow terminals."""
    by, names = in_line(slices[0].by), list(slices[0].scores)
    titles = apart({name: slices[0].scores[name].title for name in names})
    heads = [head for name in names for head in ((titles[name], "point"), ("interval", "interval"))]
    wide = Columns((by, "left"), ("n", "right"), *heads)
    tall = Columns((by, "left"), ("n", "right"), ("score", "left"), ("estimate", "point"), ("interval", "interval"))
    for part in slices:
        scores = [part.scores[name] for name in names]
        cells = [(number(score.estimate, score.digits), interval(score, score.digits)) for score in scores]
        label, n = in_line(part.label), f"{part.examples:,}"
        wide.add_row(label, n, *(text for pair in cells for text in pair))
        for i, name in enumerate(names):
            tall.add_row("" if i else label, "" if i else n, titles[name], *cells[i])
    return wide, tall


def slice_notes(slices: Sequence[Slice]) -> list[str]:
    """What is to be known of intervals, with the slices that it is said of: `v1, v2: 2 examples: …`."""
    labels: dict[str, list[str]] = {}
    for part in slices:
        for note in dict.fromkeys(score.note for score in part.scores.values() if score.low is not None and score.note):
            labels.setdefault(note, []).append(in_line(part.label))
    return [f"{_first(of)}: {note}" for note, of in labels.items()]


def _first(labels: Sequence[str]) -> str:
    more = f" and {len(labels) - NAMED} more" if len(labels) > NAMED else ""
    return ", ".join(labels[:NAMED]) + more


def worst_slice(slices: Sequence[Slice]) -> str | None:
    """Where the first score is worst, of the slices that have an interval and more than a few examples: `BLEU 12.30 for
    domain = legal`; None where these are all alike. Of many slices of one or two examples, some are bad by chance
    alone."""
    name = next(iter(slices[0].scores))
    known = [part for part in slices if part.scores[name].low is not None and part.examples > FEW]
    if len({part.scores[name].estimate for part in known}) < 2:
        return None
    sign = 1 if known[0].scores[name].higher_is_better else -1
    lowest = min(known, key=lambda part: sign * (part.scores[name].estimate or 0.0))
    score = lowest.scores[name]
    return f"{score.title} {number(score.estimate, score.digits)} for {in_line(lowest.by)} = {in_line(lowest.label)}"


def interaction_lines(rows: Sequence[Interaction], level: float) -> list[str]:
    """A line for each difference that is not the same everywhere, and one for the others, of which chance says where
    they are worst."""
    same = [row for row in rows if row.p_adjusted > 1 - level]
    if len(same) < 2:
        return [_interaction(row, level) for row in rows]
    least = min(row.p_adjusted for row in same)
    others = "the other " if len(same) < len(rows) else ""
    lines = [_interaction(row, level) for row in rows if row.p_adjusted <= 1 - level]
    return [*lines, f"none of {others}{len(same)} differences is shown to vary between slices (p ≥ {least:.4f})"]


def _interaction(row: Interaction, level: float) -> str:
    """Whether a difference is the same everywhere, and where it is worst."""
    varies = row.p_adjusted <= 1 - level
    verdict = "varies between" if varies else "is not shown to vary between"
    worst = f"worst in {in_line(row.worst)}: {number(row.worst_difference, row.digits)}"
    names = f"{in_line(row.system)} against {in_line(row.baseline)}"
    return f"{names}, {row.score}: the difference {verdict} {row.slices} slices (p = {row.p_adjusted:.4f}); {worst}"
