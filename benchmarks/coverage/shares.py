"""Scores of zeros and ones: what share of all samples their intervals hold for, exactly, from the binomial distribution
and the intervals that `harness.stats` gives for each number of right answers.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import scipy.stats

from benchmarks.coverage.cells import LEVEL, Section, Share, table
from harness.stats import intervals
from harness.stats.expansion import Expansion
from harness.stats.options import Options
from harness.stats.proportions import tango
from harness.types import Signature, Statistics

SHARES, SIZES = (0.02, 0.1, 0.5, 0.98), (20, 50, 100, 200, 400)
PAIRS = ((0.01, 0.01), (0.05, 0.05), (0.1, 0.02), (0.25, 0.25), (0.3, 0.1))
METHODS = ("auto", "wilson", "percentile", "bca")


def lines(section: Section) -> Iterator[str]:
    yield from ("### Scores of zeros and ones", "")
    yield "How often 95 % intervals of a share hold, %, and the mean width of the default; exact, not simulated, but"
    yield "for the resamples of `percentile` and `bca`."
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
        held = [section.held(_paired(won, lost, n), "a difference of two such scores", exact=True) for n in SIZES[:3]]
        rows.append([f"{won:g} and {lost:g}", *held])
    yield from table(["differ", *(f"n = {n}" for n in SIZES[:3])], rows)


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
