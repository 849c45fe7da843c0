"""One resampling engine for all metrics: counts of how often each unit was drawn, times rows of statistics.

A unit is an example, or a cluster of examples whose rows are summed first; where units belong to strata, as many of
each stratum are drawn as it has. All outputs of an example are drawn together; where repeats are seeds their sums are
kept apart, for `harness.stats.seeds`. Counts are shared by all metrics and all systems of a comparison. Randomness
comes from (seed, purpose, block) through SeedSequence and each column is added up by itself in a fixed order, so that
results are byte-identical whatever else runs on however many cores.

>>> draws = Draws(Design.of(3), resamples=5, seed=1, purpose="doc")
>>> [total.shape for total in resampled([np.ones((3, 2)), np.ones((3, 1))], draws)]
[(5, 2), (5, 1)]
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from harness.inputs.cores import cores
from harness.stats.design import Design, Kept
from harness.stats.expansion import Expansion
from harness.stats.proportions import two_valued
from harness.types import Advance, Array, Engine, Metric, Recipe, Rows, Statistics, nothing
from harness.types.engine import unheard

Counts = NDArray[np.uint16]

BLOCK = 32
"""Resamples that are drawn from one generator."""
CELLS = 2**22
"""Cells of rows, and of sums, that are worked on at once: 32 MiB of float64 each; more columns than that draw the same
counts again."""
COLUMNS = 32
"""That are worked on at once in any case: with fewer, drawing takes longer than adding."""
WEIGHTS = 2**22
"""Weights of examples that what is not a function of a sum is scored under at once."""
WORTH_THREADS = 2**22
"""Multiplications below which starting threads takes longer than they save."""
WORTH_SENDING = 2**31
"""Multiplications below which replicas elsewhere take longer to be told of it: about a second of a core."""
SENT = 16
"""Blocks of resamples that a replica is given at once."""
WITH_BLAS = ("scipy.linalg", "torch")
"""Packages that bring a BLAS of their own, which may be imported at any time."""


def generator(seed: int, purpose: str, *path: int) -> np.random.Generator:
    """The generator of one consumer of randomness."""
    return np.random.default_rng(_sequence(seed, purpose, *path))


def _sequence(seed: int, purpose: str, *path: int) -> np.random.SeedSequence:
    word = int.from_bytes(hashlib.sha256(purpose.encode()).digest()[:8], "big")
    return np.random.SeedSequence([seed, word, *path])


class Sample:
    """A metric's rows of n examples under a design.

    Rows of a summable metric are summed by unit and seed; what is not a function of a sum keeps its rows, each with the
    weight of its unit. `keep` (n,) leaves rows out; the units stay as they are, so systems can share draws.
    """

    def __init__(self, metric: Metric, rows: Rows | Array, design: Design, keep: Kept | None = None) -> None:
        self.metric, self.design = metric, design
        self.summable = is_summable(metric)
        self.jackknifed = metric.jackknifed and not self.summable
        self.whole = Rows.of(rows) if keep is None else Rows.of(rows)[keep]
        self.rows = np.ascontiguousarray(self.whole.values, dtype=np.float64)
        self.members, self.repeat = design.members, design.repeat
        if keep is not None:
            self.members, self.repeat = self.members[keep], self.repeat[keep]
        if self.summable and (design.repeats > 1 or not np.array_equal(self.members, np.arange(design.units))):
            self.rows = self._by_unit(self.rows)

    @cached_property
    def two_valued(self) -> Kept:
        """(s,) which scores are shares of examples: each is at one end of the scale or the other."""
        return two_valued(self.metric, self.whole.values)

    @cached_property
    def expansion(self) -> Expansion:
        """How far the replicates fall short."""
        return Expansion.of(self.members, self.design.sizes)

    @classmethod
    def scored(cls, statistics: Statistics, design: Design, among: Kept | None = None) -> Sample:
        """The examples that have a row, of those `among` (n,), as a data set of their own."""
        keep = statistics.scored if among is None else statistics.scored & among
        return cls(statistics.metric, statistics.whole[keep], design.kept(keep))

    def _by_unit(self, rows: Array) -> Array:
        """(units, repeats * k)"""
        units, repeats, k = self.design.units, self.design.repeats, rows.shape[1]
        place = self.members * repeats + self.repeat
        summed = [np.bincount(place, rows[:, j], minlength=units * repeats) for j in range(k)]
        return np.ascontiguousarray(np.stack(summed, axis=1).reshape(units, repeats * k))

    def scores(self, sums: Array) -> Array:
        """(r, s) of sums (r, repeats * k)."""
        if self.design.repeats > 1:
            sums = sums.reshape(len(sums), self.design.repeats, -1).sum(1)
        return self.metric.score(sums)

    def weighted(self, weights: Array) -> Array:
        """(r, s) of what is not a function of a sum, under weights of units (r, units)."""
        some = max(1, WEIGHTS // max(len(self.members), 1))
        parts = [
            self.metric.score_weighted(weights[i : i + some][:, self.members], self.whole)
            for i in range(0, len(weights), some)
        ]
        return np.concatenate(parts)

    def estimate(self) -> Array:
        """(s,) the scores themselves."""
        if self.summable:
            return np.asarray(self.scores(self.rows.sum(0, keepdims=True))[0])
        return np.asarray(self.weighted(np.ones((1, self.design.units)))[0])

    def left_out(self) -> Array:
        """The jackknife: scores (units, s) with each unit left out in turn."""
        units = self.design.units
        if self.summable:
            return self.scores(self.rows.sum(0) - self.rows)
        return self.metric.score_left_out(self.whole, self.members, units)

    def shifts(self) -> Array:
        """How the scores move with one more of each unit (units, s), by leaving each out. Drawing units and adding
        their shifts up has exactly the variance of the jackknife (Efron and Stein 1981), that of a stratified one where
        there are strata."""
        sizes = np.repeat(self.design.sizes, self.design.sizes)[:, None]
        return np.asarray((self.estimate() - self.left_out()) * np.sqrt((sizes - 1) / sizes))


class Summed(Sample):
    """A summable metric's rows that are summed by unit and repeat already."""

    def __init__(self, metric: Metric, sums: Array, design: Design, two_valued: Kept) -> None:
        """`sums` (units, repeats * k); `two_valued` (s,) as `Sample` has it."""
        self.metric, self.design, self.rows = metric, design, sums
        self.members, self.two_valued = design.members, two_valued
        self.summable, self.jackknifed = True, False


