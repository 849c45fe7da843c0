"""One resampling engine for all metrics: counts of how often each unit was drawn, times rows of statistics.

A unit is an example, or a cluster of examples whose rows are summed first; where units belong to strata, as many of
each stratum are drawn as it has. Where a system gave several outputs for an example (repeats), the repeats are drawn as
well, the same for all examples, and a row counts as often as its unit times its repeat (Owen 2007). Counts are shared
by all metrics and all systems of a comparison. Randomness comes from (seed, purpose, block) through SeedSequence and
each column is added up by itself in a fixed order, so that results are byte-identical whatever else runs on however
many cores.

>>> design = Design.of(3)
>>> [total.shape for total in resampled([np.ones((3, 2)), np.ones((3, 1))], design, 5, seed=1, purpose="doc")]
[(5, 2), (5, 1)]
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from harness.types import Advance, Array, HarnessError, Metric, RunResult, nothing

Codes = NDArray[np.int64]
Kept = NDArray[np.bool_]
Counts = NDArray[np.uint16]

BLOCK = 32
"""Resamples that are drawn from one generator."""
CELLS = 2**25
"""Cells of rows that are multiplied at once: 256 MiB of float64; more columns than that draw the same counts again."""


WORTH_THREADS = 2**22
"""Multiplications below which starting threads takes longer than they save."""


def generator(seed: int, purpose: str, *path: int) -> np.random.Generator:
    """The generator of one consumer of randomness."""
    return np.random.default_rng(_sequence(seed, purpose, *path))


def _sequence(seed: int, purpose: str, *path: int) -> np.random.SeedSequence:
    word = int.from_bytes(hashlib.sha256(purpose.encode()).digest()[:8], "big")
    return np.random.SeedSequence([seed, word, *path])


# ---------------------------------------------------------------- what is drawn


@dataclass(frozen=True)
class Design:
    """Which rows are drawn together."""

    members: Codes
    """(n,) the unit of each row; units are numbered from 0, those of a stratum one after the other."""
    sizes: Codes
    """(strata,) how many units each stratum has."""
    repeat: Codes
    """(n,) the repeat of each row, numbered from 0."""
    label: str
    """What a unit is: `examples`, or `clusters by FIELD`."""

    @classmethod
    def of(
        cls,
        n: int,
        clusters: Sequence[object] | None = None,
        strata: Sequence[object] | None = None,
        repeats: Sequence[int] | None = None,
        ids: Sequence[object] | None = None,
        label: str | None = None,
    ) -> Design:
        """The design of n rows; with repeats, rows of one id (or cluster) are one unit."""
        repeat = np.zeros(n, dtype=np.int64) if repeats is None else np.asarray(repeats, dtype=np.int64)
        units = clusters if clusters is not None else ids if repeat.any() else None
        members = np.arange(n, dtype=np.int64) if units is None else codes(units)
        sizes = np.array([members.max(initial=-1) + 1], dtype=np.int64)
        if strata is not None and n:
            members, sizes = _by_stratum(members, strata)
        return cls(members, sizes, repeat, label or ("examples" if clusters is None else "clusters"))

    @classmethod
    def of_run(cls, run: RunResult) -> Design:
        """The design of a run's rows, by its cluster and strata fields and its repeats."""
        table = run.examples
        return cls.of(
            len(table),
            clusters=None if run.cluster is None else table[run.cluster].tolist(),
            strata=None if run.strata is None else table[run.strata].tolist(),
            repeats=table["repeat"].tolist(),
            ids=table["id"].tolist(),
            label=None if run.cluster is None else f"clusters by {run.cluster}",
        )

    @property
    def units(self) -> int:
        return int(self.sizes.sum())

    @property
    def repeats(self) -> int:
        return int(self.repeat.max(initial=0)) + 1

    def kept(self, keep: Kept) -> Design:
        """The design of the rows that are kept; units of which none is left are gone."""
        if keep.all():
            return self
        left, members = np.unique(self.members[keep], return_inverse=True)
        stratum = np.repeat(np.arange(len(self.sizes)), self.sizes)[left]
        sizes = np.bincount(stratum, minlength=len(self.sizes))
        return replace(self, members=members, sizes=sizes[sizes > 0], repeat=self.repeat[keep])


def codes(values: Sequence[object]) -> Codes:
    """Numbers for names in order of first appearance."""
    known: dict[str, int] = {}
    return np.array([known.setdefault(repr(value), len(known)) for value in values], dtype=np.int64)


