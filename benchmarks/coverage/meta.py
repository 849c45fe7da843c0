"""Metrics and people: how often intervals of `harness meta` hold, and how often its tests alarm.

The world is made up, so that the truth is known: a system has a quality, an item a difficulty, and people and metrics
see both, each with errors of their own. A metric may err on an output by itself, on an item, whoever's output it is,
and on a system, in all its outputs.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from benchmarks.coverage.cells import CORES, Section, Tally, simulated, table, workers
from harness.inputs.choices import META_DRAWN
from harness.stats.design import Design
from harness.stats.people.agreement import agreement
from harness.stats.people.panel import Corpus, MetaOptions, Panel
from harness.stats.people.powered import predictions
from harness.stats.people.system_level import ORDERED, ordered
from harness.stats.resampling import Sample
from harness.testing import CannedMetric
from harness.types import Array

RESAMPLES = 300
SHOWN = ("pearson", "kendall_b", "acc_eq", "kendall", "accuracy", "spa")
TESTED = ("pearson", "kendall_b", "acc_eq", "spa")
Row = tuple[float, float, float]
"""A coefficient with its bounds."""


@dataclass(frozen=True)
class World:
    """How far apart systems, items and outputs are in truth, and how much a metric errs on each."""

    systems: float = 0.5
    items: float = 1.0
    outputs: float = 1.0
    system_error: float = 0.35
    item_error: float = 0.0
    error: float = 1.5
    alike: bool = False
    """Whether both metrics err on the same systems, so that they are as good on these as on any."""

    def draw(self, s: int, rng: np.random.Generator) -> Array:
        """(3, s): the quality of each of s systems, and the errors of both metrics on it."""
        quality, *errors = (rng.normal(0, spread, s) for spread in (self.systems, *(self.system_error,) * 2))
        return np.array([quality, errors[0], errors[0] if self.alike else errors[1]])

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


def coefficients(panel: Panel, options: MetaOptions) -> dict[str, Row]:
    """(estimate, low, high) of each coefficient of the first metric."""
    rows = agreement(panel, options, SHOWN, tests=False).coefficients
    return {
        f"{row.level} {row.coefficient}": (row.estimate or 0.0, row.low or 0.0, row.high or 0.0)
        for row in rows
        if row.score == "first"
    }


def truths(world: World, systems: Array, drawn: str, n: int) -> Tally:
    """What the systems' coefficients would be: of these on endless items, of endless ones on endless items, or on n."""
    if drawn == "items":
        quality, error, _ = systems
        values = ordered((quality + error)[None], quality[None], np.ones((1, len(quality))))[0]
    else:
        luck = world.outputs**2 / n if drawn == "systems" else 0.0
        shared = world.systems**2 + luck
        own = [0.5**2 / n, world.error**2 / n] if drawn == "systems" else [0.0, 0.0]
        correlation = shared / np.sqrt((shared + own[0]) * (shared + own[1] + world.system_error**2))
        kendall = 2 / np.pi * np.arcsin(correlation)
        values = np.array([correlation, kendall, (1 + kendall) / 2])
    return {f"system {name}": float(value) for name, value in zip(ORDERED, values, strict=True)}


def drawn_rows(
    drawn: str, s: int, n: int, world: World, seeds: range, resamples: int
) -> list[tuple[dict[str, Row], Tally]]:
    """The coefficients of one panel for each seed, and the truths that are known."""
    made = []
    for seed in seeds:
        rng = np.random.default_rng([seed, s, n])
        systems = world.draw(s, np.random.default_rng([s, n]) if drawn == "items" else rng)
        rows = coefficients(world.panel(systems, n, rng), MetaOptions(resamples, seed=seed, drawn=drawn))
        made.append((rows, truths(world, systems, drawn, n)))
    return made


def held(drawn: str, s: int, n: int, samples: int, resamples: int = RESAMPLES) -> Tally:
    """For each coefficient how often its 95 % interval holds the truth; that of an average over items, and of `spa`,
    whose p-values are those of n items, is what it is on average."""
    seeds = [range(first, samples, CORES) for first in range(CORES)]
    work = partial(drawn_rows, drawn, s, n, World())
    parts = [work(seeds[0], resamples)] if CORES == 1 else workers().map(work, seeds, [resamples] * CORES)
    made = [row for part in parts for row in part]
    names = list(made[0][0])
    usual = {name: float(np.mean([rows[name][0] for rows, _ in made])) for name in names}
    inside: dict[str, float] = defaultdict(float)
    for rows, known in made:
        for name, (_, low, high) in rows.items():
            inside[name] += low - 1e-9 <= known.get(name, usual[name]) <= high + 1e-9
    return {name: inside[name] / len(made) for name in names}


