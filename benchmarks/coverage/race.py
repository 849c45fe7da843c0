"""Races: how often the best of k systems is dropped, and what of the grid's outputs a race takes.

Systems are made up. *Close*: the best is better than the next by half a standard error of their difference on all the
data, and the others are as good as the next. *Spread*: they lie evenly between the best and a quarter of its score.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from benchmarks.coverage.cells import Section, Share, Tally, simulated, table
from harness.stats.design import Design
from harness.stats.selection.racing import ERROR, Entries, Race, standing
from harness.testing import CannedMetric
from harness.types import Array, Metric, Rows

CELLS = (8, 32, 128)
N = 1000
BEST = 0.6
"""The share of examples, or of words, that the best gets right."""
WORDS = 20
CLUSTERS = 300


class Ratio(CannedMetric):
    """Of all words those that are right, as corpus scores are: a function of sums, and no mean over examples."""

    name, score_names, averaged, bounds = "ratio", ("ratio",), False, (0.0, 1.0)


@dataclass(frozen=True)
class World:
    """k systems on so many examples."""

    k: int
    spread: bool
    corpus: bool = False
    clustered: bool = False

    @property
    def rates(self) -> Array:
        """(k,) how good each is; the first is the best."""
        if self.spread:
            return np.linspace(BEST, BEST / 4, self.k)
        words = WORDS if self.corpus else 1
        error = np.sqrt(2 * BEST * (1 - BEST) / (N * words))
        return np.array([BEST, *[BEST - error / 2] * (self.k - 1)])

    @property
    def metric(self) -> Metric:
        return Ratio() if self.corpus else Share()

    def drawn(self, rng: np.random.Generator) -> tuple[list[Rows], Design]:
        """Rows (n, 2) of each system; how hard an example or a cluster is, all systems share."""
        clusters = np.sort(rng.integers(0, CLUSTERS, N)) if self.clustered else np.arange(N)
        hard = rng.uniform(-0.3, 0.3, clusters.max() + 1)[clusters]
        words = rng.integers(WORDS // 2, WORDS * 3 // 2 + 1, N) if self.corpus else np.ones(N, np.int64)
        design = Design.of(N, clusters=clusters.tolist() if self.clustered else None)
        return [
            Rows.of(np.stack([rng.binomial(words, rate + hard * min(rate, 1 - rate)), words], axis=1).astype(float))
            for rate in self.rates
        ], design


def raced(world: World, rng: np.random.Generator, seed: int) -> Tally:
    """Whether the best was dropped, and the share of the grid's outputs that the race took."""
    rows, design = world.drawn(rng)
    race = Race(world.k, design.units, world.clustered, seed=seed)
    left, taken, before = list(range(world.k)), 0, 0
    for look, units in enumerate(race.looks):
        some = design.members < units
        taken += len(left) * (int(some.sum()) - before)
        before = int(some.sum())
        own = [rows[i][some] for i in left]
        entries = Entries(world.metric, 0, own, design.kept(some), np.arange(units))
        beaten = standing(race, entries, look).beaten
        left = [cell for cell, out in zip(left, beaten, strict=True) if not out]
        if len(left) == 1:
            taken += N - before
            break
    return {"dropped": float(0 not in left), "taken": taken / (world.k * N)}


def lines(section: Section) -> Iterator[str]:
    yield from ("### Races", "")
    yield f"k simulated systems on {N:,} examples, or {CLUSTERS} clusters of them, %: how often a race at"
    yield f"{100 * ERROR:g} % drops the best, and what share of the grid's outputs it takes on average."
    rows = []
    for name, kind in (
        ("mean", {}),
        ("mean, clusters", {"clustered": True}),
        ("corpus", {"corpus": True}),
        ("corpus, clusters", {"corpus": True, "clustered": True}),
    ):
        for k in CELLS:
            cells = [name, f"{k}"]
            for spread in (False, True):
                world = World(k, spread, **kind)
                tally = simulated(
                    partial(raced, world), section.samples, (11, k, spread, world.corpus, world.clustered)
                )
                cells.append(section.alarms(tally["dropped"], "a race drops the best"))
                cells.append(f"{100 * tally['taken']:.0f}")
            rows.append(cells)
    heads = ["score", "k", "close: best dropped", "outputs", "spread: best dropped", "outputs"]
    yield from ("", *table(heads, rows, left=1))
