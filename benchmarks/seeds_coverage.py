"""A section of `make coverage`: repeats and seeds. How often tests raise an alarm and intervals hold the truth where
every example has several outputs.

Systems are made up: what an example is worth, what a system gains on it, what a seed adds to all of its outputs, and
what an output adds by itself are all drawn anew in every simulation, so that a test of new seeds on new examples has
something to generalise to. Scores are means, in points.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from harness import variance
from harness.stats import intervals
from harness.stats.comparison import compare
from harness.stats.design import Design
from harness.stats.of_k import Several
from harness.stats.options import ComparisonOptions, Options
from harness.stats.planning import seeds_power
from harness.stats.seeds import Spread
from harness.testing import CannedMetric
from harness.types import Array, Comparison, RunResult, Signature, Statistics, Texts

EXAMPLE, GAIN, OUTPUT = 30.0, 10.0, 20.0
"""Standard deviations, in points: of examples, of a system's gain on one, and of one output."""
EFFECTS = {"no": 0.0, "small": 1.0, "large": 3.0}
"""Of whole seeds."""
SEEDS = (3, 5, 10)
SIZES = (100, 400)
LEVEL = 0.95


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


def made(name: str, values: Array, seeds: bool = False) -> RunResult:
    """A run whose examples score these values (n, repeats)."""
    n, repeats = values.shape
    metric = CannedMetric()
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


def section(simulations: int = 1000) -> str:
    """The section of docs/statistics.md."""
    error = 100 * math.sqrt(0.05 * 0.95 / simulations)
    about = f"Made-up systems, {simulations:,} simulations a cell; Monte Carlo error {error:.1f} at 5 % or 95 %."
    return "\n".join(
        [
            "### Several outputs of an example, and seeds: tests at 5 % and 95 % intervals, %",
            "",
            f"{about} Power: for a difference of 2.8 standard errors; planned: as `harness power` says it.",
            "",
            "| outputs | n | alarms | power | planned | interval of the difference holds | error, in true ones |",
            "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
            *(_line(*cell, simulations) for cell in cells()),
            "",
            "### Shares of the noise, and the best of k: 95 % intervals hold, %",
            "",
            "| of | truth | holds |",
            "| --- | ---: | ---: |",
            *shares_of_noise(simulations),
            *of_k(simulations),
            "",
        ]
    )


def cells() -> Iterator[tuple[str, World, str]]:
    """(what it is called, the world, the test)."""
    for n in SIZES:
        for test in ("bootstrap", "randomization"):
            yield f"5 independent ones, {test}", World(n, 5), test
    for name, effect in EFFECTS.items():
        for seeds in SEEDS:
            for n in SIZES:
                yield f"{seeds} seeds, {name} effect", World(n, seeds, effect, seeds=True), "bootstrap"


def _line(name: str, world: World, test: str, simulations: int) -> str:
    resamples = 20 if world.seeds else 1000  # with seeds, p comes from no resample
    null = shares(world, simulations, test, resamples)
    real = World(world.n, world.repeats, world.effect, 2.8 * world.error, world.seeds)
    power = shares(real, simulations, test, resamples, first=simulations)
    slack = 2 * math.sqrt(0.05 * 0.95 / simulations)
    values = [
        _marked(null["alarms"], 0.04 - slack, 0.06 + slack), f"{100 * power['alarms']:.1f}",
        f"{100 * seeds_power(real.gain, world.spread, LEVEL):.1f}", _marked(power["held"], 0.93 - slack, 0.97 + slack),
    ]  # fmt: skip
    return f"| {name} | {world.n:,} | {' | '.join(values)} | {null['error']:.2f} |"


def _marked(share: float, low: float, high: float) -> str:
    """In %, with a mark where it misses by more than the Monte Carlo error."""
    return f"{100 * share:.1f}{'' if low <= share <= high else ' ✗'}"


def shares_of_noise(simulations: int) -> Iterator[str]:
    """How often the interval of the share that seeds have in the noise holds it."""
    for name, effect in EFFECTS.items():
        for seeds in SEEDS:
            world, held = World(100, seeds, effect, seeds=True), 0
            parts = EXAMPLE**2 / world.n, effect**2 / seeds, (GAIN**2 + OUTPUT**2) / (world.n * seeds)
            truth = parts[1] / sum(parts)
            for simulation in range(simulations):
                rng = np.random.default_rng([simulation, seeds])
                values = rng.normal(50.0, EXAMPLE, (world.n, 1)) + rng.normal(0, effect, (1, seeds))
                values = values + rng.normal(0, math.hypot(GAIN, OUTPUT), (world.n, seeds))
                (row,) = variance([made("a", values, seeds=True)])
                source = next(source for source in row.sources if source.name == "seed")
                held += source.low <= truth <= source.high
            yield f"| seeds, {seeds} of {name} effect | {100 * truth:.0f} % | {_marked(held / simulations, 0.93, 1)} |"


def of_k(simulations: int, n: int = 100, repeats: int = 5) -> Iterator[str]:
    """How often the interval of pass_k holds it, where the chances of being right are spread evenly."""
    held = np.zeros(repeats)
    truths = [k / (k + 1) for k in range(1, repeats + 1)]
    for simulation in range(simulations):
        rng = np.random.default_rng(simulation)
        right = (rng.random((n, repeats)) < rng.random((n, 1))).astype(np.float64)
        run = made("a", right)
        several = Several({"canned": bounded()})
        several.add(Texts.of([str(i) for i in range(right.size)]), {"canned": run.statistics["canned"].whole})
        tallies = several.tallies(Design.of_run(run), {"canned": Signature({}, {})})
        scores = intervals.tallied_scores(tallies, Options(resamples=1000, seed=simulation))
        for k, truth in enumerate(truths):
            score = scores[f"canned.pass_{k + 1}"]
            held[k] += (score.low or 0.0) <= truth <= (score.high or 0.0)
    for k in range(repeats):
        yield f"| pass_{k + 1} of {repeats}, n = {n} | {truths[k]:.3f} | {_marked(held[k] / simulations, 0.93, 1)} |"


def bounded() -> CannedMetric:
    metric = CannedMetric()
    metric.bounds = (0.0, 1.0)
    return metric


if __name__ == "__main__":
    print(section())
