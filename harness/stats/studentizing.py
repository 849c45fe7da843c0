"""Studentised replicates: how many of its own standard errors each lies from the estimate (Hall 1988).

The standard errors come by the delta method from the resampled sums and their second moments, so that they exist for
every score that is a function of sums, corpus BLEU included.
"""

from __future__ import annotations

import numpy as np

from harness.stats.resampling import Draws, Sample, resampled
from harness.types import Array


def can_studentize(sample: Sample) -> bool:
    """The delta method needs a function of sums over units drawn alike; elsewhere the percentiles stand in."""
    return sample.summable and sample.design.repeats == 1 and len(sample.design.sizes) == 1


def studentized(sample: Sample, drawn: Array, estimates: Array, by: tuple[int, str]) -> tuple[Array, Array]:
    """(studentised replicates (resamples, s), standard errors of the estimates (s,)); `by`: the seed and the purpose of
    the replicates, since each has the error of its own resample.

    A score is a function of sums S of rows r, so that its variance is about g' M g - (g' S)^2 / n with its gradient g
    and the sums M of products r r'. Both come from the same counts as the replicates.
    """
    rows = sample.rows
    first, second = np.triu_indices(rows.shape[1])
    products = rows[:, first] * rows[:, second]
    sums, moments = resampled([rows, products], Draws(sample.design, len(drawn), *by))
    errors = _standard_errors(sample, sums, moments)
    whole = _standard_errors(sample, rows.sum(0, keepdims=True), products.sum(0, keepdims=True))[0]
    return np.where(errors > 0, (drawn - estimates) / errors, np.nan), whole


def _standard_errors(sample: Sample, sums: Array, moments: Array) -> Array:
    """(r, s) from sums (r, k) and the upper triangle of their second moments (r, k (k + 1) / 2)."""
    k = sums.shape[1]
    first, second = np.triu_indices(k)
    twice = np.where(first == second, 1.0, 2.0)
    gradient = np.stack([_slope(sample, sums, j) for j in range(k)], axis=1)  # (r, k, s)
    errors = np.empty((len(sums), gradient.shape[2]))
    for i in range(gradient.shape[2]):
        g = gradient[:, :, i]
        square = (moments * twice * g[:, first] * g[:, second]).sum(1)
        errors[:, i] = np.sqrt(np.maximum(square - (g * sums).sum(1) ** 2 / sample.design.units, 0.0))
    return errors


def _slope(sample: Sample, sums: Array, j: int) -> Array:
    """Derivatives (r, s) of the scores by one statistic, by differences that keep counts from turning negative."""
    step = 1e-5 * np.maximum(np.abs(sums[:, j]), 1.0)
    up, down = sums.copy(), sums.copy()
    up[:, j] += step
    down[:, j] = np.where(sums[:, j] >= 0, np.maximum(sums[:, j] - step, 0.0), sums[:, j] - step)
    rise = sample.metric.score(up) - sample.metric.score(down)
    return np.asarray(rise / (up[:, j] - down[:, j])[:, None])