def alarms(drawn: str, s: int, n: int, world: World, rng: np.random.Generator, seed: int) -> Tally:
    """Whether the test calls one of two metrics better that are as good as each other."""
    options = MetaOptions(RESAMPLES, drawn=drawn, seed=seed, correction="none")
    tally = {}
    for test in agreement(world.panel(world.draw(s, rng), n, rng), options, TESTED).tests:
        tally[f"{test.level} {test.coefficient}"] = float(test.verdict in ("better", "worse"))
        if test.p_outputs is not None:
            tally[f"{test.level} {test.coefficient} by outputs"] = float(test.p_outputs <= 0.05)
    return tally


def predicted(labels: int, error: float, rng: np.random.Generator, seed: int, n: int = 1000) -> Tally:
    """Whether intervals from a few labels and a metric on all items hold the human mean, and that of a difference, and
    how many labels the metric is worth."""
    panel = World(error=error).panel(np.array([[0.0, 0.4], [0.1, 0.0], [0.0, 0.0]]), n, rng)
    assert panel.human is not None
    few = np.where(np.arange(n) < labels, panel.human, np.nan)
    first, _, gap = predictions(few, {"first": panel.segments["first"]}, panel.units, panel.systems, 0.95)
    return {
        "mean": float(first.low <= 0.0 <= first.high),
        "difference": float(gap.low <= 0.4 <= gap.high),
        "worth": first.effective / labels,
    }


# ---------------------------------------------------------------- tables

SIZES = {"items": ((5, 20), (5, 100), (13, 30), (13, 100)), "systems": ((13, 50),), "both": ((5, 100), (13, 100))}
ERRORS = {
    "outputs": World(system_error=0.0),
    "outputs and items": World(system_error=0.0, item_error=1.0),
    "outputs, items and systems": World(item_error=1.0),
    "outputs, and systems by much": World(system_error=0.6, error=0.5),
}


def lines(section: Section) -> Iterator[str]:
    yield from ("### Metrics and people", "")
    yield f"Simulated panels, {RESAMPLES} resamples each. How often 95 % intervals of agreement hold, %: for these"
    yield "systems on unlimited items (`--resample items`), for other systems (`systems`), and for other systems and"
    yield "items (`both`)."
    rows = []
    for drawn, sizes in SIZES.items():
        for s, n in sizes:
            tally = held(drawn, s, n, section.samples)
            cells = [section.held(share, "agreement of a metric with people") for share in tally.values()]
            rows.append([drawn, f"{s}", f"{n}", *cells])
    yield from ("", *table(["drawn", "systems", "items", *tally], rows), "")
    yield "How often a test at 5 % calls one of two equally good metrics better, %: 8 systems, 60 items. With"
    yield "`items`, both misjudge the same systems. The second number in a cell of `both` is the p from swapping"
    yield "outputs one by one, which is about these systems only; the verdict does not follow it."
    rows = []
    for name, world in ERRORS.items():
        for drawn in META_DRAWN:
            some = replace(world, alike=drawn == "items")
            tally = simulated(partial(alarms, drawn, 8, 60, some), section.samples, (12, *map(ord, drawn)))
            names = [part for part in tally if not part.endswith("by outputs")]
            cells = []
            for part in names:
                beside = f"; {100 * tally[f'{part} by outputs']:.1f}" if drawn == "both" else ""
                cells.append(section.alarms(tally[part], "a test of which metric agrees better") + beside)
            rows.append([drawn, name, *cells])
    yield from ("", *table(["drawn", "metrics err on", *names], rows, left=2), "")
    yield "Human scores of 1,000 outputs, from labels of some and a metric (`--predict`): how often 95 % intervals"
    yield "hold, %, and how many labels without the metric one label is worth."
    rows = []
    for labels in (20, 50, 200):
        for wrong in (3.0, 0.3):
            tally = simulated(partial(predicted, labels, wrong), section.samples, (13, labels, round(10 * wrong)))
            cells = [section.held(tally[part], "a human score from few labels") for part in ("mean", "difference")]
            rows.append([f"{labels}", f"{wrong:g}", *cells, f"{tally['worth']:.2f}"])
    yield from ("", *table(["labels", "metric errs by", "mean", "difference", "worth"], rows, left=0))
