"""`python -m benchmarks.meta_coverage [SIMULATIONS]`: how often intervals of `harness meta` hold, and its tests alarm.

The world is made up, so that the truth is known: a system has a quality, an item a difficulty, and people and metrics
see both, each with errors of their own. A metric may err on an output by itself, on an item, whoever's output it is,
and on a system, in all its outputs.
"""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from harness.inputs.choices import META_DRAWN
from harness.stats.agreement import agreement
from harness.stats.design import Design
from harness.stats.panel import Corpus, MetaOptions, Panel
from harness.stats.powered import predictions
from harness.stats.resampling import Sample
from harness.stats.system_level import ORDERED, ordered
from harness.testing import CannedMetric
from harness.types import Array

PAGE = Path(__file__).parent.parent / "docs" / "meta.md"
SIMULATIONS, RESAMPLES = 400, 300
SHOWN = ("pearson", "kendall_b", "acc_eq", "kendall", "accuracy", "spa")
TESTED = ("pearson", "kendall_b", "acc_eq", "spa")
Tally = dict[str, float]


@dataclass(frozen=True)
class World:
    """How far apart systems, items and outputs are in truth, and how much a metric errs on each."""

    systems: float = 0.5
    items: float = 1.0
    outputs: float = 1.0
    system_error: float = 0.35
    item_error: float = 0.0
    error: float = 1.5

    def draw(self, s: int, rng: np.random.Generator) -> Array:
        """(3, s): the quality of each of s systems, and the errors of both metrics on it."""
        return np.array([rng.normal(0, spread, s) for spread in (self.systems, self.system_error, self.system_error)])

    def panel(self, systems: Array, n: int, rng: np.random.Generator) -> Panel:
        """Systems (3, s) on n items with two metrics, `first` and `second`, that are as good as each other."""
        quality, *errors = systems
        s = len(quality)
        seen = quality[:, None] + rng.normal(0, self.items, n) + rng.normal(0, self.outputs, (s, n))
        human = seen + rng.normal(0, 0.5, (s, n))
        metrics = {
            name: seen + error[:, None] + rng.normal(0, self.item_error, n) + rng.normal(0, self.error, (s, n))
            for name, error in zip(("first", "second"), errors, strict=True)
        }
        return panel_of(human, metrics)


def panel_of(human: Array, segments: dict[str, Array], clusters: list[object] | None = None) -> Panel:
    """Of human scores (s, n) and metrics' (s, n), NaN where there is none; a system's score is a mean."""
    s, n = human.shape
    design = Design.of(n, clusters=clusters)
    panel = Panel(tuple(f"system {i}" for i in range(s)), human, segments, {}, design, design.members)
    corpora = {}
    for name, values in segments.items():
        rows = np.stack([np.nan_to_num(values), np.ones_like(values)], axis=2)
        metric = CannedMetric(name=name)
        samples = [Sample(metric, row, design, keep) for row, keep in zip(rows, panel.cells, strict=True)]
        corpora[name] = Corpus(samples, 0)
    return replace(panel, corpora=corpora)


# ---------------------------------------------------------------- one simulation each


def coefficients(panel: Panel, options: MetaOptions) -> dict[str, tuple[float, float, float]]:
    """(estimate, low, high) of each coefficient of the first metric."""
    rows = agreement(panel, options, SHOWN, tests=False).coefficients
    return {
        f"{row.level} {row.coefficient}": (row.estimate or 0.0, row.low or 0.0, row.high or 0.0)
        for row in rows
        if row.score == "first"
    }


def truths(world: World, systems: Array, drawn: str) -> Tally:
    """What the systems' coefficients would be with endless items: of these systems, or of endless ones."""
    if drawn == "items":
        quality, error, _ = systems
        values = ordered((quality + error)[None], quality[None], np.ones((1, len(quality))))[0]
    else:
        correlation = world.systems / np.hypot(world.systems, world.system_error)
        kendall = 2 / np.pi * np.arcsin(correlation)
        values = np.array([correlation, kendall, (1 + kendall) / 2])
    return {f"system {name}": float(value) for name, value in zip(ORDERED, values, strict=True)}


def held(drawn: str, s: int, n: int, simulations: int) -> Tally:
    """For each coefficient how often its 95 % interval holds the truth; that of an average over items, and of `spa`,
    whose p-values are those of n items, is what it is on average."""
    world, rng = World(), np.random.default_rng([s, n])
    systems = world.draw(s, rng)
    rows: dict[str, list[tuple[float, float, float]]] = defaultdict(list)
    for seed in range(simulations):
        panel = world.panel(systems if drawn == "items" else world.draw(s, rng), n, rng)
        for name, row in coefficients(panel, MetaOptions(RESAMPLES, seed=seed, drawn=drawn)).items():
            rows[name].append(row)
    truth = {name: float(np.mean([row[0] for row in of_name])) for name, of_name in rows.items()}
    truth |= truths(world, systems, drawn)
    return {name: float(np.mean([low <= truth[name] <= high for _, low, high in part])) for name, part in rows.items()}


