"""Human scores of all items from human scores of some: prediction-powered inference (PPI++: Angelopoulos, Duchi and
Zrnic 2023).

People judged n items, a metric scored these and N others. The mean of the human scores is estimated by that of the n,
moved by how much the metric finds the others better or worse, times a weight that makes the variance least: the slope
cov(human, metric) / ((1 + n/N) var(metric)). However bad the metric is, the estimate stays unbiased where the judged
items are a random sample of all; a good one narrows the interval as more judgements would.

>>> human = np.array([1.0, 2.0, 3.0, 5.0, np.nan, np.nan])
>>> metric = np.array([10.0, 20.0, 30.0, 50.0, 40.0, 40.0])
>>> made = powered(Labelled(human, metric, np.arange(6)), 0.95)
>>> round(made.plain, 3), round(made.estimate, 3)
(2.75, 3.311)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from harness.stats.corrections import holm
from harness.stats.design import Codes, Kept
from harness.types import Array, HarnessError
from harness.types.shown import counted

LEAST = 10
"""Judged items, or clusters of them, below which no estimate is made."""


@dataclass(frozen=True)
class Prediction:
    """The mean human score of a system, or of a difference between two, over all items."""

    score: str
    """The metric that was used."""
    system: str
    baseline: str | None
    """Where it is a difference: what the system has more than this one."""
    labels: int
    items: int
    plain: float
    plain_low: float
    plain_high: float
    """By the judged items alone."""
    estimate: float
    low: float
    high: float
    weight: float
    effective: int
    """Labels that would give as narrow an interval without the metric."""
    p_value: float | None = None
    p_adjusted: float | None = None
    """Of no difference, the latter by Holm over all differences."""

    @property
    def saved(self) -> int:
        """Labels."""
        return self.effective - self.labels


@dataclass(frozen=True)
class Labelled:
    """Human scores (n,), NaN where there is none, the metric's (n,), and the unit (n,) that each item belongs to."""

    human: Array
    metric: Array
    units: Codes

    def __sub__(self, other: Labelled) -> Labelled:
        return replace(self, human=self.human - other.human, metric=self.metric - other.metric)


@dataclass(frozen=True)
class _Made:
    """An estimate with what each item adds to its error."""

    estimate: float
    shares: Array
    """(n,) of the error, about 0"""
    freedom: int

    def error(self, units: Codes) -> float:
        """The standard error: items of a unit err together."""
        taken = np.unique(units[self.shares != 0])
        sums = np.bincount(units, self.shares)[taken]
        return float(np.sqrt((sums**2).sum() * len(taken) / max(len(taken) - 1, 1)))


@dataclass(frozen=True)
class Powered:
    """A mean with and without the metric."""

    plain: float
    plain_error: float
    estimate: float
    error: float
    weight: float
    labels: int
    items: int
    reach: float
    """Standard errors from the estimate to a bound."""
    freedom: int


def powered(given: Labelled, level: float) -> Powered:
    """The mean human score of all items that the metric has scored."""
    scored: Kept = np.isfinite(given.metric)
    labelled: Kept = scored & np.isfinite(given.human)
    weight = _weight(given, labelled, scored & ~labelled)
    plain, better = _made(given, labelled, scored, 0.0), _made(given, labelled, scored, weight)
    return _powered((plain, better), given.units, weight, (labelled, scored), level)


def _weight(given: Labelled, labelled: Kept, others: Kept) -> float:
    n, rest = np.count_nonzero(labelled), np.count_nonzero(others)
    spread = float(given.metric[labelled | others].var(ddof=1)) if n + rest > 1 else 0.0
    if n < 3 or not rest or spread == 0:
        return 0.0
    return float(np.cov(given.human[labelled], given.metric[labelled])[0, 1] / (1 + n / rest) / spread)


def _made(given: Labelled, labelled: Kept, scored: Kept, weight: float) -> _Made:
    others = scored & ~labelled
    n, rest = int(np.count_nonzero(labelled)), max(int(np.count_nonzero(others)), 1)
    metric = np.where(scored, given.metric, 0.0)
    left = np.where(labelled, given.human, 0.0) - weight * metric
    mean, moved = left[labelled].mean(), weight * metric[others].mean() if others.any() else 0.0
    fitted = 1 if weight else 0
    wider = np.sqrt((n - 1) / max(n - 1 - fitted, 1))  # the weight was fitted to the same items
    shares = np.where(labelled, wider * (left - mean) / n, 0.0)
    shares += np.where(others, (weight * metric - moved) / rest, 0.0)
    units = len(np.unique(given.units[labelled]))
    return _Made(float(mean + moved), shares, max(units - 1 - fitted, 1))


