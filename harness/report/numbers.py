"""Numbers as terminals and pages show them, with as many digits as the metric says of its score."""

from __future__ import annotations

from collections.abc import Iterable

from harness.inputs.choices import INTERVALS, OVER_SEEDS
from harness.types import RunRecord, RunResult
from harness.types.nouns import DIGITS
from harness.types.shown import bounds, counted, interval, number, signed

__all__ = ["bounds", "counted", "digits_of", "interval", "intervals_by", "number", "signed"]


def digits_of(runs: Iterable[RunResult | RunRecord], score: str) -> int:
    """How many digits after the point a score of several runs is shown with: the fewest, where a run stored by an
    earlier version does not say."""
    return min((run.scores[score].digits for run in runs if score in run.scores), default=DIGITS)


def intervals_by(methods: Iterable[str]) -> str:
    """What intervals by these methods are called together.

    >>> intervals_by(["expanded", "bca"]), intervals_by(["expanded", "agresti-coull"])
    ('bootstrap intervals', 'intervals')
    """
    known = set(methods)
    if OVER_SEEDS in known:
        return "intervals for new seeds and examples"
    drawn = all(INTERVALS.get(method, "").endswith(" bootstrap") for method in known)
    return "bootstrap intervals" if drawn else "intervals"
