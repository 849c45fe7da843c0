"""A race: many systems answer the same examples in the same order, and those that are known to be worse than the leader
stop.

One looks after 1/16, 1/8, 1/4 and 1/2 of the units (examples, or clusters of them), and each time compares every system
that is left with the leader, in pairs. The best of k systems could be dropped by any of the k - 1 others, so each such
comparison may err with 0.05 / (k - 1), all looks together, and the best is dropped in at most 5 % of races:

- **Means of bounded values** (exact match, token F1, ROUGE) race on the confidence sequence of `stats/sequential.py`,
  which holds at all looks at once. By cluster the sums of gains have bounds too wide to bet on; there an asymptotic
  confidence sequence takes the place of the exact one.
- **All others**, such as BLEU, race on the standard error of the paired bootstrap. Each look has a part of the error
  (Lan and DeMets 1983, with their function of Pocock's kind) and reaches as far as Student's distribution says of so
  many units; and no look tells more than the signs of the units that differ could (harness/stats/fewness.py).

Which units come first is decided by a seeded hash of their names, so that whoever has some of the data knows the order.

>>> Race(cells=8, units=400).looks
(25, 50, 100, 200, 400)
>>> Race(cells=8, units=42).looks  # too few tell nothing
(11, 21, 42)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from harness.inputs.choices import SEED
from harness.stats.design import Design, Kept
from harness.stats.expansion import Expansion, student_quantile
from harness.stats.fewness import least_p
from harness.stats.resampling import Sample, quiet_single_thread, replicates
from harness.stats.selection.sequential import ConfidenceSequence, around, asymptotic_reach
from harness.stats.units import hashes
from harness.types import Array, Integers, Metric, Rows

SHARES = (1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0)
"""Of the units, after which one looks."""
LEAST = 8
"""Units below which a look is left out."""
ERROR = 0.05
"""How often the best may be dropped."""
PLANNED = 4
"""The asymptotic sequence is narrowest after this part of the data."""
RESAMPLES = 500
"""For standard errors, which so many give to 3 %."""


def order(names: Sequence[str], seed: int) -> Integers:
    """The places of units by name, in the order of the race."""
    return np.lexsort((np.arange(len(names)), hashes(names, seed)))


@dataclass(frozen=True)
class Race:
    """What is raced for, and how often it may go wrong."""

    cells: int
    """Systems at the start."""
    units: int
    """Of all the data."""
    clustered: bool = False
    """Whether a unit is a cluster of examples."""
    error: float = ERROR
    seed: int = SEED

    @cached_property
    def looks(self) -> tuple[int, ...]:
        """After how many units one looks; the last is the end."""
        counts = [math.ceil(share * self.units) for share in SHARES[:-1]]
        return (*(n for n in dict.fromkeys(counts) if LEAST <= n < self.units), self.units)

    @property
    def each(self) -> float:
        """How often one system may wrongly drop the best."""
        return self.error / max(self.cells - 1, 1)

    def tail(self, look: int) -> float:
        """What of that the bootstrap may spend at a look, from 0."""
        before = _spent(self.looks[look - 1] / self.units) if look else 0.0
        return self.each * (_spent(self.looks[look] / self.units) - before)


def _spent(share: float) -> float:
    """The share of the error that is spent after this share of the data."""
    return math.log1p((math.e - 1) * share)


@dataclass(frozen=True)
class Entries:
    """Systems in a race, as far as they have come: on the same rows, in one order."""

    metric: Metric
    score: int
    """Which of the metric's scores is raced for."""
    rows: Sequence[Rows]
    """Of each system (n, k), NaN where it failed."""
    design: Design
    order: Integers
    """(units,) the units as they came."""

    @cached_property
    def answered(self) -> Kept:
        """(n,) the rows that all systems have."""
        return np.asarray(~np.any([np.isnan(rows.values).any(axis=1) for rows in self.rows], axis=0))

    @cached_property
    def samples(self) -> list[Sample]:
        return [Sample(self.metric, rows, self.design, self.answered) for rows in self.rows]

    @property
    def sign(self) -> float:
        return 1.0 if self.metric.higher_is_better else -1.0

    @property
    def bounded(self) -> bool:
        """Whether the score is a mean of values with known bounds."""
        return self.metric.averaged and self.metric.bounds is not None


