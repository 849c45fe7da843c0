"""A confidence sequence for a mean of bounded values: bounds that hold at all times at once, so that one may look after
every batch and stop when the answer is known.

Two gamblers bet against every candidate m for the mean, one that it is too low, one that it is too high; where either
has multiplied his money 2 / (1 - level) times, m is out (the hedged capital process of Waudby-Smith and Ramdas 2024,
with their predictable plug-in bets). The chance that the mean is ever thrown out is at most 1 - level, however often
one looks and whatever makes one stop. Values come in random order and each from the same population.

>>> seen = ConfidenceSequence(0.0, 1.0, level=0.95)
>>> seen.add([1.0, 1.0, 0.0, 1.0] * 100)
>>> 0.65 < seen.low < 0.75 < seen.high < 0.85
True
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from harness.types import Array

GRID = 4001
"""Candidates for the mean; a bound is rounded outwards to one of them."""
CAUTION = 0.5
"""A bet never risks more than this share of the money."""


class ConfidenceSequence:
    """Bounds for the mean of values between `smallest` and `largest`."""

    def __init__(self, smallest: float, largest: float, level: float) -> None:
        self.smallest, self.largest, self.level = smallest, largest, level
        self.n = 0
        self._grid = np.linspace(0.0, 1.0, GRID)
        self._up = np.zeros(GRID)
        self._down = np.zeros(GRID)
        self._sum, self._squares, self._variance = 0.0, 0.25, 0.25
        self._low, self._high = 0, GRID - 1

    def add(self, values: Sequence[float] | Array) -> None:
        """Looks at more values, in the order in which they came."""
        alpha = 1 - self.level
        limit = np.log(2 / alpha)
        with np.errstate(divide="ignore"):
            most_up, most_down = CAUTION / self._grid, CAUTION / (1 - self._grid)
        for value in np.asarray(values, dtype=np.float64):
            x = (value - self.smallest) / (self.largest - self.smallest)
            if not 0 <= x <= 1:
                raise ValueError(f"{value} is not between {self.smallest} and {self.largest}")
            self.n += 1
            bet = np.sqrt(2 * limit / (self._variance * self.n * np.log(1 + self.n)))
            gain = x - self._grid
            self._up += np.log1p(np.minimum(bet, most_up) * gain)
            self._down += np.log1p(-np.minimum(bet, most_down) * gain)
            self._sum += x
            self._squares += (x - (0.5 + self._sum) / (self.n + 1)) ** 2
            self._variance = self._squares / (self.n + 1)
            self._low = max(self._low, int(np.searchsorted(-self._up, -limit, side="right")) - 1)
            self._high = min(self._high, GRID - int(np.searchsorted(-self._down[::-1], -limit, side="right")))

    @property
    def estimate(self) -> float:
        return self._scaled(self._sum / self.n) if self.n else float("nan")

    @property
    def low(self) -> float:
        return self._scaled(float(self._grid[self._low]))

    @property
    def high(self) -> float:
        return self._scaled(float(self._grid[min(self._high, GRID - 1)]))

    def _scaled(self, share: float) -> float:
        return self.smallest + (self.largest - self.smallest) * share