def _by_stratum(members: Codes, strata: Sequence[object]) -> tuple[Codes, Codes]:
    """(members numbered stratum by stratum, units of each stratum)."""
    stratum = codes(strata)
    of_unit = np.full(members.max() + 1, -1, dtype=np.int64)
    of_unit[members] = stratum
    torn = np.flatnonzero(of_unit[members] != stratum)
    if len(torn):
        raise HarnessError(
            f"the cluster of row {torn[0] + 1} lies in two strata ({strata[torn[0]]!r} is one); "
            "expected every cluster within one stratum"
        )
    order = np.argsort(of_unit, kind="stable")
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return place[members], np.bincount(of_unit)


class Sample:
    """A metric's rows (n, k) under a design.

    Rows of a summable metric are summed by unit and repeat; what is no function of a sum keeps its rows, each with the
    weight of its unit and repeat. `keep` (n,) leaves rows out; the units stay as they are, so that systems can share
    draws.
    """

    def __init__(self, metric: Metric, rows: Array, design: Design, keep: Kept | None = None) -> None:
        kept = np.ones(len(rows), dtype=np.bool_) if keep is None else keep
        self.metric, self.design = metric, design
        self.summable = type(metric).score_weighted is Metric.score_weighted
        self.rows = np.ascontiguousarray(rows[kept], dtype=np.float64)
        self.members, self.repeat = design.members[kept], design.repeat[kept]
        alone = design.repeats == 1 and np.array_equal(self.members, np.arange(design.units))
        if self.summable and not alone:
            self.rows = self._by_unit(self.rows)

    def _by_unit(self, rows: Array) -> Array:
        """(units, repeats * k)"""
        units, repeats, k = self.design.units, self.design.repeats, rows.shape[1]
        place = self.members * repeats + self.repeat
        summed = [np.bincount(place, rows[:, j], minlength=units * repeats) for j in range(k)]
        return np.ascontiguousarray(np.stack(summed, axis=1).reshape(units, repeats * k))

    def scores(self, sums: Array, of_repeats: Array) -> Array:
        """(r, s) of sums (r, repeats * k), with how often each repeat was drawn (r, repeats)."""
        if self.design.repeats > 1:
            sums = np.einsum("rj,rjk->rk", of_repeats, sums.reshape(len(sums), self.design.repeats, -1))
        return self.metric.score(sums)

    def weighted(self, weights: Array, of_repeats: Array) -> Array:
        """(r, s) of what is no function of a sum, under weights of units (r, units) and repeats (r, repeats)."""
        return self.metric.score_weighted(weights[:, self.members] * of_repeats[:, self.repeat], self.rows)

    def estimate(self) -> Array:
        """(s,) the scores themselves."""
        once = np.ones((1, self.design.repeats))
        if self.summable:
            return np.asarray(self.scores(self.rows.sum(0, keepdims=True), once)[0])
        return np.asarray(self.weighted(np.ones((1, self.design.units)), once)[0])

    def left_out(self) -> Array:
        """The jackknife: scores (units, s) with each unit left out in turn."""
        units = self.design.units
        once = np.ones((1, self.design.repeats))
        if self.summable:
            return self.scores(self.rows.sum(0) - self.rows, np.repeat(once, units, axis=0))
        weights = (1.0 - (np.arange(units) == i)[None] for i in range(units))
        return np.concatenate([self.weighted(weight, once) for weight in weights])


# ---------------------------------------------------------------- draws


def counts(design: Design, seed: int, purpose: str, block: int, flips: bool = False) -> Counts:
    """How often each unit was drawn (BLOCK, units); with `flips`, 0 or 1 at random."""
    from harness.stats import kernels

    drawn = np.empty((BLOCK, design.units), dtype=np.uint16)
    state = _sequence(seed, purpose, block).generate_state(4, np.uint64)
    if flips:
        kernels.coin_flips(state, drawn)
    else:
        kernels.bootstrap_counts(state, design.sizes, drawn)
    return drawn


def repeat_counts(design: Design, resamples: int, seed: int, purpose: str) -> Array:
    """How often each repeat was drawn (resamples, repeats)."""
    if design.repeats == 1:
        return np.ones((resamples, 1))
    shares = np.full(design.repeats, 1 / design.repeats)
    drawn = generator(seed, f"{purpose} repeats").multinomial(design.repeats, shares, resamples)
    return drawn.astype(np.float64)


