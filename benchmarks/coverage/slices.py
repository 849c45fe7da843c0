"""Slices of a data set: how often the interval of a slice's score holds, how often a test alarms in any of them where
nothing differs, and how often the test of interaction does where all differ alike.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from benchmarks.coverage.cells import LEVEL, RESAMPLES, Mean, Section, Share, Tally, run, simulated, table
from benchmarks.coverage.few import skewed, swapped
from harness.stats.comparing.comparison import compare
from harness.stats.options import ComparisonOptions, Options
from harness.stats.slices.sliced import parts_of
from harness.stats.slices.slicing import Split
from harness.types import Array, Metric

SIZES = ((10, 10, 10), (10, 20, 40, 80), (50,) * 10)
SEEDS = {"mean": 1, "skewed": 2, "share": 0}
"""What is scored, and what its samples are drawn by. Skewed: means, with gains that are of one side."""


def lines(section: Section) -> Iterator[str]:
    yield from ("### Slices", "")
    yield "How often the 95 % interval of the smallest slice's score holds, %; how often tests at 5 % alarm in any"
    yield "slice where nothing differs; and how often the test of interaction does where all differ alike. *skewed*:"
    yield "gains of one side, many small losses against rare large gains, by which no two systems could change places."
    rows = []
    for kind in SEEDS:
        for sizes in SIZES:
            tally = simulated(partial(of_slices, kind, sizes), section.samples, (16, *sizes, SEEDS[kind]))
            question = "a test in any slice" + ", gains of one side" * (kind == "skewed")
            rows.append(
                [
                    kind, ", ".join(map(str, sizes)) if len(set(sizes)) > 1 else f"{len(sizes)} of {sizes[0]}",
                    section.held(tally["held"], "a score of a slice"),
                    section.alarms(tally["any"], question),
                    section.alarms(tally["interaction"], "a test whether slices differ in their difference"),
                ]
            )  # fmt: skip
    yield from ("", *table(["score", "examples of each", "interval", "any test", "interaction"], rows, left=2))


def of_slices(kind: str, sizes: tuple[int, ...], rng: np.random.Generator, seed: int) -> Tally:
    codes = np.repeat(np.arange(len(sizes)), sizes)
    n = len(codes)
    metric: Metric = Share() if kind == "share" else Mean()
    values = (rng.random(n) < 0.8).astype(float) if kind == "share" else rng.gamma(2.0, 1.0, n) - 2.0
    truth = 0.8 if kind == "share" else 0.0
    whole = run("a", values, metric)
    table_with_errors = whole.table.append_column("error", [[None] * n])
    whole = replace(whole, load=lambda: table_with_errors)
    split = Split(tuple(map(str, range(len(sizes)))), codes, False)
    scores = [part.scores[metric.name] for part in parts_of(whole, "kind", split, Options(RESAMPLES, LEVEL, seed=seed))]
    smallest = scores[int(np.argmin(sizes))]
    assert smallest.low is not None
    assert smallest.high is not None
    return {
        "held": float(smallest.low <= truth <= smallest.high),
        "any": float(_alarm(kind, sizes, 0.0, rng, seed)[0]),
        "interaction": float(_alarm(kind, sizes, 0.1, rng, seed)[1]),
    }


def _alarm(kind: str, sizes: tuple[int, ...], gain: float, rng: np.random.Generator, seed: int) -> tuple[bool, bool]:
    """(whether any slice is called better or worse, whether the slices are said to differ)."""
    groups = []
    for i, n in enumerate(sizes):
        before, after = _pair(kind, n, gain, rng)
        metric = Share() if kind == "share" else Mean()
        groups.append([(run("a", before, metric, data=str(i)), run("b", after, metric, data=str(i)))])
    rows = compare(groups, ComparisonOptions(resamples=RESAMPLES, level=LEVEL, seed=seed, sliced_by="kind"))
    return (
        any(row.verdict in ("better", "worse") for row in rows),
        any(row.p_adjusted <= 1 - LEVEL for row in rows.interactions),
    )


def _pair(kind: str, n: int, gain: float, rng: np.random.Generator) -> tuple[Array, Array]:
    if kind == "share":
        before, after = ((rng.random(n) < share).astype(float) for share in (0.8, 0.8 + gain))
        return before, after
    return np.zeros(n), gain + (skewed(n, rng) if kind == "skewed" else swapped(n, rng))
