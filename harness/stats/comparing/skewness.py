"""Slices with gains of one side: many small losses against rare large gains, or the other way round.

Where gains are skewed, a mean that lies away from their long tail is found far out more often than Student's
distribution says: chance gave none of the rare ones. One slice is too small to show how skewed its gains are, and a
correction by its own alone would cost power everywhere. But the slices of one comparison have gains of the same kind:
the skewness that they show together, less one and a half of its own standard error, sets each difference back by Hall's
transformation (1992, "On the removal of skewness by transformation"). Nothing is ever set forward.

>>> even = np.array([-1.0, 1.0, -2.0, 2.0, 0.5, -0.5])
>>> common_skewness([even, even + 3])
0.0
>>> round(set_back(-3.0, 1.2, 20), 2), set_back(3.0, 1.2, 20), set_back(-3.0, 0.0, 20)
(-2.22, 3.0, -3.0)
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from harness.stats.comparing.hypotheses import Tested
from harness.stats.comparing.interaction import LEAST
from harness.stats.expansion import student_tail
from harness.stats.options import ComparisonOptions
from harness.types import Array

BEYOND_CHANCE = 1.5
"""Standard errors of the skewness that are taken off it: with 1, symmetric gains of ten units lose power; with 2, some
skewed ones alarm too often."""


def p_values_by_skewness(tested: Sequence[Tested], options: ComparisonOptions) -> list[float]:
    """The p of each comparison in a slice, as far as the skewness of its gains in all slices sets it back; 0 where it
    does not, or where no p of its slices is significant as it is."""
    p_values, by_question = [0.0] * len(tested), dict[tuple[str, ...], list[int]]()
    for i, part in enumerate(tested):
        by_question.setdefault((part.row.baseline, part.row.system, part.row.score), []).append(i)
    for places in by_question.values():
        if any((tested[i].row.p_value or 1.0) <= 1 - options.level for i in places):
            units = {i: values for i in places if len(values := _by_unit(tested[i])) >= LEAST}
            skewness = common_skewness(list(units.values()))
            for i, values in units.items() if skewness else ():
                p_values[i] = _p_value(tested[i], values, skewness, options)
    return p_values


def _by_unit(part: Tested) -> Array:
    """(units,); none where they are not known."""
    values = part.by.by_unit()
    return values if values is not None and np.isfinite(values).all() else np.empty(0)


def _p_value(part: Tested, values: Array, skewness: float, options: ComparisonOptions) -> float:
    error = float(values.std(ddof=1)) / math.sqrt(len(values))
    difference = part.row.difference or 0.0
    if not error > 0 or options.statistic(np.array(difference), part.row.higher_is_better) <= 0:
        return 0.0
    t = difference / error
    moved = set_back(t, skewness, len(values))
    return 0.0 if moved == t else options.sides * student_tail(abs(moved), part.by.expansion.df)


def common_skewness(by_slice: Sequence[Array]) -> float:
    """Of the values (units,) of all slices around the means of their own, as far as it is more than chance."""
    if not by_slice:
        return 0.0
    around = [values - values.mean() for values in by_slice]
    n = sum(map(len, around))
    square = sum(float((part**2).sum()) for part in around) / (n - len(around))
    if not square > 0:
        return 0.0
    cubes = [float((part**3).sum()) * len(part) ** 2 / ((len(part) - 1) * (len(part) - 2)) for part in around]
    cube, every = sum(cubes) / n, np.concatenate(around)
    error = float((every**3 - 3 * square * every).std()) / math.sqrt(n)
    return math.copysign(max(abs(cube) - BEYOND_CHANCE * error, 0.0), cube) / float(square**1.5)


def set_back(t: float, skewness: float, n: int) -> float:
    """A distance in standard errors of the mean of n values, nearer to 0 where it lies away from their long tail."""
    slope = skewness / (3 * math.sqrt(n))
    if slope * t >= 0:
        return t
    moved = ((1 + slope * t) ** 3 - 1) / (3 * slope) + slope / 2
    return math.copysign(max(0.0, min(abs(t), moved * math.copysign(1, t))), t)
