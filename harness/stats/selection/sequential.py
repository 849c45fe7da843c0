"""A confidence sequence for a mean of bounded values: bounds that hold at all times at once, so that one may look after
every batch and stop when the answer is known.

Two gamblers bet against every candidate m for the mean, one that it is too low, one that it is too high; where either
has multiplied his money 2 / (1 - level) times, m is out (the hedged capital process of Waudby-Smith and Ramdas 2024,
with their predictable plug-in bets). The chance that the mean is ever thrown out is at most 1 - level, however often
one looks and whatever makes one stop. Values come in random order and each from the same population.

A mean at the time of stopping is off: one stops when it happens to be far out. The mean of the first batch is not, as
it was taken whatever came after, and its average over all orders of the same values that would have stopped at the
same look is unbiased too and much steadier (Rao and Blackwell); `without_luck` takes it over seeded random orders.

>>> seen = ConfidenceSequence(0.0, 1.0, level=0.95)
>>> seen.add([1.0, 1.0, 0.0, 1.0] * 100)
>>> 0.65 < seen.low < 0.75 < seen.high < 0.85
True
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from harness.stats.expansion import NORMAL, student_quantile
from harness.types import Array

GRID = 4001
"""Candidates for the mean; a bound is rounded outwards to one of them."""
COARSE = 401
"""Candidates where a sequence is only asked when it would have grown narrow."""
SMALLEST = 1e-14
"""Tail of a distribution that is still told from none."""
ORDERS, BETS = 1000, 2**25
"""Orders that would have stopped at the same look to average over, and how many bets are made to find them: seconds."""


class ConfidenceSequence:
    """Bounds for the mean of values between `smallest` and `largest`; `grid`: other candidates, as shares of that."""

    def __init__(self, smallest: float, largest: float, level: float, grid: Array | None = None) -> None:
        self.smallest, self.largest, self.level = smallest, largest, level
        self.n = 0
        self._grid = np.linspace(0.0, 1.0, GRID) if grid is None else grid
        self._capital = np.zeros((2, len(self._grid)))
        self._moments = np.array([0.0, 0.0, 0.25])
        self._ends = np.array([0, len(self._grid) - 1])

    def add(self, values: Sequence[float] | Array) -> None:
        """Looks at more values, in the order in which they came."""
        from harness.stats import kernels

        values = np.asarray(values, dtype=np.float64)
        outside = values[~((values >= self.smallest) & (values <= self.largest))]
        if len(outside):
            raise ValueError(f"{outside[0]} is not between {self.smallest} and {self.largest}")
        shares = (values - self.smallest) / (self.largest - self.smallest)
        limit = float(np.log(2 / (1 - self.level)))
        kernels.bet(shares, self._grid, self._capital, self._moments, self._ends, limit)
        self.n += len(values)

    @property
    def candidates(self) -> int:
        return len(self._grid)

    @property
    def estimate(self) -> float:
        return self._scaled(self._moments[1] / self.n) if self.n else float("nan")

    @property
    def low(self) -> float:
        return self._scaled(self._grid[self._ends[0]])

    @property
    def high(self) -> float:
        return self._scaled(self._grid[self._ends[1]])

    def _scaled(self, share: float) -> float:
        return float(self.smallest + (self.largest - self.smallest) * share)


def asymptotic_reach(n: int, planned: float, error: float) -> float:
    """How many standard errors a mean of n values must lie above 0 to be above it at all looks at once but for this
    error, whatever bounds the values have: the one-sided asymptotic confidence sequence of Waudby-Smith, Arbour, Sinha,
    Kennedy and Ramdas 2024, narrowest after the planned number. Of so few values Student's distribution takes the place
    of the normal one.

    >>> [round(asymptotic_reach(n, 100, 0.025), 2) for n in (10, 100, 1000)]
    [6.54, 3.12, 3.25]
    """
    wide = -2 * math.log(2 * error)
    rate = (wide + math.log(wide + 1)) / planned
    spread = n * rate + 1
    normal = math.sqrt(2 * spread / (n * rate) * math.log1p(math.sqrt(spread) / (2 * error)))
    return student_quantile(max(NORMAL.cdf(-normal), SMALLEST), n - 1)


def around(limit: float | None, smallest: float, largest: float) -> Array:
    """Candidates that tell whether bounds lie above or below a limit, or, without one, roughly where they lie."""
    if limit is None:
        return np.linspace(0.0, 1.0, COARSE)
    share, step = (limit - smallest) / (largest - smallest), 1 / (GRID - 1)
    return np.unique(np.clip([0.0, share - step, share, share + step, 1.0], 0.0, 1.0))


def without_luck(
    batches: Sequence[Array],
    start: Callable[[], ConfidenceSequence],
    known: Callable[[float, float], object],
    rng: np.random.Generator,
) -> float:
    """What the mean of the values is estimated at after a look that ended it: not as far out as their own mean.

    `batches`: the values between two looks; `start` begins a sequence; `known` says whether bounds (low, high) end it.
    """
    values, ends = np.concatenate(batches), np.cumsum([len(batch) for batch in batches]).tolist()
    firsts = [float(batches[0].mean())]
    tries = max(1, BETS // (len(values) * start().candidates))
    while tries and len(firsts) < ORDERS:
        tries -= 1
        order, sequence, end = rng.permutation(values), start(), 0
        for next_end in ends:
            sequence.add(order[end:next_end])
            end = next_end
            if known(sequence.low, sequence.high):
                break
        if end == ends[-1] and known(sequence.low, sequence.high):
            firsts.append(float(order[: ends[0]].mean()))
    return float(np.mean(firsts))