def is_summable(metric: Metric) -> bool:
    """Whether its scores are functions of a sum."""
    return type(metric).score_weighted is Metric.score_weighted


# ---------------------------------------------------------------- draws


@dataclass(frozen=True)
class Draws:
    """Which resamples: everyone who names the same ones has the same counts."""

    design: Design
    resamples: int
    seed: int
    purpose: str
    flips: bool = False
    """Units are marked with 0 or 1 at random instead of drawn."""

    @property
    def blocks(self) -> int:
        return -(-self.resamples // BLOCK)

    def counts(self, block: int) -> Counts:
        """How often each unit was drawn (BLOCK, units) in one block of resamples."""
        from harness.stats import kernels

        drawn = np.empty((BLOCK, self.design.units), dtype=np.uint16)
        state = _sequence(self.seed, self.purpose, block).generate_state(4, np.uint64)
        if self.flips:
            kernels.coin_flips(state, drawn)
        else:
            kernels.bootstrap_counts(state, self.design.sizes, drawn)
        return drawn


def resampled(
    rows: Sequence[Array], draws: Draws, advance: Advance = nothing, engine: Engine | None = None
) -> list[Array]:
    """Sums (resamples, k) of each array of rows (units, k) under shared draws, which an engine may add up."""
    totals: list[Array] = [np.empty((draws.resamples, 0))] * len(rows)
    together = portions([part.shape[1] for part in rows], draws.design.units, draws.resamples)
    for some, step in zip(together, shared(advance, len(together)), strict=True):
        wide = np.concatenate([rows[i] for i in some], axis=1) if len(some) > 1 else rows[some[0]]
        if wide.shape[1] % 8 and len(some) > 1:  # whole vectors of the processor's
            wide = np.pad(wide, ((0, 0), (0, -wide.shape[1] % 8)))
        sums = _sums(wide, draws, step, engine)
        ends = np.cumsum([rows[i].shape[1] for i in some])
        for i, part in zip(some, np.split(sums, ends, axis=1)[: len(some)], strict=True):
            totals[i] = np.ascontiguousarray(part)
    return totals


def portions(widths: Sequence[int], units: int, resamples: int) -> list[list[int]]:
    """Which arrays of so many columns to work on together: as many as fit into CELLS and COLUMNS."""
    parts: list[list[int]] = []
    width, most = 0, max(CELLS // max(units, resamples, 1), COLUMNS)
    for i, columns in enumerate(widths):
        if not parts or width + columns > most:
            parts.append([])
            width = 0
        parts[-1].append(i)
        width += columns
    return parts


def shared(advance: Advance, parts: int) -> list[Advance]:
    """For each of so many parts of a piece of work what it tells of its own progress, which is a share of the whole."""
    done = 0

    def step(n: int) -> None:
        nonlocal done
        before, done = done, done + n
        advance(done // parts - before // parts)

    return [advance] if parts == 1 else [step] * parts


def _sums(rows: Array, draws: Draws, advance: Advance, engine: Engine | None) -> Array:
    """(resamples, k) of rows (units, k): by the engine where that is more work than it costs to send them."""
    whole = Sums(rows, draws)
    if engine is None or engine.in_process or draws.resamples * rows.size < WORTH_SENDING:
        return whole(range(draws.blocks), advance)[: draws.resamples]
    make = Recipe("harness.stats.resampling.Sums", {"rows": rows, "draws": draws}, whole, queued=2, noun="parts")
    parts = [range(draws.blocks)[first : first + SENT] for first in range(0, draws.blocks, SENT)]
    sums = np.empty((draws.blocks * BLOCK, rows.shape[1]))
    for number, part in engine.map(make, parts, unheard):
        first = parts[number].start * BLOCK
        sums[first : first + len(part)] = part
        advance(min(len(part), draws.resamples - first))
    return sums[: draws.resamples]


class Sums:
    """Sums of rows (units, k) under draws, some blocks of resamples at a time."""

    def __init__(self, rows: Array, draws: Draws) -> None:
        self.rows, self.draws = rows, draws

    def __call__(self, blocks: range, advance: Advance = nothing) -> Array:
        """(BLOCK times the blocks, k)"""
        from harness.stats import kernels

        rows, draws = self.rows, self.draws
        sums = np.empty((len(blocks) * BLOCK, rows.shape[1]))

        def add(block: int) -> int:
            place = (block - blocks.start) * BLOCK
            kernels.product(draws.counts(block), rows, sums[place : place + BLOCK])
            return min(BLOCK, draws.resamples - block * BLOCK)

        if len(sums) * rows.size < WORTH_THREADS or cores() == 1:
            for block in blocks:
                advance(add(block))
            return sums
        with ThreadPoolExecutor(cores()) as pool:
            for done in pool.map(add, blocks):
                advance(done)
        return sums


def swapped_all(rows: Sequence[Array], units: int) -> list[Array]:
    """Sums (2^units, k) of each array of rows under every way to mark units."""
    marks = ((np.arange(2**units)[:, None] >> np.arange(units)) & 1).astype(np.float64)
    with quiet_single_thread():
        return [marks @ part for part in rows]


def replicates(
    samples: Sequence[Sample],
    resamples: int,
    seed: int,
    purpose: str,
    advance: Advance = nothing,
    engine: Engine | None = None,
) -> list[Array]:
    """Bootstrap replicates (resamples, s) of each sample of one design, on shared counts."""
    draws = Draws(samples[0].design, resamples, seed, purpose)
    replicated: dict[int, Array] = {}
    with quiet_single_thread():
        shifts = {i: sample.shifts() for i, sample in enumerate(samples) if sample.jackknifed}
        added = [i for i, sample in enumerate(samples) if sample.summable or i in shifts]
        others = [i for i in range(len(samples)) if not samples[i].summable and i not in shifts]
        rows = {i: shifts[i] if i in shifts else samples[i].rows for i in added}
        parts = portions([rows[i].shape[1] for i in added], draws.design.units, resamples)
        steps = iter(shared(advance, len(parts) + len(others)))
        for part in parts:  # the sums of one are gone before the next
            some = [added[place] for place in part]
            summed = resampled([rows[i] for i in some], draws, next(steps), engine)
            for i, sums in zip(some, summed, strict=True):
                replicated[i] = (
                    samples[i].estimate() + (sums - shifts[i].sum(0)) if i in shifts else samples[i].scores(sums)
                )
        for i in others:
            replicated[i] = _weighted(samples[i], draws, next(steps))
    return [replicated[i] for i in range(len(samples))]


def _weighted(sample: Sample, draws: Draws, advance: Advance) -> Array:
    """Replicates (resamples, s) of what is not a function of a sum."""
    parts = []
    for block in range(draws.blocks):
        counts = draws.counts(block)[: draws.resamples - block * BLOCK]
        parts.append(sample.weighted(counts.astype(np.float64)))
        advance(len(counts))
    return np.concatenate(parts)


@contextmanager
def quiet_single_thread() -> Iterator[Any]:
    """One BLAS thread, since the last bits of a product depend on how it is split; 0/0 is NaN without a warning."""
    loaded = tuple(name in sys.modules for name in WITH_BLAS)
    with _blas(loaded).limit(limits=1, user_api="blas"), np.errstate(divide="ignore", invalid="ignore"):
        yield


@cache
def _blas(loaded: tuple[bool, ...]) -> ThreadpoolController:
    """Found once for the packages loaded: looking for libraries takes longer than resampling a small data set."""
    return ThreadpoolController()
