"""Repeats and seeds: how often tests alarm and intervals hold the truth where every example has several outputs.

Systems are made up: what an example is worth, what a system gains on it, what a seed adds to all of its outputs, and
what an output adds by itself are all drawn anew in every simulation, so that a test of new seeds on new examples has
something to generalise to. Scores are means, in points.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pyarrow as pa

from benchmarks.coverage.cells import LEVEL, RESAMPLES, Section, Share, Tally, simulated, table
from harness import variance
from harness.inputs.choices import TESTS
from harness.stats import intervals
from harness.stats.comparing.comparison import compare
from harness.stats.design import Design
from harness.stats.of_k import Several
from harness.stats.options import ComparisonOptions, Options
from harness.stats.power.planning import seeds_power
from harness.stats.seeds import Spread
from harness.testing import CannedMetric
from harness.types import Array, Comparison, Metric, RunResult, Signature, Statistics, Texts

EXAMPLE, GAIN, OUTPUT = 30.0, 10.0, 20.0
"""Standard deviations, in points: of examples, of a system's gain on one, and of one output."""
EFFECTS = {"no": 0.0, "small": 1.0, "large": 3.0}
"""Of whole seeds."""
SEEDS = (3, 5, 10)
SIZES = (100, 400)


@dataclass(frozen=True)
class World:
    """Two systems on n examples with so many outputs of each; `effect`: of a seed; `gain`: of the second system."""

    n: int
    repeats: int
    effect: float = 0.0
    gain: float = 0.0
    seeds: bool = False
    """Whether a repeat is a seed; independent draws otherwise."""

    def pair(self, rng: np.random.Generator) -> tuple[RunResult, RunResult]:
        """Two runs of it."""
        shape = (self.n, self.repeats)
        worth = rng.normal(50.0, EXAMPLE, (self.n, 1))
        values = [
            worth
            + gain
            + rng.normal(0, GAIN, (self.n, 1))
            + rng.normal(0, self.effect, (1, self.repeats))
            + rng.normal(0, OUTPUT, shape)
            for gain in (0.0, self.gain)
        ]
        first, second = (made(name, part, self.seeds) for name, part in zip("ab", values, strict=True))
        return first, second

    @property
    def spread(self) -> Spread:
        """The variance of the difference by its sources."""
        both = OUTPUT**2 / (self.n * self.repeats)
        examples = 2 * (GAIN**2 / self.n + both)
        if not self.seeds:
            return Spread(examples + 2 * self.effect**2 / self.repeats, (), (), (), self.n)
        return Spread(examples, (both,) * 2, (self.effect**2 / self.repeats + both,) * 2, (self.repeats,) * 2, self.n)

    @property
    def error(self) -> float:
        """The standard error of the difference."""
        return self.spread.error


def made(name: str, values: Array, seeds: bool = False, metric: Metric | None = None) -> RunResult:
    """A run whose examples score these values (n, repeats)."""
    n, repeats = values.shape
    metric = metric or CannedMetric()
    rows = np.column_stack([values.ravel(), np.ones(values.size)])
    ids, which = np.repeat(np.arange(n).astype(str), repeats), np.tile(np.arange(repeats), n)
    table = pa.table({"id": ids, "repeat": which})
    statistics = {metric.name: Statistics.of(metric, rows, Signature({}, {}), "")}
    count = repeats if seeds else 1
    return RunResult(name, "simulated", "simulated", name, {}, statistics, lambda: table, 0, seeds=count)


def shares(
    world: World, simulations: int, test: str = "bootstrap", resamples: int = 1000, first: int = 0
) -> dict[str, float]:
    """Shares of simulations in which the test raises an alarm, and the interval of the difference holds the truth;
    and the mean of the standard error over the true one."""
    alarms, held, errors = 0, 0, 0.0
    for simulation in range(first, first + simulations):
        row = compared(world, simulation, test, resamples)
        alarms += (row.p_value or 0.0) <= 1 - LEVEL
        held += (row.low or 0.0) <= world.gain <= (row.high or 0.0)
        errors += (row.standard_error or 0.0) / world.error
    return {"alarms": alarms / simulations, "held": held / simulations, "error": errors / simulations}


def compared(world: World, simulation: int, test: str = "bootstrap", resamples: int = 1000) -> Comparison:
    """The comparison of one simulation."""
    pair = world.pair(np.random.default_rng([simulation, world.n, world.repeats]))
    options = ComparisonOptions(test=test, resamples=resamples, seed=simulation, level=LEVEL, correction="none")
    return compare([[pair]], options)[0]


# ---------------------------------------------------------------- the section


