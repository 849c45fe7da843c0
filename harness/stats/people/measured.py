"""The coefficients of one metric at one level, with their draws and the bounds that follow."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harness.stats.expansion import Expansion
from harness.stats.intervals import interval, number
from harness.stats.people.panel import MetaOptions, Panel
from harness.stats.people.segment_level import SEGMENT
from harness.stats.people.system_level import SYSTEM
from harness.types import Array

LEVELS = {"segment": SEGMENT, "system": SYSTEM}
LEAST = 3
"""Systems below which nothing is said of systems: two are one pair."""
Bounds = tuple[float | None, float | None]


@dataclass(frozen=True)
class Measured:
    """How well one metric agrees with people at one level, by k coefficients."""

    names: tuple[str, ...]
    estimates: Array
    """(k,)"""
    drawn: Array
    """(resamples, k)"""
    counts: Array
    """(k,) groups that have each"""
    n: int
    groups: int | None
    expansion: Expansion
    """By how much the draws fall short."""

    def bounds(self, k: int, level: float) -> Bounds:
        """Of a coefficient."""
        return _bounds(self.drawn[:, k], float(self.estimates[k]), level, self.expansion)

    def ahead_of(self, other: Measured, k: int, level: float) -> tuple[float, Bounds]:
        """What a coefficient is more than that of another metric, and the bounds of that."""
        difference = float(self.estimates[k] - other.estimates[k])
        return difference, _bounds(self.drawn[:, k] - other.drawn[:, k], difference, level, self.expansion)


def expansion_of(panel: Panel, options: MetaOptions) -> Expansion:
    """Of what is drawn. Where items and systems both are, what the two have in common is drawn twice, so that the draws
    of few systems reach far enough as they are."""
    if options.drawn == "systems":
        systems = len(panel.systems)
        return Expansion.of(np.arange(systems), np.array([systems]))
    return Expansion.of(panel.design.members, panel.design.sizes)


def _bounds(drawn: Array, estimate: float, level: float, expansion: Expansion) -> Bounds:
    """They hold the estimate too, which has the luck of its items where the draws have not."""
    if not len(drawn) or not np.isfinite(estimate) or np.isnan(drawn).all():
        return None, None
    low, high = interval(drawn[:, None], np.array([estimate]), level, "expanded", expansion)
    return number(min(low[0], estimate)), number(max(high[0], estimate))
