"""Draws of several data sets side by side: which draw of one goes with which of the others.

Where all swaps of every data set are enumerated, all combinations are, as long as they are no more than the resamples
asked for; else each data set's are drawn from its enumeration, independently of the others' and of their order.

>>> joint = Joint({"a": Swaps(2, True), "b": Swaps(4, True)}, resamples=100, seed=1)
>>> joint.length, joint.exact
(8, True)
>>> joint.taken("a", np.array([1.0, -1.0])).tolist()
[1.0, -1.0, 1.0, -1.0, 1.0, -1.0, 1.0, -1.0]
>>> joint.taken("b", np.arange(4.0)).tolist()
[0.0, 0.0, 1.0, 1.0, 2.0, 2.0, 3.0, 3.0]
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from harness.stats.resampling import generator
from harness.types import Array


class Swaps(NamedTuple):
    """What one data set has under the null hypothesis."""

    number: int
    exact: bool
    """Whether these are all there are."""


class Joint:
    """The draws of several data sets, by the data sets' keys."""

    def __init__(self, groups: Mapping[str, Swaps], resamples: int, seed: int) -> None:
        every = math.prod(draws.number for draws in groups.values())
        self.exact = all(draws.exact for draws in groups.values()) and (len(groups) == 1 or every <= resamples)
        """Whether the combinations are all there are."""
        self.length = every if self.exact else resamples
        self._places: dict[str, NDArray[np.int64] | None] = {}
        """Which of its draws each data set has in each combination; None where they stand in their order."""
        stride = 1
        for key, draws in groups.items():
            if self.exact:
                self._places[key] = np.arange(self.length) // stride % draws.number
                stride *= draws.number
            elif draws.exact:
                self._places[key] = generator(seed, f"{key} joint").integers(0, draws.number, resamples)
            else:
                self._places[key] = None

    def taken(self, key: str, draws: Array) -> Array:
        """(length,) of one data set's draws."""
        places = self._places[key]
        return draws if places is None else draws[places]
