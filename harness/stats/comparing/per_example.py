"""How single examples differ between two systems: a histogram that counts wins, ties and losses apart.

>>> spread = histogram(np.array([-2.0, 0.0, 0.1, 1.0]), edges([np.array([-2.0, 1.0])]))
>>> spread.won, spread.tied, spread.lost, round(spread.mean, 3)
(0.5, 0.25, 0.25, -0.225)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from harness.stats.design import Kept
from harness.types import Array

FEWEST, MOST = 11, 41
"""Bins; odd, so that the middle one lies around zero."""


def outcomes(gains: Array) -> dict[str, Kept]:
    """Which examples are tied, won and lost, from gains (n,) without NaN, more is better; rounding errors are ties.

    >>> {name: which.tolist() for name, which in outcomes(np.array([1e-15, 0.2])).items()}
    {'tied': [True, False], 'won': [False, True], 'lost': [False, False]}
    """
    slack = 1e-12 * max(1.0, float(np.abs(gains).max(initial=0.0)))
    return {"tied": np.abs(gains) <= slack, "won": gains > slack, "lost": gains < -slack}


@dataclass(frozen=True)
class Bin:
    low: float
    high: float
    outcome: str
    """`won`, `tied` or `lost`."""
    count: int
    share: float
    """Of all examples."""
    below: float
    """Share of the other outcomes in the same bin that it stands on."""


@dataclass(frozen=True)
class Histogram:
    bins: tuple[Bin, ...]
    """Those that hold an example."""
    n: int
    mean: float
    won: float
    tied: float
    lost: float


def edges(differences: Sequence[Array]) -> Array:
    """(bins + 1,) around zero, the same for all systems, as wide as Freedman and Diaconis (1981) have it."""
    pooled = np.concatenate([values[~np.isnan(values)] for values in differences])
    reach = float(np.abs(pooled).max(initial=0.0)) or 1.0
    quarter = float(np.subtract(*np.quantile(pooled, [0.75, 0.25]))) if len(pooled) else 0.0
    n = max(map(len, differences), default=1)
    wanted = 2 * reach / (2 * quarter / n ** (1 / 3)) if quarter else FEWEST
    bins = int(np.clip(2 * round(wanted / 2) + 1, FEWEST, MOST))
    return np.linspace(-reach, reach, bins + 1)


def histogram(differences: Array, edges: Array, higher_is_better: bool = True) -> Histogram:
    """Of differences (n,), NaN where an example has none, system less reference."""
    values = differences[~np.isnan(differences)]
    n = len(values)
    by_outcome = outcomes(values if higher_is_better else -values)
    counts = {name: np.histogram(values[which], edges)[0] for name, which in by_outcome.items()}
    bins = []
    for i in range(len(edges) - 1):
        below = 0.0
        for name in ("won", "lost", "tied"):  # ties on top, where a figure can cut them
            if counts[name][i]:
                share = float(counts[name][i] / n)
                bins.append(Bin(float(edges[i]), float(edges[i + 1]), name, int(counts[name][i]), share, below))
                below += share
    won, tied, lost = (float(by_outcome[name].mean()) if n else float("nan") for name in ("won", "tied", "lost"))
    return Histogram(tuple(bins), n, float(values.mean()) if n else float("nan"), won, tied, lost)
