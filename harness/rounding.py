"""How many digits scores are shown with: one rule for terminals, tables, figures, pages and MLflow."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from harness.types import Score


def digits(values: Iterable[float | None]) -> int:
    """Two digits for scores out of 100, four for those out of 1.

    >>> digits([30.1, None]), digits([0.301])
    (2, 4)
    """
    return 2 if any(abs(value or 0.0) >= 1.5 for value in values) else 4


def digits_of(scores: Mapping[str, Score], name: str) -> int:
    """Of one of a run's scores: the same for a score, its bounds and sub-scores; none for counts, such as lengths."""
    if name.endswith("_len"):
        return 0
    family = [score for other, score in scores.items() if other.partition(".")[0] == name.partition(".")[0]]
    return digits(value for score in family for value in (score.estimate, score.low, score.high))
