"""`python -m benchmarks.diversity`: which interval of distinct-n holds the truth. The table is in docs/metrics.md.

A real data set stands for the population. The truth is the mean score of many fresh samples of n outputs; each interval
is made from one sample. Real resamples (`percentile`, `basic`, `normal`) are drawn here, the jackknife is our own.
"""

from __future__ import annotations

import sys

import numpy as np

from benchmarks.lexical import SHARED, read
from harness.metrics.distinct import Distinct
from harness.stats.design import Design
from harness.stats.intervals import interval
from harness.stats.resampling import Sample, quiet_single_thread, replicates
from harness.types import Array, Batch, Rows

DATA = (("comparemt_ted_detok", ("sys1", "sys2")), ("wmt22_de-en", ("Online-A", "Lan-Bridge")))
SIZES = (25, 100, 400)
SIMULATIONS, RESAMPLES, LEVEL = 400, 400, 0.95


def populations(folder: str, systems: tuple[str, ...]) -> list[Rows]:
    metric, tables = Distinct(), [read(SHARED / folder / "systems" / f"{name}.jsonl") for name in systems]
    outputs = [{row["id"]: row["output"] for row in table} for table in tables]
    ids = [id_ for id_ in outputs[0] if all(id_ in texts for texts in outputs)]
    return [metric.statistics(Batch([texts[id_] for id_ in ids], [])) for texts in outputs]


def scored(rows: Rows, weights: Array) -> Array:
    return Distinct().score_weighted(weights, rows)


def bounds(estimate: Array, resampled: Array, jackknifed: Array) -> dict[str, tuple[Array, Array]]:
    ends = {method: interval(resampled, estimate, LEVEL, method) for method in ("percentile", "basic", "normal")}
    return {**ends, "jackknife": interval(jackknifed, estimate, LEVEL, "percentile")}


def held(people: list[Rows], n: int, simulations: int, rng: np.random.Generator) -> dict[str, Array]:
    """By what and method the shares of intervals (s,) that hold the truth."""
    size, once, design = len(people[0]), np.ones((1, n)), Design.of(n)
    fresh = [rng.integers(0, size, n) for _ in range(5 * simulations)]
    truth = np.mean([[scored(rows[picks], once)[0] for rows in people] for picks in fresh], axis=0)
    hits: dict[str, list[Array]] = {}
    for seed in range(simulations):
        picks = rng.integers(0, size, n)
        samples = [Sample(Distinct(), rows[picks], design) for rows in people]
        first, second = (sample.estimate() for sample in samples)
        weights = rng.multinomial(n, np.full(n, 1 / n), RESAMPLES).astype(np.float64)
        a, b = (scored(sample.whole, weights) for sample in samples)
        x, y = replicates(samples, RESAMPLES, seed, "simulation")
        for what, true, ends in (
            ("score", truth[0], bounds(first, a, x)),
            ("difference", truth[1] - truth[0], bounds(second - first, b - a, y - x)),
        ):
            for method, (low, high) in ends.items():
                hits.setdefault(f"{what}, {method}", []).append((low <= true) & (true <= high))
    return {name: np.mean(values, axis=0) for name, values in hits.items()}


def main(simulations: int = SIMULATIONS) -> None:
    for folder, systems in DATA:
        people = populations(folder, systems)
        print(f"{folder}, {len(people[0])} outputs")
        for n in SIZES:
            with quiet_single_thread():
                shares = held(people, n, simulations, np.random.default_rng(n))
            for name, (words, pairs) in shares.items():
                print(f"  n = {n:4}  {name:24} distinct1 {100 * words:5.1f} %  distinct2 {100 * pairs:5.1f} %")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
