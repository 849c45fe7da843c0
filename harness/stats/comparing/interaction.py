"""Whether the difference between two systems is the same in every slice of the data.

The statistic is the sum of squared distances of the slices' differences from their weighted mean, each by its standard
error (Cochran's Q). If all differ alike, a unit's difference could as well stand in another slice: p is the share of
ways to deal units out among the slices that set them as far apart. That is exact where units vary alike in all slices,
however skewed, and since each slice is measured by its own error it holds for many units where they do not (Janssen
1997, Chung and Romano 2013). An error of few units is itself off, or 0: each has a little of what all have in common.
With each slice resampled by itself, rare large gains of one side would make slices seem to differ where they do not.

Where the question is of new seeds, or the score is no function of a sum, the slices' differences are resampled
instead, widened where a slice has few units (stats/expansion.py), and measured by errors that vary as much as those of
so many degrees of freedom do, as in Welch's test (1951).

P-values are Holm's over all scores and pairs of systems.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from harness.stats.comparing.hypotheses import Tested
from harness.stats.corrections import holm, share
from harness.stats.resampling import generator
from harness.types import Array, Integers, Interaction

LEAST = 5
"""Units of a slice that counts."""
IN_COMMON = 0.5
"""Units' worth of what the slices vary by together in the variance of each."""
STEPS = 2**22
"""Units that are dealt out at most, all draws together, unless these would be too few: some hundredths of a second."""
FEWEST_DRAWS = 999
EQUAL = 1e-9
"""Part of a statistic, or of a variance, that is rounding."""


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
    p_value = _p_value(parts, generator(seed, "slices"))
    sign = 1 if rows[0].higher_is_better else -1
    worst = rows[int(np.argmin([sign * (row.difference or 0.0) for row in rows]))]
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


def _p_value(parts: Sequence[Tested], rng: np.random.Generator) -> float:
    resamples = len(parts[0].by.drawn())
    by_unit = [values for part in parts if (values := part.by.by_unit()) is not None and np.isfinite(values).all()]
    if len(by_unit) == len(parts):
        return exchanged(by_unit, resamples, rng)
    return _resampled(parts, rng)


def cochran_q(differences: Array, errors: Array) -> Array:
    """Of the differences (…, m) of m slices with their standard errors (…, m).

    >>> float(cochran_q(np.array([1.0, 3.0]), np.array([1.0, 1.0])))
    2.0
    """
    weights = 1 / errors**2
    mean = (differences * weights).sum(axis=-1, keepdims=True) / weights.sum(axis=-1, keepdims=True)
    return np.asarray((((differences - mean) / errors) ** 2).sum(axis=-1))


# ---------------------------------------------------------------- units dealt out anew


def exchanged(by_unit: Sequence[Array], resamples: int, rng: np.random.Generator) -> float:
    """The p-value of slices whose units differ by so much, (units,) each.

    >>> apart = [np.arange(8.0), np.arange(8.0) + 9]
    >>> exchanged(apart, 999, np.random.default_rng(0)), exchanged([apart[0]] * 2, 999, np.random.default_rng(0))
    (0.002, 1.0)
    """
    from harness.stats import kernels

    slices = sorted(by_unit, key=len)  # the largest is what is left
    sizes, values = np.array([len(part) for part in slices]), np.concatenate(slices)
    values = values - values.mean()
    if not values.any():
        return 1.0
    seen = np.array([[part.sum(), (part**2).sum()] for part in np.split(values, np.cumsum(sizes)[:-1])])
    draws = min(resamples, max(FEWEST_DRAWS, STEPS // len(values)))
    dealt = np.empty((draws, len(sizes), 2))
    kernels.exchanged_moments(rng.integers(0, 2**64, 4, dtype=np.uint64), values, sizes, dealt)
    return share(_distance(dealt, sizes), float(_distance(seen, sizes)) * (1 - EQUAL))


def _distance(moments: Array, sizes: Integers) -> Array:
    """Cochran's Q of m slices of so many units, by their sums and sums of squares (…, m, 2)."""
    sums, squares = moments[..., 0], moments[..., 1]
    within = np.maximum(squares - sums**2 / sizes, EQUAL * squares.sum(axis=-1, keepdims=True))
    common = within.sum(axis=-1, keepdims=True) / (sizes.sum() - len(sizes))
    variances = (within + IN_COMMON * common) / (sizes - 1 + IN_COMMON)
    return cochran_q(sums / sizes, np.sqrt(variances / sizes))


# ---------------------------------------------------------------- differences resampled


def _resampled(parts: Sequence[Tested], rng: np.random.Generator) -> float:
    rows, expansions = [part.row for part in parts], [part.by.expansion for part in parts]
    seen = np.array([row.difference for row in rows], dtype=np.float64)
    errors = np.array([row.standard_error for row in rows], dtype=np.float64)
    moved = np.stack(
        [_moved(part.by.drawn(), difference, rng) for part, difference in zip(parts, seen, strict=True)], axis=1
    )
    anew = errors * _errors_anew(np.array([each.df for each in expansions]), len(moved), rng)
    return share(cochran_q(errors * moved, anew), float(cochran_q(seen, errors)))


def _moved(draws: Array, seen: float, rng: np.random.Generator) -> Array:
    """(resamples,) how far chance moves a slice's difference, in standard errors, from its replicates."""
    spread = np.nanstd(draws, ddof=1)
    if not spread > 0:  # no example of it differs, which says little of others
        return rng.standard_normal(len(draws))
    return np.asarray((draws - seen) / spread)


def _errors_anew(degrees: Array, resamples: int, rng: np.random.Generator) -> Array:
    """(resamples, m) what estimated standard errors of so many degrees of freedom (m,) are of the true ones."""
    return np.asarray(np.sqrt(rng.chisquare(degrees, (resamples, len(degrees))) / degrees))