def alarms(drawn: str, s: int, n: int, simulations: int, world: World) -> Tally:
    """How often the test calls one of two metrics better that are as good as each other."""
    rng = np.random.default_rng([s, n, 1])
    shares: dict[str, float] = defaultdict(float)
    for seed in range(simulations):
        options = MetaOptions(RESAMPLES, drawn=drawn, seed=seed, correction="none")
        for test in agreement(world.panel(world.draw(s, rng), n, rng), options, TESTED).tests:
            shares[f"{test.level} {test.coefficient}"] += float(test.p_value <= 0.05) / simulations
    return dict(shares)


def predicted(labels: int, error: float, simulations: int, n: int = 1000) -> Tally:
    """How often intervals from a few labels and a metric on all items hold the human mean, and that of a difference,
    and how many labels the metric is worth."""
    world, rng = World(error=error), np.random.default_rng([labels, n])
    shares: dict[str, float] = defaultdict(float)
    for _ in range(simulations):
        panel = world.panel(np.array([[0.0, 0.4], [0.1, 0.0], [0.0, 0.0]]), n, rng)
        assert panel.human is not None
        few = np.where(np.arange(n) < labels, panel.human, np.nan)
        first, _, gap = predictions(few, {"first": panel.segments["first"]}, panel.units, panel.systems, 0.95)
        shares["mean"] += float(first.low <= 0.0 <= first.high) / simulations
        shares["difference"] += float(gap.low <= 0.4 <= gap.high) / simulations
        shares["worth"] += first.effective / labels / simulations
    return dict(shares)


# ---------------------------------------------------------------- tables


def section(simulations: int = SIMULATIONS) -> Iterator[str]:
    """The lines of the table."""
    error = f"{100 * np.sqrt(0.05 * 0.95 / simulations):.1f}"
    yield f"{simulations:,} made-up panels a cell, {RESAMPLES:,} resamples each. Monte Carlo error (one standard"
    yield f"error): {error} at 95 % or 5 %; a star where a cell misses by more than two of them."
    yield from ("", "Coverage of 95 % intervals, % (at least 93):")
    cases = [(drawn, s, n) for drawn in ("items", "both") for s, n in ((5, 100), (13, 100))]
    rows = [((drawn, f"{s}", f"{n}"), held(drawn, s, n, simulations)) for drawn, s, n in cases]
    yield from _table(("drawn", "systems", "items"), rows, lambda share: _marked(share, simulations, 0.93, 1.0))
    yield from ("", "Alarms of tests at 5 % where two metrics are as good, 8 systems, 100 items, % (at most 6):")
    errors = {
        "outputs": World(system_error=0.0),
        "outputs and items": World(system_error=0.0, item_error=1.0),
        "outputs, items and systems": World(item_error=1.0),
    }
    tests = [
        ((drawn, name), alarms(drawn, 8, 100, simulations, world))
        for name, world in errors.items()
        for drawn in META_DRAWN
    ]
    heads = ("swapped", "metrics err on")
    yield from _table(heads, tests, lambda share: _marked(share, simulations, 0.0, 0.06))
    yield from (
        "",
        "Estimates from labels of some of 1,000 items and a metric: coverage, %, and worth of a label:",
        "",
    )
    yield "| labels | metric errs by | mean | difference | worth |"
    yield "| ---: | ---: | ---: | ---: | ---: |"
    for labels in (20, 50, 200):
        for wrong in (3.0, 0.3):
            tally = predicted(labels, wrong, simulations)
            cells = [_marked(tally[name], simulations, 0.93, 1.0) for name in ("mean", "difference")]
            yield f"| {labels} | {wrong} | {' | '.join(cells)} | {tally['worth']:.2f} |"


Rows = list[tuple[tuple[str, ...], Tally]]


def _table(heads: tuple[str, ...], rows: Rows, shown: Callable[[float], str]) -> Iterator[str]:
    names = list(dict.fromkeys(name for _, tally in rows for name in tally))
    yield ""
    yield f"| {' | '.join((*heads, *names))} |"
    yield f"|{' --- |' * len(heads)}{' ---: |' * len(names)}"
    for first, tally in rows:
        yield f"| {' | '.join((*first, *(shown(tally[name]) for name in names)))} |"


def _marked(share: float, simulations: int, least: float, most: float) -> str:
    error = np.sqrt(max(share * (1 - share), 0.01) / simulations)
    missed = share + 2 * error < least or share - 2 * error > most
    return f"{100 * share:.1f}{'*' if missed else ''}"


def main(simulations: int = SIMULATIONS) -> None:
    """Writes the section into docs/meta.md."""
    lines = ["<!-- made by `python -m benchmarks.meta_coverage` -->"]
    for line in section(simulations):
        print(line, flush=True)
        lines.append(line)
    made = "\n".join([*lines, "<!-- end of coverage -->"])
    pattern = r"<!-- made by `python -m benchmarks.meta_coverage` -->.*?<!-- end of coverage -->"
    PAGE.write_text(re.sub(pattern, lambda _: made, PAGE.read_text(), flags=re.DOTALL))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
