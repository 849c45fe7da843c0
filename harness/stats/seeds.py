"""Seeds of a system as a source of chance: what the score would be with new seeds, and new examples.

Every seed answers the same examples. Of n examples and S seeds a score has the variance

    main / n  +  between / S  +  interaction / (n S)

and each part is found from the rows: what a unit moves the scores by, from leaving it out (the jackknife), summed over
all seeds and for each seed apart, and how far the scores of whole seeds lie from each other. The scores of seeds differ
by `between` and by `interaction / n`, so that their spread over S seeds has both; what it lacks is `main`. A difference
between two systems has the examples in common and its seeds apart: those of one are not paired with those of the other,
however they are numbered.

With few seeds their spread is known badly: a test is Student's t, with as many degrees of freedom as Satterthwaite
(1946) gives a sum of variances. Hillis (2007) found that this keeps its level in the same design, readers and cases.

>>> rows = np.array([[1.0, 1], [0, 1], [1, 1], [1, 1], [0, 1], [0, 1]])
>>> from harness.testing import CannedMetric
>>> design = Design.of(6, repeats=[0, 1] * 3, ids=["a", "a", "b", "b", "c", "c"])
>>> spread = seeded(Sample(CannedMetric(), rows, design)).spread(0)
>>> spread.seeds, round(spread.between[0], 4)
((2,), 0.0278)
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from harness.stats.design import Design
from harness.stats.expansion import student_quantile, student_tail
from harness.stats.options import Options
from harness.stats.proportions import AGRESTI_COULL, Evidence, scale_of, share_interval
from harness.stats.resampling import Sample
from harness.types import Array


@dataclass(frozen=True)
class Spread:
    """The variance of a score, or of a difference between two systems' scores, by where it comes from."""

    examples: float
    """Of these seeds' score, over new examples."""
    interactions: tuple[float, ...]
    """The part of it that is each system's examples × seeds, which more seeds would lower."""
    between: tuple[float, ...]
    """Of the mean of each system's seeds, from how far they lie apart: new seeds, on these examples."""
    seeds: tuple[int, ...]
    """How many each system has."""
    units: int
    """Examples, or clusters."""
    strata: int = 1

    @property
    def main(self) -> float:
        """Of the examples alone, whatever the seeds."""
        return max(self.examples - sum(self.interactions), 0.0)

    @property
    def variance(self) -> float:
        return self.main + sum(self.between)

    @property
    def error(self) -> float:
        return math.sqrt(self.variance)

    @property
    def degrees(self) -> float:
        """Satterthwaite's degrees of freedom; never fewer than the part that is known worst has, which a sum of parts
        would have, and a difference of them (`main`) need not."""
        parts = [(self.examples, self.units - self.strata)]
        parts += [(between, seeds - 1) for between, seeds in zip(self.between, self.seeds, strict=True)]
        known = [(variance, degrees) for variance, degrees in parts if variance and degrees > 0]
        if not known:
            return 1.0
        uncertain = sum(variance**2 / degrees for variance, degrees in known)
        return max(self.variance**2 / uncertain, float(min(degrees for _, degrees in known)))

    @property
    def of_seeds(self) -> tuple[float, ...]:
        """The variance between single seeds of each system on endless examples."""
        parts = zip(self.between, self.interactions, self.seeds, strict=True)
        return tuple(max(between - both, 0.0) * seeds for between, both, seeds in parts)

    def planned(self, units: float, seeds: Sequence[int]) -> Spread:
        """What to expect with so many units (`inf`: endless) and seeds."""
        share = self.units / units
        interactions = [
            both * own / new * share for both, own, new in zip(self.interactions, self.seeds, seeds, strict=True)
        ]
        between = tuple(
            variance / new + both for variance, new, both in zip(self.of_seeds, seeds, interactions, strict=True)
        )
        examples = self.main * share + sum(interactions)
        many = int(units) if math.isfinite(units) else 2**53
        return replace(
            self, examples=examples, interactions=tuple(interactions), between=between, seeds=tuple(seeds), units=many
        )

    def reach(self, level: float) -> float:
        """Half the width of the interval."""
        return student_quantile((1 - level) / 2, self.degrees) * self.error if self.variance else 0.0

    def p_value(self, difference: float, alternative: str) -> float:
        """Of a difference in the tested direction: `two-sided`, or one-sided with positive ones against the null."""
        if not self.variance:
            return 1.0 if difference == 0 or (alternative != "two-sided" and difference < 0) else 0.0
        statistic = difference / self.error
        if alternative == "two-sided":
            return 2 * student_tail(abs(statistic), self.degrees)
        return student_tail(statistic, self.degrees)


