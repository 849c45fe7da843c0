"""Whether the difference between two systems is the same in every slice of the data.

The statistic is the sum of squared distances of the slices' differences from their weighted mean, each by its standard
error (Cochran's Q). Under the null hypothesis only the resampled differences, less what was seen, move the slices
apart, widened where a slice has few units (stats/expansion.py).
P-values are Holm's over all scores and pairs of systems.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from harness.stats.corrections import holm, share
from harness.stats.hypotheses import Tested
from harness.types import Array, Interaction

LEAST = 5
"""Units of a slice that counts."""


@dataclass(frozen=True)
class _Slices:
    """The differences (m,) of m slices, their standard errors (m,), and their centred draws (resamples, m)."""

    differences: Array
    errors: Array
    draws: Array

    def spread(self, differences: Array) -> Array:
        """Cochran's Q of differences (..., m)."""
        weights = 1 / self.errors**2
        mean = (differences * weights).sum(axis=-1, keepdims=True) / weights.sum()
        return np.asarray((((differences - mean) / self.errors) ** 2).sum(axis=-1))


def interactions(groups: Sequence[Sequence[Tested]]) -> list[Interaction]:
    """For each pair of systems and each score, from its comparison in each slice."""
    by_question: dict[tuple[str, str, str], list[Tested]] = {}
    for tested in (tested for group in groups for tested in group):
        row = tested.row
        if row.standard_error and row.difference is not None and row.n >= LEAST:
            by_question.setdefault((row.baseline, row.system, row.score), []).append(tested)
    tests = [_interaction(parts) for parts in by_question.values() if len(parts) > 1]
    adjusted = holm([row.p_value for row in tests])
    return [replace(row, p_adjusted=p) for row, p in zip(tests, adjusted, strict=True)]


def _interaction(parts: Sequence[Tested]) -> Interaction:
    rows = [part.row for part in parts]
    seen = np.array([row.difference for row in rows], dtype=np.float64)
    wider = np.sqrt([part.by.expansion.ratio for part in parts])
    draws = np.stack([part.by.drawn() for part in parts], axis=1)
    slices = _Slices(seen, wider * np.array([row.standard_error for row in rows]), (draws - seen) * wider)
    p_value = share(slices.spread(slices.draws), float(slices.spread(seen)))
    sign = 1 if rows[0].higher_is_better else -1
    worst = rows[int(np.argmin(sign * seen))]
    return Interaction(
        baseline=rows[0].baseline,
        system=rows[0].system,
        score=rows[0].score,
        slices=len(rows),
        p_value=p_value,
        p_adjusted=p_value,
        worst=worst.dataset,
        worst_difference=worst.difference,
        digits=worst.digits,
        title=worst.title,
    )
