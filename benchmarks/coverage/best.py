"""The best of many: how often the corrected interval of the winner holds its true score, and how far off its score is.

Runs are equal in truth, or spread by their noise, or by four times that; their scores of an example are correlated, as
those of checkpoints are, or not; and they are normal, or high with rare losses, where the run that happens to have the
fewest losses wins and looks steadier than it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from benchmarks.coverage.cells import LEVEL, Mean, Section, Tally, run, simulated, table
from harness.stats.options import Options
from harness.stats.selection.winner import best_of
from harness.types import Array

RUNS, EXAMPLES, RESAMPLES = (5, 20, 100), 50, 500
SPREADS = {"equal": 0.0, "spread by their noise": 1.0, "spread by four times that": 4.0}
CELLS = (
    ("normal", "equal", 0.0),
    ("normal", "spread by their noise", 0.0),
    ("normal", "spread by their noise", 0.7),
    ("normal", "spread by four times that", 0.0),
    ("rare losses", "equal", 0.0),
    ("rare losses", "spread by their noise", 0.0),
    ("rare losses", "spread by their noise", 0.7),
)
"""The scores of an example, how true scores lie, and the correlation of two runs' scores of an example."""


def lines(section: Section) -> Iterator[str]:
    yield from ("### The best of many", "")
    yield f"Simulated runs on {EXAMPLES} examples, {RESAMPLES} resamples: how often 95 % intervals hold the winner's"
    yield "true score, % (its own, the corrected one, and that of a held-out half with `--split`), and how far off"
    yield "its score is on average, in standard errors of one run."
    rows = []
    for kind, spread, correlation in CELLS:
        for k in RUNS:
            purpose = (14, k, round(SPREADS[spread]), round(10 * correlation), *([1] if kind != "normal" else []))
            cell = partial(chosen, kind, k, SPREADS[spread], correlation)
            tally = simulated(cell, section.samples, purpose)
            corrected = section.held(tally["corrected"], "the best of 5, 20 or 100 runs")
            split = section.held(tally["split"], "the best, on a half that it was not chosen on")
            offs = [f"{tally[name]:+.2f}" for name in ("off", "off, corrected")]
            cells = [section.plain(tally["own"]), corrected, split, *offs]
            rows.append([kind, spread, f"{correlation:g}", f"{k}", *cells])
    heads = ["scores", "truths", "correlated by", "runs", "its own", "corrected", "split", "off", "off, corrected"]
    yield from ("", *table(heads, rows, left=2))


def chosen(kind: str, k: int, spread: float, correlation: float, rng: np.random.Generator, seed: int) -> Tally:
    error = 1 / np.sqrt(EXAMPLES)
    truths = rng.normal(0, spread * error, k)
    common, own = (_noise(kind, size, rng) for size in (EXAMPLES, (k, EXAMPLES)))
    common, own = np.sqrt(correlation) * common, np.sqrt(1 - correlation) * own
    runs = [run(str(i), truths[i] + common + own[i], Mean()) for i in range(k)]
    (best,) = best_of(runs, Options(RESAMPLES, LEVEL, seed=seed))
    (half,) = best_of(runs, Options(RESAMPLES, LEVEL, seed=seed), split=True)
    truth = truths[best.place]
    return {
        "own": float(best.low <= truth <= best.high),
        "corrected": float(best.corrected_low <= truth <= best.corrected_high),
        "split": float(half.corrected_low <= truths[half.place] <= half.corrected_high),
        "off": (best.estimate - truth) / error,
        "off, corrected": (best.corrected - truth) / error,
    }


def _noise(kind: str, size: int | tuple[int, int], rng: np.random.Generator) -> Array:
    """Of mean 0 and variance 1."""
    return rng.normal(size=size) if kind == "normal" else (2.0 - rng.gamma(2.0, 1.0, size)) / np.sqrt(2.0)
