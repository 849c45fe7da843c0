"""Agreement of a metric with people on whole systems.

`pearson` and `kendall` (tau-b) are of the systems' scores, as SciPy computes them; `accuracy` is the share of pairs of
systems that the metric orders as people do (Kocmi et al. 2021); `spa` is 1 minus the mean over pairs of the difference
between p of people and p of the metric, each of a paired permutation test that the first system is better, on scores of
single outputs (soft pairwise accuracy: Thompson, Mathur, Deutsch and Khayrallah 2024, used at WMT24).

In a resample, the p-values of `spa` are those of the permutation distribution's normal limit: thousands of permutations
in each of thousands of resamples would change the third digit.
"""

from __future__ import annotations

import numpy as np

from harness.stats.people.panel import PURPOSE, Panel, Resampling
from harness.stats.resampling import BLOCK, Draws, generator, quiet_single_thread, replicates
from harness.types import Array

ORDERED = ("pearson", "kendall", "accuracy")
SYSTEM = (*ORDERED, "spa")
PERMUTATIONS = 10_000
"""Behind each p-value of `spa`."""


def ordered(x: Array, y: Array, weights: Array) -> Array:
    """(r, 3) Pearson, Kendall b and pairwise accuracy of scores x and y (r, s) of systems with weights (r, s); a system
    that was drawn twice makes no pair with itself."""
    first, second = np.triu_indices(x.shape[1], 1)
    of_pairs = weights[:, first] * weights[:, second]
    above_x, above_y = np.sign(x[:, first] - x[:, second]), np.sign(y[:, first] - y[:, second])
    total = weights.sum(1, keepdims=True)
    with quiet_single_thread():
        a, b = (values - (weights * values).sum(1, keepdims=True) / total for values in (x, y))
        spreads = [(weights * values**2).sum(1) for values in (a, b)]
        pearson = (weights * a * b).sum(1) / np.sqrt(spreads[0]) / np.sqrt(spreads[1])
        apart = [(of_pairs * np.abs(above)).sum(1) for above in (above_x, above_y)]
        kendall = (of_pairs * above_x * above_y).sum(1) / np.sqrt(apart[0]) / np.sqrt(apart[1])
        accuracy = (of_pairs * (above_x == above_y)).sum(1) / of_pairs.sum(1)
    constant = (apart[0] == 0) | (apart[1] == 0)
    return np.stack([np.where(constant, np.nan, np.clip(pearson, -1, 1)), kendall, accuracy], axis=1)


class SoftPairs:
    """Differences of single outputs between all pairs of systems, by unit: what the p-values of `spa` are made of."""

    def __init__(self, panel: Panel, values: Array) -> None:
        """`values` (s, n)."""
        first, second = np.triu_indices(len(panel.systems), 1)
        common = panel.cells[first] & panel.cells[second]
        apart = np.where(common, values[first] - values[second], 0.0)
        self.apart = panel.by_unit(apart).T  # (units, pairs)
        self.design = panel.design

    def p_values(self, seed: int) -> Array:
        """(pairs,) the share of random swaps of the pair's outputs that give the first as much more as it has."""
        draws = Draws(self.design, PERMUTATIONS, seed, f"{PURPOSE} spa", flips=True)
        seen = self.apart.sum(0)
        slack = 1e-9 * np.abs(self.apart).sum(0)
        reached = np.zeros(len(seen))
        with quiet_single_thread():
            for block in range(draws.blocks):
                signs = 2.0 * draws.counts(block)[: PERMUTATIONS - block * BLOCK] - 1.0
                reached += (signs @ self.apart >= seen - slack).sum(0)
        return np.asarray(reached / PERMUTATIONS)

    def limits(self, of_units: Array) -> Array:
        """(r, pairs) the same of units (r, units) drawn so often, by the normal limit."""
        with quiet_single_thread():
            return limit(of_units @ self.apart, of_units @ self.apart**2)


def limit(apart: Array, squares: Array) -> Array:
    """P-values of differences that are sums, from the sums of squares of what is added up; 1 where nothing differs."""
    from scipy.special import ndtr

    with quiet_single_thread():
        return np.asarray(np.where(squares > 0, ndtr(-apart / np.sqrt(squares)), 1.0))


def soft(people: Array, metric: Array, of_pairs: Array) -> Array:
    """(r,) soft pairwise accuracy from p-values (r, pairs) of pairs with weights (r, pairs)."""
    with quiet_single_thread():
        return np.asarray(1 - (of_pairs * np.abs(people - metric)).sum(1) / of_pairs.sum(1))


def drawn_scores(panel: Panel, resampling: Resampling, seed: int) -> dict[str, Array]:
    """(resamples, s) of each metric's scores of the systems, on the items drawn."""
    if not resampling.items:
        return {name: np.tile(corpus.scores, (resampling.resamples, 1)) for name, corpus in panel.corpora.items()}
    samples = {id(sample): sample for corpus in panel.corpora.values() for sample in corpus.samples}
    drawn = dict(zip(samples, replicates(list(samples.values()), resampling.resamples, seed, PURPOSE), strict=True))
    return {
        name: corpus.sign * np.stack([drawn[id(sample)][:, corpus.place] for sample in corpus.samples], axis=1)
        for name, corpus in panel.corpora.items()
    }


def drawn_means(panel: Panel, resampling: Resampling, seed: int) -> Array:
    """(resamples, s) of the human scores of the systems, on the items or judgements drawn."""
    if not resampling.items:
        return np.tile(panel.means, (resampling.resamples, 1))
    if panel.human is None:
        parts = []
        for i, values in enumerate(panel.ratings):
            rng, size = generator(seed, f"{PURPOSE} ratings", i), len(values)
            parts.append([values[rng.integers(0, size, size)].mean() for _ in range(resampling.resamples)])
        return np.array(parts).T
    sums, counts = panel.by_unit(np.where(panel.cells, panel.human, 0.0)), panel.by_unit(panel.cells.astype(float))
    drawn = (resampling.weights(block)[1] for block in range(resampling.draws.blocks))
    with quiet_single_thread():
        return np.concatenate([of_units @ sums.T / (of_units @ counts.T) for of_units in drawn])
