"""How likely it is that a system is better, given these rows: the Bayesian bootstrap (Rubin 1981).

A resample counts each unit 0, 1, 2, … times; here each has a weight from Dirichlet's distribution instead, which is
what is known of how common examples like it are when nothing was known before. The scores under many such weights
are draws of what the difference is; shares of them are probabilities. They are expanded as everything else is
(expansion.py), so that for a mean of normal values they are those of Student's distribution, the posterior of textbooks
under a flat prior.

What was never seen has no weight: where no example differs, or there are too few to tell, there is no probability; and
where few differ, none that is surer than so many throws of a coin.

>>> from harness.stats.design import Design
>>> draws = Weights(Design.of(4), resamples=2, seed=1, purpose="doc")
>>> (draws.counts(0).sum(axis=1) / SCALE).round(2).tolist()[:2]
[4.0, 4.0]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from harness.stats.expansion import Expansion
from harness.stats.resampling import (
    BLOCK,
    Counts,
    Draws,
    Sample,
    generator,
    portions,
    quiet_single_thread,
    resampled,
)
from harness.types import Array

SCALE = 2048
"""Weights are whole multiples of its inverse, so that they are added up as counts are: to the same bytes anywhere."""
MOST = np.iinfo(np.uint16).max


@dataclass(frozen=True)
class Weights(Draws):
    """Weights of units from Dirichlet's distribution, those of a stratum adding up to its units."""

    def counts(self, block: int) -> Counts:
        """(BLOCK, units) weights times SCALE."""
        sizes = self.design.sizes[self.design.sizes > 0]
        drawn = generator(self.seed, self.purpose, block).standard_exponential((BLOCK, self.design.units))
        totals = np.add.reduceat(drawn, np.cumsum(sizes) - sizes, axis=1)
        drawn *= np.repeat(sizes / totals, sizes, axis=1)
        return np.minimum(np.rint(drawn * SCALE), MOST).astype(np.uint16)


def posterior_draws(samples: Sequence[Sample], resamples: int, seed: int, purpose: str) -> list[Array]:
    """Draws (resamples, s) of the scores of each sample of one design, under weights that all share."""
    weights = Weights(samples[0].design, resamples, seed, f"{purpose} posterior")
    drawn: dict[int, Array] = {}
    with quiet_single_thread():
        shifts = {i: sample.shifts() for i, sample in enumerate(samples) if sample.jackknifed}
        added = [i for i, sample in enumerate(samples) if sample.summable or i in shifts]
        rows = {i: shifts[i] if i in shifts else samples[i].rows for i in added}
        for part in portions([rows[i].shape[1] for i in added], weights.design.units, resamples):
            some = [added[place] for place in part]
            for i, sums in zip(some, resampled([rows[i] for i in some], weights), strict=True):
                moved = sums / SCALE
                drawn[i] = (
                    samples[i].estimate() + (moved - shifts[i].sum(0)) if i in shifts else samples[i].scores(moved)
                )
        for i in set(range(len(samples))) - set(added):
            blocks = [samples[i].weighted(weights.counts(block) / SCALE) for block in range(weights.blocks)]
            drawn[i] = np.concatenate(blocks)[:resamples]
    return [drawn[i] for i in range(len(samples))]


@dataclass(frozen=True)
class Posterior:
    """What draws (resamples,) of a difference say, higher being better."""

    differences: Array
    expansion: Expansion

    def better(self, differing: int) -> float:
        """The probability that the system is better, no surer than so many units that differ permit: a coin that fell
        as often on one side may still be fair, or worse (a flat prior on its chance)."""
        surest = 0.5 ** (differing + 1)
        return float(np.clip(1 - self._below(0.0), surest, 1 - surest))

    def within(self, margin: float) -> float:
        """The probability that the difference is smaller than the margin, either way."""
        return max(0.0, self._below(margin) - self._below(-margin))

    def _below(self, value: float) -> float:
        """The probability of less than this, of which a draw that equals it is half."""
        known = self.differences[np.isfinite(self.differences)]
        if not len(known):
            return float("nan")
        share = (np.count_nonzero(known < value) + 0.5 * np.count_nonzero(known == value)) / len(known)
        least = 0.5 / (len(known) + 1)
        return self.expansion.p_value(float(np.clip(share, least, 1 - least)), sides=1)
