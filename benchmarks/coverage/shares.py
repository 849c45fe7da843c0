"""Scores of zeros and ones: what share of all samples their intervals hold for, exactly, from the binomial distribution
and the intervals that `harness.stats` gives for each number of right answers; and, simulated, those of several outputs
of each example.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
import scipy.stats

from benchmarks.coverage.cells import LEVEL, Section, Share, Tally, simulated, table
from benchmarks.coverage.repeats import made
from harness.stats import intervals
from harness.stats.comparing.comparison import compare
from harness.stats.design import Design
from harness.stats.expansion import Expansion
from harness.stats.options import ComparisonOptions, Options
from harness.stats.proportions import tango
from harness.types import Array, Signature, Statistics

SHARES, SIZES = (0.02, 0.1, 0.5, 0.98), (10, 20, 50, 100, 200, 400)
PAIRED_SIZES = (10, 20, 50, 100)
PAIRS = ((0.01, 0.01), (0.05, 0.05), (0.1, 0.02), (0.25, 0.25), (0.3, 0.1))
METHODS = ("auto", "wilson", "percentile", "bca")
OUTPUTS, RESAMPLES = 3, 500
"""Of each example, and of each simulation."""


def lines(section: Section) -> Iterator[str]:
    yield from ("### Scores of zeros and ones", "")
    yield "How often 95 % intervals of a share hold, %, and the mean width of the default. Exact, not simulated,"
    yield "except for the resamples of `percentile` and `bca`."
    rows = []
    for share in SHARES:
        for n in SIZES:
            cells = {method: _held(share, n, method) for method in METHODS}
            own = section.held(cells["auto"][0], "a score of zeros and ones", exact=True)
            others = [section.plain(cells[method][0], exact=True) for method in METHODS[1:]]
            rows.append([f"{share:g}", f"{n}", own, *others, f"{cells['auto'][1]:.3f}"])
    yield from ("", *table(["share", "n", "default (agresti-coull)", *METHODS[1:], "width"], rows, left=0))
    yield from ("", "Paired differences of two such scores: the share that only one or only the other has right.", "")
    rows = []
    for won, lost in PAIRS:
        held = [
            section.held(_paired(won, lost, n), "a difference of two such scores", exact=True) for n in PAIRED_SIZES
        ]
        rows.append([f"{won:g} and {lost:g}", *held])
    yield from table(["differ", *(f"n = {n}" for n in PAIRED_SIZES)], rows)
    yield from ("", f"{OUTPUTS} outputs of each example, drawn for it alone or one of each of as many seeds.", "")
    rows = []
    for shares in ((0.98, 0.98), (0.98, 0.9), (0.5, 0.5)):
        for n in (20, 50):
            cells = []
            for seeds in (False, True):
                tally = simulated(partial(repeated, shares, n, seeds), section.samples, (11, n, round(100 * shares[1])))
                of = "of new seeds" if seeds else "of several outputs"
                cells += [
                    section.held(tally["score"], f"a share {of}"),
                    section.held(tally["difference"], f"a difference of shares {of}"),
                ]
            rows.append([f"{shares[0]:g} and {shares[1]:g}", f"{n}", *cells])
    heads = ["shares", "n", "outputs: the first", "difference", "seeds: the first", "difference"]
    yield from table(heads, rows, left=0)


def repeated(shares: tuple[float, float], n: int, seeds: bool, rng: np.random.Generator, seed: int) -> Tally:
    """Whether the intervals of the first system's share and of the difference hold."""
    runs = [
        made(name, _outputs(share, n, seeds, rng), seeds, Share()) for name, share in zip("ab", shares, strict=True)
    ]
    options = Options(RESAMPLES, LEVEL, seed=seed)
    score = intervals.scores([runs[0].statistics["share"]], Design.of_run(runs[0]), options)["share"]
    (row,) = compare([[(runs[0], runs[1])]], ComparisonOptions(resamples=RESAMPLES, level=LEVEL, seed=seed))
    assert score.low is not None
    assert score.high is not None
    assert row.low is not None
    assert row.high is not None
    rounding = 1e-9
    return {
        "score": float(score.low <= shares[0] <= score.high),
        "difference": float(row.low - rounding <= shares[1] - shares[0] <= row.high + rounding),
    }


def _outputs(share: float, n: int, seeds: bool, rng: np.random.Generator) -> Array:
    """(n, outputs) right or wrong: examples are harder and easier, and seeds better and worse."""
    if seeds:
        root = np.sqrt(share)
        chances = rng.beta(4 * root, 4 * (1 - root), (n, 1)) * rng.beta(100 * root, 100 * (1 - root), (1, OUTPUTS))
    else:
        chances = np.repeat(rng.beta(4 * share, 4 * (1 - share), (n, 1)), OUTPUTS, axis=1)
    return (rng.random((n, OUTPUTS)) < chances).astype(np.float64)


def _held(share: float, n: int, method: str) -> tuple[float, float]:
    """(how often the interval holds, its mean width) over all samples of n, the rarest left out."""
    inside = width = 0.0
    for right in range(n + 1):
        chance = float(scipy.stats.binom.pmf(right, n, share))
        if chance < 1e-5:
            continue
        rows = np.stack([np.repeat([1.0, 0.0], [right, n - right]), np.ones(n)], axis=1)
        options = Options(50 if method in ("auto", "wilson") else 500, LEVEL, method, seed=right)
        score = intervals.scores([Statistics.of(Share(), rows, Signature({}, {}), "")], None, options)["share"]
        assert score.low is not None
        assert score.high is not None
        inside += chance * (score.low <= share <= score.high)
        width += chance * (score.high - score.low)
    return inside, width


def _paired(won: float, lost: float, n: int) -> float:
    reach = Expansion.of(np.arange(n), np.array([n])).reach(LEVEL)
    inside = 0.0
    for a in range(n + 1):
        for b in range(n + 1 - a):
            chance = float(scipy.stats.multinomial.pmf([a, b, n - a - b], n, [won, lost, 1 - won - lost]))
            if chance > 1e-6:
                low, high = tango(a, b, n, reach)
                inside += chance * (low <= won - lost <= high)
    return inside
