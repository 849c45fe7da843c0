"""Scores of systems without the luck of the items: what agreement with people would be on endless items.

People and metrics saw the same outputs, so that the means of both over a few items share the luck of these; each has
errors of its own besides. That luck spreads the systems, a resample of items adds as much again, and a correlation of
the resampled scores is not one of the systems (Spearman 1904, attenuation). How much it is, is seen in how items differ
once what systems and items have by themselves is taken off. Resampled scores are moved, as little as can be, until
they vary by twice as much less: the linear map between the two covariances of least cost (Dowson and Landau 1982).

>>> rng = np.random.default_rng(1)
>>> people, metric = rng.normal(size=(2, 1, 5))
>>> same = without_luck_of_items(people, metric, np.zeros((2, 2)))
>>> bool(np.allclose(same[0], people - people.mean()))
True
"""

from __future__ import annotations

import numpy as np

from harness.stats.people.panel import Corpus, Panel
from harness.stats.resampling import quiet_single_thread
from harness.types import Array


def noise_of(panel: Panel, corpus: Corpus) -> Array:
    """(2, 2) the covariance of what luck of the items adds to people's means and to a metric's scores of systems."""
    s, units = corpus.shares.shape
    if s < 2 or units < 2:
        return np.zeros((2, 2))
    if panel.human is None:  # judgements apart from the items
        own = np.mean([values.var(ddof=1) / len(values) if len(values) > 1 else 0.0 for values in panel.ratings])
        metric = _residuals(corpus.shares)
        return np.array([[own, 0.0], [0.0, (metric**2).sum() / ((s - 1) * (units - 1) * units)]])
    sums, counts = panel.by_unit(np.where(panel.cells, panel.human, 0.0)), panel.by_unit(panel.cells.astype(float))
    totals = counts.sum(1, keepdims=True)
    people = panel.means[:, None] + units * (sums - panel.means[:, None] * counts) / totals
    both = np.stack([_residuals(people), _residuals(corpus.shares)])
    with quiet_single_thread():
        return np.asarray(np.einsum("asu,bsu->ab", both, both) / ((s - 1) * (units - 1) * units))


def _residuals(values: Array) -> Array:
    """Of values (s, units): what neither the system nor the unit has by itself."""
    return np.asarray(values - values.mean(1, keepdims=True) - values.mean(0) + values.mean())


def without_luck_of_items(people: Array, metric: Array, noise: Array) -> tuple[Array, Array]:
    """Resampled means of people and scores of a metric (r, s), less what luck (2, 2) has in them: that of the items,
    and that of drawing among them."""
    both = np.stack([people, metric], axis=2)
    both = both - both.mean(1, keepdims=True)
    known = np.isfinite(both).all(axis=(1, 2))
    if np.isfinite(noise).all():
        with quiet_single_thread():
            seen = np.swapaxes(both[known], 1, 2) @ both[known] / (both.shape[1] - 1)
            half = _root(seen - 2 * noise)
            both[known] = both[known] @ (half @ _root(half @ seen @ half, -0.5) @ half)
    return both[:, :, 0], both[:, :, 1]


def _root(matrices: Array, power: float = 0.5) -> Array:
    """A power of symmetric matrices (r, 2, 2), what is negative taken for nothing."""
    values, vectors = np.linalg.eigh(matrices)
    largest = np.abs(values).max(axis=1, keepdims=True)
    powers = np.zeros_like(values)
    np.power(values, power, out=powers, where=values > 1e-12 * largest)
    return np.asarray((vectors * powers[:, None, :]) @ np.swapaxes(vectors, 1, 2))