def resampled(
    rows: Sequence[Array],
    design: Design,
    resamples: int,
    seed: int,
    purpose: str,
    flips: bool = False,
    advance: Advance = nothing,
) -> list[Array]:
    """Sums (resamples, k) of each array of rows (units, k) under shared draws."""
    found: list[Array] = [np.empty((resamples, 0))] * len(rows)
    for some in _portions([one.shape[1] for one in rows], design.units):
        wide = np.concatenate([rows[i] for i in some], axis=1) if len(some) > 1 else rows[some[0]]
        if wide.shape[1] % 8 and len(some) > 1:  # whole vectors of the processor's
            wide = np.pad(wide, ((0, 0), (0, -wide.shape[1] % 8)))
        sums = _sums(wide, design, resamples, seed, purpose, flips, advance)
        ends = np.cumsum([rows[i].shape[1] for i in some])
        for i, part in zip(some, np.split(sums, ends, axis=1)[: len(some)], strict=True):
            found[i] = np.ascontiguousarray(part)
    return found


def _portions(widths: Sequence[int], units: int) -> Iterator[list[int]]:
    """Arrays to multiply together, as many as fit into CELLS."""
    some: list[int] = []
    for i, width in enumerate(widths):
        if some and (sum(widths[j] for j in some) + width) * units > CELLS:
            yield some
            some = []
        some.append(i)
    if some:
        yield some


def _sums(rows: Array, design: Design, resamples: int, seed: int, purpose: str, flips: bool, advance: Advance) -> Array:
    from harness.stats import kernels

    blocks = -(-resamples // BLOCK)
    sums = np.empty((blocks * BLOCK, rows.shape[1]))

    def one(block: int) -> int:
        drawn = counts(design, seed, purpose, block, flips)
        kernels.product(drawn, rows, sums[block * BLOCK : (block + 1) * BLOCK])
        return min(BLOCK, resamples - block * BLOCK)

    if blocks * BLOCK * rows.size < WORTH_THREADS:
        for block in range(blocks):
            advance(one(block))
        return sums[:resamples]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for done in pool.map(one, range(blocks)):
            advance(done)
    return sums[:resamples]


def swapped_all(rows: Sequence[Array], units: int) -> list[Array]:
    """Sums (2^units, k) of each array of rows under every way to mark units."""
    marks = ((np.arange(2**units)[:, None] >> np.arange(units)) & 1).astype(np.float64)
    with quiet_single_thread():
        return [marks @ one for one in rows]


def replicates(
    samples: Sequence[Sample], resamples: int, seed: int, purpose: str, advance: Advance = nothing
) -> list[Array]:
    """Bootstrap replicates (resamples, s) of each sample of one design, on shared counts."""
    design = samples[0].design
    of_repeats = repeat_counts(design, resamples, seed, purpose)
    summable = [sample for sample in samples if sample.summable]
    with quiet_single_thread():
        sums = resampled([one.rows for one in summable], design, resamples, seed, purpose, advance=advance)
        found = {id(one): one.scores(total, of_repeats) for one, total in zip(summable, sums, strict=True)}
        for sample in samples:
            if not sample.summable:
                found[id(sample)] = _weighted(sample, of_repeats, seed, purpose, advance)
    return [found[id(sample)] for sample in samples]


def _weighted(sample: Sample, of_repeats: Array, seed: int, purpose: str, advance: Advance) -> Array:
    """Replicates (resamples, s) of what is no function of a sum."""
    parts = []
    for start in range(0, len(of_repeats), BLOCK):
        weights = of_repeats[start : start + BLOCK]
        drawn = counts(sample.design, seed, purpose, start // BLOCK)[: len(weights)].astype(np.float64)
        parts.append(sample.weighted(drawn, weights))
        advance(len(weights))
    return np.concatenate(parts)


@contextmanager
def quiet_single_thread() -> Iterator[Any]:
    """One BLAS thread, since the last bits of a product depend on how it is split; 0/0 is NaN without a warning."""
    with _blas().limit(limits=1, user_api="blas"), np.errstate(divide="ignore", invalid="ignore"):
        yield


@cache
def _blas() -> ThreadpoolController:
    """Found once: looking for the libraries of a process takes longer than resampling a small data set."""
    return ThreadpoolController()
