"""`harness gate`: how often a model that is worse by the margin passes, and how often one that did not change does."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from benchmarks.coverage.cells import LEVEL, RESAMPLES, Mean, Section, Share, Tally, run, simulated, table
from harness.analysis.gate.gating import gate
from harness.analysis.gate.policies import Policy
from harness.stats.options import ComparisonOptions

SIZES = (50, 100, 400, 1000)
MARGINS = {"mean": 0.2, "share": 0.05}
"""Of means a fifth of the standard deviation of an example's difference, of shares 5 points."""


def lines(section: Section) -> Iterator[str]:
    yield from ("### The gate", "")
    yield "Of models worse by exactly the margin, how many pass and how many are called worse; of unchanged models"
    yield "(new outputs, the same quality), how many pass, cannot be told, and are called worse, %. Margins: a fifth"
    yield "of the standard deviation of an example's difference, and 5 points of a share of 0.8."
    rows = []
    for kind in MARGINS:
        for n in SIZES:
            tally = simulated(partial(at_the_gate, kind, n), section.samples, (31, n))
            passes = section.alarms(tally["worse passes"], "a model worse by the margin that passes the gate")
            alarm = section.alarms(tally["same worse"], "an unchanged model that the gate calls worse")
            shown = [section.plain(tally[name]) for name in ("worse worse", "same passes", "same unknown")]
            rows.append([kind, f"{n:,}", passes, *shown, alarm])
    heads = ["score", "n", "worse: passes", "worse: found", "unchanged: passes", "cannot tell", "called worse"]
    yield from ("", *table(heads, rows))


def at_the_gate(kind: str, n: int, rng: np.random.Generator, seed: int) -> Tally:
    tally = {}
    for name, shift in (("worse", -MARGINS[kind]), ("same", 0.0)):
        if kind == "share":
            values = [(rng.random(n) < share).astype(float) for share in (0.8, 0.8 + shift)]
            old, new = (run(who, right, Share()) for who, right in zip("ab", values, strict=True))
        else:
            old, new = run("a", np.zeros(n), Mean()), run("b", rng.normal(shift, 1, n), Mean())
        policy = Policy().with_margins([(kind, MARGINS[kind])])
        options = ComparisonOptions(resamples=RESAMPLES, level=LEVEL, seed=seed)
        verdict = gate([new], [old], policy, options).verdict
        tally[f"{name} passes"] = float(verdict in ("better", "not worse"))
        tally[f"{name} worse"] = float(verdict == "worse")
        tally[f"{name} unknown"] = float(verdict == "cannot tell")
    return tally