def _powered(made: tuple[_Made, _Made], units: Codes, weight: float, masks: tuple[Kept, Kept], level: float) -> Powered:
    from scipy.stats import t

    plain, better = made
    errors = [part.error(units) for part in made]
    reach = float(t.ppf((1 + level) / 2, better.freedom))
    labels, items = (int(np.count_nonzero(mask)) for mask in masks)
    return Powered(plain.estimate, errors[0], better.estimate, errors[1], weight, labels, items, reach, better.freedom)


def predictions(
    human: Array, segments: Mapping[str, Array], units: Codes, systems: Sequence[str], level: float
) -> list[Prediction]:
    """For each metric's scores (s, n) the mean of the human scores (s, n) of each system, and of each difference."""
    for system, row in zip(systems, human, strict=True):
        count = len(np.unique(units[np.isfinite(row)]))
        if count < LEAST:
            raise HarnessError(
                f"--predict: people judged {counted(count, 'item')} of {system}; expected {LEAST} or more, "
                "drawn at random"
            )
    rows = []
    for score, values in segments.items():
        parts = [Labelled(human[i], values[i], units) for i in range(len(systems))]
        made = [powered(part, level) for part in parts]
        rows += [_row(score, system, None, part) for system, part in zip(systems, made, strict=True)]
        for i, j in combinations(range(len(systems)), 2):
            paired = np.count_nonzero(np.isfinite(human[i]) & np.isfinite(human[j]))
            if 2 * paired >= max(made[i].labels, made[j].labels) and paired >= LEAST:
                rows.append(_row(score, systems[j], systems[i], powered(parts[j] - parts[i], level)))
            else:
                rows.append(_row(score, systems[j], systems[i], _apart(parts[i], parts[j], level)))
    return _adjusted(rows)


def _apart(before: Labelled, after: Labelled, level: float) -> Powered:
    """The difference of two means whose judged items are mostly others."""
    parts = (before, after)
    masks: list[Kept] = [np.isfinite(part.metric) for part in parts]
    labelled: list[Kept] = [mask & np.isfinite(part.human) for mask, part in zip(masks, parts, strict=True)]
    weights = [_weight(part, own, mask & ~own) for part, own, mask in zip(parts, labelled, masks, strict=True)]
    made = []
    for chosen in ((0.0, 0.0), weights):
        first, second = (
            _made(part, own, mask, weight)
            for part, own, mask, weight in zip(parts, labelled, masks, chosen, strict=True)
        )
        freedom = min(first.freedom, second.freedom)
        made.append(_Made(second.estimate - first.estimate, second.shares - first.shares, freedom))
    both = (labelled[0] | labelled[1], masks[0] | masks[1])
    return _powered((made[0], made[1]), before.units, weights[1], both, level)


def _row(score: str, system: str, baseline: str | None, made: Powered) -> Prediction:
    from scipy.stats import t

    p_value = None
    if baseline is not None:
        p_value = 1.0 if made.error == 0 else float(2 * t.sf(abs(made.estimate) / made.error, made.freedom))
    gain = (made.plain_error / made.error) ** 2 if made.error > 0 else 1.0
    return Prediction(
        score=score, system=system, baseline=baseline, labels=made.labels, items=made.items,
        plain=made.plain, plain_low=made.plain - made.reach * made.plain_error,
        plain_high=made.plain + made.reach * made.plain_error,
        estimate=made.estimate, low=made.estimate - made.reach * made.error,
        high=made.estimate + made.reach * made.error,
        weight=made.weight, effective=round(made.labels * gain), p_value=p_value,
    )  # fmt: skip


def _adjusted(rows: Sequence[Prediction]) -> list[Prediction]:
    """P-values of a metric's differences corrected over them: another metric asks the same question again."""
    adjusted = list(rows)
    for score in dict.fromkeys(row.score for row in rows):
        places = [i for i, row in enumerate(rows) if row.score == score and row.p_value is not None]
        for i, p in zip(places, holm([rows[i].p_value or 0.0 for i in places]), strict=True):
            adjusted[i] = replace(rows[i], p_adjusted=p)
    return adjusted
