"""Runs that end early: how far off the score at the end is, how often its bounds hold, and how often the answer is
wrong. Ordinary intervals after every look are beside them in the section `texts`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from unittest.mock import patch

import numpy as np

from benchmarks.coverage.cells import LEVEL, Section, Share, Tally, run, simulated, table
from harness.run.stopping import Stop, until_known
from harness.stats.options import Options
from harness.stats.selection import sequential
from harness.types import Example

EXAMPLES, BATCH, THRESHOLD, BASELINE = 600, 25, 0.8, 0.7
TRUTHS = (0.6, 0.7, 0.8, 0.9)
GAINS = (0.0, 0.15)
ORDERS = 100
"""Over which a reported score is averaged, of the thousand that a run takes."""


def lines(section: Section) -> Iterator[str]:
    yield from ("### Runs that end early", "")
    yield f"Up to {EXAMPLES:,} right or wrong answers, a look after every {BATCH}; a run ends once its score is known"
    yield f"to lie above or below {THRESHOLD:g}, or above or below that of a baseline ({BASELINE:g}). How far off the"
    yield "score is on average, in points of 100, as the mean of what was seen and as it is reported; how often its"
    yield "bounds hold, and how often the answer is wrong, %."
    rows = []
    cases = [("threshold", truth) for truth in TRUTHS] + [("baseline", gain) for gain in GAINS]
    for rule, truth in cases:
        tally = simulated(partial(ended, rule, truth), section.samples, (15, round(100 * truth), rule == "baseline"))
        offs = []
        for name in ("plain", "off"):
            error = ((tally[f"{name} squared"] - tally[name] ** 2) / section.samples) ** 0.5
            offs.append(f"{100 * tally[name]:+.2f} ± {100 * error:.2f}")
        held = section.held(tally["held"], "bounds of a run that ends early")
        wrong = section.alarms(tally["wrong"], "the answer of a run that ends early")
        rows.append([rule, f"{truth:g}", f"{100 * tally['early']:.0f}", *offs, held, wrong])
    heads = ["rule", "truth", "ended early, %", "mean seen: off", "reported: off", "bounds", "wrong answers"]
    yield from ("", *table(heads, rows))


def ended(rule: str, truth: float, rng: np.random.Generator, seed: int) -> Tally:
    """`truth`: the share that is right, or that it is more than the baseline's."""
    rows = [Example(str(i), "", ()) for i in range(EXAMPLES)]
    place = {example.id: i for i, example in enumerate(rows)}
    if rule == "baseline":
        before = (rng.random(EXAMPLES) < BASELINE).astype(float)
        right = (rng.random(EXAMPLES) < BASELINE + truth).astype(float)
        base = run("base", before, Share())
        scored = base.table.append_column("share", [before])
        stop, limit = Stop("share", baseline=replace(base, load=lambda: scored), batch=BATCH), 0.0
        gains = right - before
    else:
        right = (rng.random(EXAMPLES) < truth).astype(float)
        stop, limit, gains = Stop("share", threshold=THRESHOLD, batch=BATCH), THRESHOLD, right
    options = Options(level=LEVEL, seed=seed)
    with patch.object(sequential, "ORDERS", ORDERS):
        needed, known = until_known(stop, rows, Share(), options, lambda some: right[[place[e.id] for e in some]])
    above, plain, off = known.low > limit, float(gains[needed].mean()) - truth, known.estimate - truth
    return {
        "early": float(len(needed) < EXAMPLES),
        "plain": plain,
        "plain squared": plain**2,
        "off": off,
        "off squared": off**2,
        "held": float(known.low <= truth <= known.high),
        "wrong": float(known.answer is not None and (truth <= limit if above else truth >= limit)),
    }
