"""Several small data sets, and margins: the average over data sets, the family of their tests, and how often what is
worse by the margin is called not worse.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from benchmarks.coverage.cells import LEVEL, RESAMPLES, Mean, Section, Share, Tally, run, simulated, table
from benchmarks.coverage.few import swapped
from harness.inputs.choices import TESTS
from harness.stats.comparing.comparison import compare
from harness.stats.options import ComparisonOptions

SETS = ((6, 7, 8), (8, 12, 20), (20, 50, 100))
SIZES = (10, 20, 50, 100)
DECIDED = ("better", "worse")


def lines(section: Section) -> Iterator[str]:
    yield from ("### Several small data sets", "")
    yield "The average over three data sets, %: how often its 95 % interval holds, and how often tests at 5 % raise"
    yield "an alarm where nothing differs, on the average and on any of the three after max-T."
    rows = []
    for sizes in SETS:
        tally = simulated(partial(of_sets, sizes), section.samples, (6, *sizes))
        held = section.held(tally["held"], "an average over small data sets")
        shown = [
            section.alarms(tally[f"{test} {what}"], f"a test {where}")
            for test in TESTS
            for what, where in (("average", "of an average over data sets"), ("any", "of any of several data sets"))
        ]
        rows.append([", ".join(map(str, sizes)), held, *shown])
    heads = ["examples of each", "interval", *(f"{test}: {what}" for test in TESTS for what in ("average", "any"))]
    yield from ("", *table(heads, rows), "", "### Margins", "")
    yield "Of systems worse by exactly the margin, how many are called not worse; of systems better by exactly the"
    yield "margin, how many are called equivalent, %. Beside them, how many equal systems are called equivalent."
    rows = []
    for kind in ("mean", "share"):
        for n in SIZES:
            tally = simulated(partial(within_margin, kind, n), section.samples, (7, n))
            wrong = [section.alarms(tally[name], "a test against a margin") for name in ("not worse", "equivalent")]
            rows.append([kind, f"{n}", *wrong, section.plain(tally["equal"])])
    yield from ("", *table(["score", "n", "not worse", "equivalent", "equal ones"], rows))


def of_sets(sizes: tuple[int, ...], rng: np.random.Generator, seed: int) -> Tally:
    groups = []
    for n in sizes:
        pair = (run("a", np.zeros(n), Mean(), data=str(n)), run("b", swapped(n, rng), Mean(), data=str(n)))
        groups.append([pair])
    tally = {}
    for test in TESTS:
        rows = compare(groups, ComparisonOptions(test, RESAMPLES, LEVEL, seed))
        (average,) = rows.macro
        tally[f"{test} average"] = float(average.verdict in DECIDED)
        tally[f"{test} any"] = float(any(row.verdict in DECIDED for row in rows))
        assert average.low is not None
        assert average.high is not None
        tally["held"] = float(average.low <= 0 <= average.high)
    return tally


def within_margin(kind: str, n: int, rng: np.random.Generator, seed: int) -> Tally:
    """A margin of a tenth for shares around 0.8, of three standard errors for means."""
    margin = 0.1 if kind == "share" else 3 / np.sqrt(n)
    tally = {}
    for name, shift in (("not worse", -margin), ("equivalent", margin), ("equal", 0.0)):
        if kind == "share":
            right = [(rng.random(n) < share).astype(float) for share in (0.8, 0.8 + shift)]
            pair = (run("a", right[0], Share()), run("b", right[1], Share()))
        else:
            pair = (run("a", np.zeros(n), Mean()), run("b", rng.normal(shift, 1, n), Mean()))
        options = ComparisonOptions(resamples=RESAMPLES, level=LEVEL, seed=seed, margins=((kind, float(margin)),))
        (row,) = compare([[pair]], options)
        p = row.p_not_worse if name == "not worse" else row.p_equivalent
        assert p is not None
        tally[name] = float(p <= 1 - LEVEL)
    return tally
