"""Numbers as terminals and pages show them, with as many digits as the metric says of its score."""

from __future__ import annotations

from collections.abc import Iterable

from harness.types import RunRecord, RunResult, Score
from harness.types.nouns import DIGITS


def digits_of(runs: Iterable[RunResult | RunRecord], score: str) -> int:
    """How many digits after the point a score of several runs is shown with: the fewest, where a run stored by an
    earlier version does not say."""
    return min((run.scores[score].digits for run in runs if score in run.scores), default=DIGITS)


def number(value: float | None, digits: int) -> str:
    """
    >>> number(1234.5, 2), number(None, 2)
    ('1,234.50', 'n/a')
    """
    return "n/a" if value is None else f"{value:,.{digits}f}"


def bounds(low: float | None, high: float | None, digits: int) -> str:
    """
    >>> bounds(0.25, 0.5, 4)
    '[0.2500, 0.5000]'
    """
    return f"[{number(low, digits)}, {number(high, digits)}]"


def interval(score: Score, digits: int) -> str:
    """A score's bounds, or why there are none."""
    if score.low is None or score.high is None:
        return score.note or "n/a"
    return bounds(score.low, score.high, digits)
