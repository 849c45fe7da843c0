"""Intervals of scores that are shares of examples (exact match), and of their differences.

A mean of zeros and ones near its end has few events to resample: of 50 right answers in 50 every resample is the same.
These intervals come from the binomial distribution instead.

- A share: Agresti and Coull (1998), clipped to the scale, with Student's quantile for the normal one, which holds from
  n = 2 on; or Wilson's (1927), which is narrower and does not always hold.
- A paired difference: the score interval of Tango (1998), which has a width where no two outputs differ. A mean of such
  differences over data sets has the distances of their bounds added in squares (Zou and Donner 2008).
- Clusters, strata and repeats: n is the effective one, at which the binomial variance is that of the replicates (Korn
  and Graubard 1998), and never more than there are rows. Where nothing varies it is the number of units, as if all
  examples of a cluster were always alike.

>>> [round(float(end), 4) for end in agresti_coull(np.array(49.0), 50.0, 2.0096)]
[0.8813, 1.0]
>>> [round(float(end), 4) for end in wilson(np.array(49.0), 50.0, 1.96)]
[0.895, 0.9965]
>>> [round(float(end), 4) for end in tango(9.0, 3.0, 32.0, 1.96)]
[-0.0271, 0.3897]
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from harness.stats.design import Design
from harness.stats.expansion import NORMAL, Expansion, student_tail
from harness.types import Array, Metric

AGRESTI_COULL, WILSON, TANGO = "agresti-coull", "wilson", "tango"
STEPS = 60
"""Halvings that find a bound of Tango's interval to the last digit."""
FARTHEST = 40.0
"""Standard errors beyond which no p is told from 0."""
CLOSE = 1e-9
"""Standard errors between which no p differs."""


def scale_of(metric: Metric) -> tuple[float, float]:
    """What an example scores at worst and at best where it is right or wrong."""
    return metric.bounds or (0.0, 1.0)


def two_valued(metric: Metric, rows: Array) -> NDArray[np.bool_]:
    """(s,) which scores are means of examples that all score one end of the scale or the other, by rows (n, k) without
    NaN; or that are shares of outputs which do."""
    if not metric.averaged or metric.outputs > 1:
        return np.full(len(metric.score_names), metric.averaged)
    low, high = scale_of(metric)
    values = metric.score_examples(rows)
    return np.asarray(((values == low) | (values == high)).all(axis=0))


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the interval of a share rests on."""

    rows: float
    expansion: Expansion
    independent: bool
    """Whether rows are the units, drawn alike: then n is known, and nothing is resampled."""

    @classmethod
    def of(cls, design: Design, expansion: Expansion, outputs: int = 1) -> Evidence:
        """`outputs`: that each row stands for."""
        rows = len(design.members) * outputs
        alike = design.units == rows and len(design.sizes) == 1 and design.repeats == 1
        return cls(rows, expansion, alike)

    def effective(self, binomial: Array, drawn: Array) -> Array:
        """The n at which a share with this variance of one example has that of its replicates."""
        if self.independent:
            return np.full_like(binomial, float(self.rows))
        seen = drawn * self.expansion.ratio
        some = (seen > 0) & (binomial > 0)
        fit = np.divide(binomial, seen, out=np.full_like(binomial, self.expansion.effective), where=some)
        return np.minimum(fit, self.rows)

    def reach(self, level: float, method: str) -> float:
        """Standard errors to either side. Wilson's are those of the normal distribution, as everywhere."""
        if method == WILSON and self.independent:
            return NORMAL.inv_cdf((1 + level) / 2)
        return self.expansion.reach(level)


def share_interval(
    estimates: Array, variances: Array, evidence: Evidence, level: float, method: str
) -> tuple[Array, Array]:
    """(low, high), each (s,), of shares (s,) from 0 to 1 with the variances (s,) of their replicates."""
    n = evidence.effective(estimates * (1 - estimates), variances)
    bounds: Callable[[Array, Array, float], tuple[Array, Array]] = wilson if method == WILSON else agresti_coull
    return bounds(estimates * n, n, evidence.reach(level, method))


def agresti_coull(events: Array, n: Array | float, reach: float) -> tuple[Array, Array]:
    """(low, high) of a share with so many events in n."""
    more = n + reach**2
    centre = (events + reach**2 / 2) / more
    half = reach * np.sqrt(centre * (1 - centre) / more)
    return np.clip(centre - half, 0, 1), np.clip(centre + half, 0, 1)


def wilson(events: Array, n: Array | float, reach: float) -> tuple[Array, Array]:
    """(low, high) of a share with so many events in n."""
    centre = (events + reach**2 / 2) / (n + reach**2)
    half = reach / (n + reach**2) * np.sqrt(np.maximum(events * (n - events) / n, 0) + reach**2 / 4)
    return np.clip(centre - half, 0, 1), np.clip(centre + half, 0, 1)