def lines(section: Section) -> Iterator[str]:
    yield from ("### Several outputs of an example, and seeds", "")
    yield "Simulated systems, %: how often tests at 5 % raise an alarm where nothing differs, how often they detect"
    yield "a difference of 2.8 standard errors, how often `harness power` predicts that, and how often 95 %"
    yield "intervals hold."
    rows = []
    for name, world, test in cells():
        purpose = (8, world.n, world.repeats, round(world.effect), test == "bootstrap")
        tally = simulated(partial(tested, world, test), section.samples, purpose)
        what = "new seeds" if world.seeds else "outputs that are drawn by example"
        planned = seeds_power(2.8 * world.error, world.spread, LEVEL)
        rows.append(
            [
                name, f"{world.n}", section.alarms(tally["alarms"], f"a test of {what}"),
                section.plain(tally["power"]), section.plain(planned, exact=True),
                section.held(tally["held"], f"an interval of a difference of {what}"),
            ]
        )  # fmt: skip
    yield from ("", *table(["outputs", "n", "alarms", "power", "planned", "interval"], rows))
    yield from ("", "### Shares of the noise, and the best of k", "")
    yield "How often 95 % intervals hold, %: of the seeds' share of the noise, and of pass_k."
    rows = []
    for name, effect in EFFECTS.items():
        for seeds in SEEDS:
            tally = simulated(partial(share_of_seeds, seeds, effect), section.samples, (9, seeds, round(effect)))
            rows.append(
                [f"{seeds} seeds, {name} effect", section.held(tally["held"], "the share of seeds in the noise")]
            )
    tally = simulated(passes, section.samples, (10,))
    rows += [[name, section.held(share, "pass_k")] for name, share in tally.items()]
    yield from ("", *table(["of", "holds"], rows))


def cells() -> Iterator[tuple[str, World, str]]:
    """(what it is called, the world, the test)."""
    for n in SIZES:
        for test in TESTS:
            yield f"5 drawn by example, {test}", World(n, 5), test
    for name, effect in EFFECTS.items():
        for seeds in SEEDS:
            for n in SIZES:
                yield f"{seeds} seeds, {name} effect", World(n, seeds, effect, seeds=True), "bootstrap"


def tested(world: World, test: str, rng: np.random.Generator, seed: int) -> Tally:
    """Whether the test alarms where nothing differs, detects what does, and the interval of that holds."""
    real = replace(world, gain=2.8 * world.error)
    resamples = 20 if world.seeds else RESAMPLES  # with seeds, p comes from no resample
    options = ComparisonOptions(test=test, resamples=resamples, seed=seed, level=LEVEL, correction="none")
    null, power = (compare([[some.pair(rng)]], options)[0] for some in (world, real))
    return {
        "alarms": float((null.p_value or 0.0) <= 1 - LEVEL),
        "power": float((power.p_value or 0.0) <= 1 - LEVEL),
        "held": float((power.low or 0.0) <= real.gain <= (power.high or 0.0)),
    }


def share_of_seeds(seeds: int, effect: float, rng: np.random.Generator, seed: int, n: int = 100) -> Tally:
    """Whether the interval of the share that seeds have in the noise holds it."""
    parts = EXAMPLE**2 / n, effect**2 / seeds, (GAIN**2 + OUTPUT**2) / (n * seeds)
    values = rng.normal(50.0, EXAMPLE, (n, 1)) + rng.normal(0, effect, (1, seeds))
    (row,) = variance([made("a", values + rng.normal(0, math.hypot(GAIN, OUTPUT), (n, seeds)), seeds=True)])
    source = next(source for source in row.sources if source.name == "seed")
    return {"held": float(source.low <= parts[1] / sum(parts) <= source.high)}


def passes(rng: np.random.Generator, seed: int, n: int = 100, repeats: int = 5) -> Tally:
    """Whether the intervals of pass_k hold, where the chances of being right are spread evenly: k / (k + 1)."""
    right = (rng.random((n, repeats)) < rng.random((n, 1))).astype(np.float64)
    run, metric = made("a", right), Share()
    rows = run.statistics["canned"].whole
    several = Several({"share": metric})
    several.add(Texts.of([str(i) for i in range(right.size)]), {"share": rows})
    tallies = several.tallies(Design.of_run(run), {"share": Signature({}, {})})
    scores = intervals.tallied_scores(tallies, Options(resamples=RESAMPLES, seed=seed))
    return {
        f"pass_{k} of {repeats}, n = {n}": float((score.low or 0.0) <= k / (k + 1) <= (score.high or 0.0))
        for k in range(1, repeats + 1)
        for score in [scores[f"share.pass_{k}"]]
    }