@dataclass(frozen=True)
class Standing:
    """How a race stands after a look."""

    estimates: Array
    """(systems,)"""
    leader: int
    lead: Array
    """(systems,) by how much the leader is better than each."""
    beaten: Kept
    """(systems,) which of them are known to be worse than it."""


def standing(race: Race, entries: Entries, look: int) -> Standing:
    """How a race stands after its look of this number, from 0, at those of its systems that are left."""
    with quiet_single_thread():
        estimates = np.array([sample.estimate()[entries.score] for sample in entries.samples])
    ranked = np.where(np.isnan(estimates), -np.inf, entries.sign * estimates)
    leader = int(np.argmax(ranked))
    lead = entries.sign * (estimates[leader] - estimates)
    behind = _by_sequence(race, entries, leader) if entries.bounded else _by_bootstrap(race, entries, leader, look)
    return Standing(estimates, leader, lead, behind & (lead > 0))


def _by_sequence(race: Race, entries: Entries, leader: int) -> Kept:
    """(systems,) of which the mean gain of the leader is above 0 by its confidence sequence."""
    assert entries.metric.bounds is not None
    reach = entries.metric.bounds[1] - entries.metric.bounds[0]
    values = [entries.metric.score_examples(rows.values)[:, entries.score] for rows in entries.rows]
    design, candidates = entries.design, around(0.0, -reach, reach)
    outputs = _outputs_each(design)
    behind = np.zeros(len(values), dtype=np.bool_)
    for i, own in enumerate(values):
        if i == leader:
            continue
        gains = np.nan_to_num(entries.sign * (values[leader] - own)) / outputs
        summed = np.bincount(design.members, gains, minlength=design.units)[entries.order]
        if race.clustered:
            error = summed.std(ddof=1) / math.sqrt(len(summed))
            behind[i] = summed.mean() > asymptotic_reach(len(summed), race.units / PLANNED, race.each) * error
        else:
            sequence = ConfidenceSequence(-reach, reach, 1 - 2 * race.each, candidates)
            sequence.add(np.clip(summed, -reach, reach))  # means have last bits
            behind[i] = sequence.low > 0
    return behind


def _outputs_each(design: Design) -> int:
    """Outputs of an example."""
    return 1 if design.example is None else int(np.bincount(design.example).max(initial=1))


def _by_bootstrap(race: Race, entries: Entries, leader: int, look: int) -> Kept:
    """(systems,) that lie further behind the leader than paired resamples and this look's part of the error reach."""
    samples, tail = entries.samples, race.tail(look)
    drawn = np.array(replicates(samples, RESAMPLES, race.seed, f"race {look}"))[:, :, entries.score]
    with quiet_single_thread():
        estimates = np.array([sample.estimate()[entries.score] for sample in samples])
    lead = entries.sign * (estimates[leader] - estimates)
    errors = (drawn[leader] - drawn).std(axis=1, ddof=1)
    expansion = Expansion.of(samples[0].members, entries.design.sizes)
    reach = student_quantile(tail, expansion.df) * math.sqrt(expansion.ratio)
    floors = np.array([least_p(_differing(samples[leader], sample), sides=1) for sample in samples])
    return np.asarray((lead > reach * errors) & (floors <= tail))


def _differing(a: Sample, b: Sample) -> int:
    """In how many units two systems differ."""
    if a.summable:
        return int(np.count_nonzero((a.rows != b.rows).any(axis=1)))
    apart = (a.whole.values != b.whole.values).any(axis=1)
    return len(np.unique(a.members[apart]))