def tango(won: float, lost: float, n: float, reach: float) -> tuple[float, float]:
    """(low, high) of a difference of two shares of the same n examples, `won` of them right in the second only and
    `lost` in the first only."""
    seen = (won - lost) / n

    def bound(low: float, high: float, distance: float) -> float:
        for _ in range(STEPS):
            middle = (low + high) / 2
            low, high = (middle, high) if tango_distance(won, lost, n, middle) > distance else (low, middle)
        return (low + high) / 2

    return bound(-1.0, seen, reach), bound(seen, 1.0, -reach)


@dataclass(frozen=True, slots=True)
class PairedShares:
    """Two shares of the same examples."""

    won: float
    """Examples right in the second only; of several outputs, by what share of them."""
    lost: float
    n: float
    """The effective number of examples."""
    scale: float
    """What a right one scores more than a wrong one."""
    expansion: Expansion

    @classmethod
    def of(cls, gains: Array, metric: Metric, evidence: Evidence, variance: float) -> PairedShares:
        """Of what examples (n,) gained, each output right or wrong, with the variance of the replicates of their
        mean."""
        low, high = scale_of(metric)
        scale = high - low
        won, lost = (float(np.maximum(sign * gains, 0.0).mean()) / scale for sign in (1, -1))
        binomial = np.array(won + lost - (won - lost) ** 2)
        effective = float(evidence.effective(binomial, np.array(variance / scale**2)))
        return cls(won * effective, lost * effective, effective, scale, evidence.expansion)

    @property
    def difference(self) -> float:
        return self.scale * (self.won - self.lost) / self.n

    def within(self, reach: float) -> tuple[float, float]:
        """(low, high) of the difference, so many standard errors to either side."""
        low, high = tango(self.won, self.lost, self.n, reach)
        return self.scale * low, self.scale * high

    def interval(self, level: float) -> tuple[float, float]:
        """(low, high) of the difference."""
        return self.within(self.expansion.reach(level))

    def error(self, level: float) -> float:
        """The standard error that the interval amounts to, which few examples that differ do not make small."""
        low, high = self.interval(level)
        return (high - low) / (2 * self.expansion.reach(level))

    def p_above(self, difference: float) -> float:
        """The p of the hypothesis that the true difference is this one or less."""
        share = float(np.clip(difference / self.scale, -1, 1))
        return student_tail(tango_distance(self.won, self.lost, self.n, share), self.expansion.df)


@dataclass(frozen=True, slots=True)
class MeanOfPairedShares:
    """The mean of such differences over data sets."""

    parts: tuple[PairedShares, ...]
    expansion: Expansion

    @classmethod
    def of(cls, parts: Sequence[PairedShares], level: float) -> MeanOfPairedShares:
        expansions, variances = [part.expansion for part in parts], [part.error(level) ** 2 for part in parts]
        return cls(tuple(parts), Expansion.joined(expansions, variances))

    @property
    def difference(self) -> float:
        return sum(part.difference for part in self.parts) / len(self.parts)

    def within(self, reach: float) -> tuple[float, float]:
        """(low, high) of the mean, so many standard errors to either side."""
        ends = [(part.difference, *part.within(reach)) for part in self.parts]
        below = math.hypot(*(seen - low for seen, low, _ in ends)) / len(ends)
        above = math.hypot(*(high - seen for seen, _, high in ends)) / len(ends)
        return self.difference - below, self.difference + above

    def interval(self, level: float) -> tuple[float, float]:
        """(low, high) of the mean."""
        return self.within(self.expansion.reach(level))

    def error(self, level: float) -> float:
        """The standard error that the interval amounts to."""
        low, high = self.interval(level)
        return (high - low) / (2 * self.expansion.reach(level))

    def p_above(self, difference: float) -> float:
        """The p of the hypothesis that the true mean is this one or less: where the bound of an interval meets it."""
        below = difference < self.difference
        near, far = 0.0, FARTHEST
        while far - near > CLOSE:
            middle = (near + far) / 2
            low, high = self.within(middle)
            outside = difference < low if below else difference > high
            near, far = (middle, far) if outside else (near, middle)
        return student_tail(near if below else -near, self.expansion.df)


def unseen_error(metric: Metric, expansion: Expansion, level: float) -> float:
    """The largest standard error that a difference may have where no example differs: as many could have as the upper
    end of the interval of none says, each by the whole scale. NaN where the score has no scale."""
    if not metric.averaged or metric.bounds is None:
        return float("nan")
    low, high = metric.bounds
    could = float(agresti_coull(np.array(0.0), expansion.effective, expansion.reach(level))[1])
    return (high - low) * float(np.sqrt(could / expansion.effective))


def tango_distance(won: float, lost: float, n: float, difference: float) -> float:
    """How many standard errors the difference that was seen lies above this one, were it the true one."""
    linear = (2 * n - won + lost) * difference - won - lost
    free = lost * difference * (1 - difference)
    only_lost = (math.sqrt(linear**2 + 8 * n * free) - linear) / (4 * n)
    variance = n * (2 * only_lost + difference * (1 - difference))
    gap = won - lost - n * difference
    return gap / math.sqrt(variance) if variance > 0 else math.copysign(math.inf, gap) if gap else 0.0
