"""Whether the difference between two systems is the same in every slice of the data.

The statistic is the sum of squared distances of the slices' differences from their weighted mean, each by its standard
error (Cochran's Q). Under the null hypothesis only the resampled differences, less what was seen, move the slices
apart, widened where a slice has few units (stats/expansion.py). Standard errors of few units are themselves off, and a
slice whose error happens to be small would count for much: those of a resample vary as much as errors of so many
degrees of freedom do, as in Welch's test (1951). With errors taken for known, twenty slices of five examples were said
to differ in half of all cases where they do not.

P-values are Holm's over all scores and pairs of systems.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from harness.stats.comparing.hypotheses import Tested
from harness.stats.corrections import holm, share
from harness.stats.resampling import generator
from harness.types import Array, Interaction

LEAST = 5
"""Units of a slice that counts."""


def interactions(groups: Sequence[Sequence[Tested]], seed: int) -> list[Interaction]:
    """For each pair of systems and each score, from its comparison in each slice."""
    by_question: dict[tuple[str, str, str], list[Tested]] = {}
    for tested in (tested for group in groups for tested in group):
        row = tested.row
        if row.standard_error and row.difference is not None and row.n >= LEAST:
            by_question.setdefault((row.baseline, row.system, row.score), []).append(tested)
    tests = [_interaction(parts, seed) for parts in by_question.values() if len(parts) > 1]
    adjusted = holm([row.p_value for row in tests])
    return [replace(row, p_adjusted=p) for row, p in zip(tests, adjusted, strict=True)]


def _interaction(parts: Sequence[Tested], seed: int) -> Interaction:
    rows = [part.row for part in parts]
    seen = np.array([row.difference for row in rows], dtype=np.float64)
    expansions = [part.by.expansion for part in parts]
    errors = np.sqrt([each.ratio for each in expansions]) * np.array([row.standard_error for row in rows])
    rng = generator(seed, "slices")
    moved = np.stack(
        [_moved(part.by.drawn(), difference, rng) for part, difference in zip(parts, seen, strict=True)], axis=1
    )
    anew = errors * _errors_anew(np.array([each.df for each in expansions]), len(moved), rng)
    p_value = share(cochran_q(errors * moved, anew), float(cochran_q(seen, errors)))
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


def cochran_q(differences: Array, errors: Array) -> Array:
    """Of the differences (…, m) of m slices with their standard errors (…, m).

    >>> float(cochran_q(np.array([1.0, 3.0]), np.array([1.0, 1.0])))
    2.0
    """
    weights = 1 / errors**2
    mean = (differences * weights).sum(axis=-1, keepdims=True) / weights.sum(axis=-1, keepdims=True)
    return np.asarray((((differences - mean) / errors) ** 2).sum(axis=-1))


def _moved(draws: Array, seen: float, rng: np.random.Generator) -> Array:
    """(resamples,) how far chance moves a slice's difference, in standard errors, from its replicates."""
    spread = np.nanstd(draws, ddof=1)
    if not spread > 0:  # no example of it differs, which says little of others
        return rng.standard_normal(len(draws))
    return np.asarray((draws - seen) / spread)


def _errors_anew(degrees: Array, resamples: int, rng: np.random.Generator) -> Array:
    """(resamples, m) what estimated standard errors of so many degrees of freedom (m,) are of the true ones."""
    return np.asarray(np.sqrt(rng.chisquare(degrees, (resamples, len(degrees))) / degrees))