@dataclass(frozen=True)
class Seeded:
    """A system's scores by seed, and what each unit moves its scores by."""

    by_seed: Array
    """(seeds, s)"""
    moves: Array
    """(units, s): their squares add up to the variance of the scores over new examples."""
    interaction: Array
    """(s,) the part of that which is examples × seeds."""
    strata: int

    @property
    def between(self) -> Array:
        """(s,) the variance of the mean over seeds."""
        seeds = len(self.by_seed)
        return np.asarray(self.by_seed.var(axis=0) / (seeds - 1))

    def spread(self, score: int, other: Seeded | None = None) -> Spread:
        """Of one of the scores, or of its difference to another system's on the same units."""
        systems = [system for system in ((self,) if other is None else (other, self)) if len(system.by_seed)]
        moves = self.moves[:, score] - (0.0 if other is None else other.moves[:, score])
        return Spread(
            float((moves**2).sum()),
            tuple(float(system.interaction[score]) for system in systems),
            tuple(float(system.between[score]) for system in systems),
            tuple(len(system.by_seed) for system in systems),
            len(moves),
            self.strata,
        )

    def shifts(self, resamples: int, rng: np.random.Generator) -> Array:
        """(resamples, s) draws of what new seeds would add, with the variance `between`; the same for whoever has the
        same generator, so that scores of one system stay together."""
        seeds = len(self.by_seed)
        apart = (self.by_seed - self.by_seed.mean(axis=0)) / math.sqrt(seeds * (seeds - 1))
        return np.asarray(rng.standard_normal((resamples, seeds)) @ apart)


def seeded(sample: Sample) -> Seeded:
    """Of a sample of one seed or more; one tells nothing of another."""
    design, seeds = sample.design, sample.design.repeats
    moves = _moves(sample.left_out(), design)
    if seeds == 1:
        return Seeded(np.empty((0, moves.shape[1])), moves, np.zeros(moves.shape[1]), len(design.sizes))
    by_seed, apart = [], np.zeros(moves.shape[1])
    for own, of_seed in cells(sample):
        by_seed.append(own)
        apart += ((of_seed - moves) ** 2).sum(axis=0)
    return Seeded(np.array(by_seed), moves, apart / (seeds * (seeds - 1)), len(design.sizes))


def cells(sample: Sample) -> Iterator[tuple[Array, Array]]:
    """For each seed its scores (s,) and what each unit moves them by (units, s)."""
    for seed in range(sample.design.repeats):
        own, without = _of_seed(sample, seed)
        yield own, _moves(without, sample.design)


def by_seed(sample: Sample) -> Array:
    """(seeds, s) the scores of each seed by itself."""
    return np.array([_of_seed(sample, seed, jackknife=False)[0] for seed in range(sample.design.repeats)])


def bounds(sample: Sample, estimates: Array, options: Options) -> tuple[Array, Array]:
    """(low, high), each (s,): of the scores (s,) that new seeds would have on new examples.

    Headline scores stay inside their scale; shares of examples are never better known than these outputs are, so that
    answers which are all right still have a width.
    """
    parts, metric = seeded(sample), sample.metric
    spreads = [parts.spread(i) for i in range(len(estimates))]
    reach = np.array([spread.reach(options.level) for spread in spreads])
    low, high = estimates - reach, estimates + reach
    if metric.bounds is not None:
        headline = np.array(["." not in name for name in metric.score_names])
        low, high = (np.where(headline, np.clip(ends, *metric.bounds), ends) for ends in (low, high))
    shares = np.flatnonzero(sample.two_valued)
    if len(shares) and options.method == "auto":
        variances = np.array([spreads[i].examples for i in shares])
        of_outputs = _of_shares(sample, estimates[shares], variances, options.level)
        low[shares] = np.minimum(low[shares], of_outputs[0])
        high[shares] = np.maximum(high[shares], of_outputs[1])
    return low, high


def _of_shares(sample: Sample, estimates: Array, variances: Array, level: float) -> tuple[Array, Array]:
    """(low, high) of scores that are shares of examples, with the variances that they have over new ones."""
    (smallest, largest), expansion = scale_of(sample.metric), sample.expansion
    scale, evidence = largest - smallest, Evidence.of(sample.design, expansion, sample.metric.outputs)
    of_replicates = variances / expansion.ratio / scale**2
    low, high = share_interval((estimates - smallest) / scale, of_replicates, evidence, level, AGRESTI_COULL)
    return smallest + scale * low, smallest + scale * high


def _of_seed(sample: Sample, seed: int, jackknife: bool = True) -> tuple[Array, Array]:
    """(the scores (s,) of one seed, those (units, s) with each unit left out in turn)."""
    metric, units = sample.metric, sample.design.units
    if sample.summable:
        rows = sample.rows.reshape(units, sample.design.repeats, -1)[:, seed]
        whole = rows.sum(axis=0)
        return np.asarray(metric.score(whole)), np.asarray(metric.score(whole - rows if jackknife else whole))
    own = sample.repeat == seed
    kept, members = sample.whole[own], sample.members[own]
    scores = metric.score_weighted(np.ones((1, len(members))), kept)[0]
    return scores, metric.score_left_out(kept, members, units) if jackknife else scores


def _moves(left_out: Array, design: Design) -> Array:
    """(units, s) what each unit moves the scores by, from the jackknife (units, s): within strata, where there are."""
    sizes = design.sizes[:, None]
    starts = np.cumsum(design.sizes) - design.sizes
    means = np.add.reduceat(left_out, starts, axis=0) / sizes
    scale = np.sqrt((sizes - 1) / sizes)
    return np.asarray((left_out - np.repeat(means, design.sizes, axis=0)) * np.repeat(scale, design.sizes, axis=0))
