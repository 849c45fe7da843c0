"""Intervals on the scale of logarithms, for scores that are products: BLEU of few examples.

A few examples hold most of the 4-grams that match, so that BLEU of twenty examples is mostly too low and its replicates
with it: the true value then lies above their quantiles. Its logarithm, a mean of the logarithms of four precisions, is
nearer to symmetric. The bounds are Student's t around it, with the variance by the jackknife, and stay above 0 and
inside the scale. Where no 4-gram of any example matches, the score rests on smoothing and is far too low, however
little it varies: the upper bound is then that of the same examples with as many matches as could have been
(`Metric.unseen`). A difference of two such scores is skewed to either side, and has Student's t as it is, with the
replicates' variance. From `MANY` examples on quantiles hold (docs/statistics.md has the tables).

>>> from harness.metrics.bleu import Bleu
>>> from harness.stats.design import Design
>>> rows = np.array([[9, 9] + [m, m - 3, 2, 1] + [9, 8, 7, 6] * 2 for m in (5, 6, 8)], dtype=float)
>>> sample = Sample(Bleu(), rows, Design.of(3))
>>> by_logarithms(sample, sample.estimate()).tolist()
[0]
>>> [round(float(end[0]), 1) for end in log_interval(sample, sample.estimate(), 0.95, np.array([0]))]
[21.8, 54.1]
"""

from __future__ import annotations

import numpy as np

from harness.stats.design import Design
from harness.stats.resampling import Sample, Summed, is_summable
from harness.types import Array, Integers, Metric

MANY = 100
"""Examples from which quantiles of the replicates hold."""


def is_product_of_few(metric: Metric, design: Design) -> bool:
    """Whether headline scores are products, of too few examples for quantiles to hold."""
    return metric.multiplied and is_summable(metric) and len(design.of_examples) < MANY


def by_logarithms(sample: Sample, estimates: Array) -> Integers:
    """The places of those scores, estimated (s,), that have such an interval: headline scores of few examples, above 0
    whichever unit is left out."""
    if not is_product_of_few(sample.metric, sample.design):
        return np.empty(0, np.int64)
    headline = np.array(["." not in name for name in sample.metric.score_names])
    return np.flatnonzero(headline & (estimates > 0) & (sample.left_out() > 0).all(axis=0))


def log_interval(sample: Sample, estimates: Array, level: float, places: Integers) -> tuple[Array, Array]:
    """(low, high), each (places,), of the scores at these places, all of which are estimated (s,)."""
    factors = _factors(sample, level, places)
    low, high = estimates[places] / factors, estimates[places] * factors
    filled = sample.metric.unseen(sample.rows)
    if filled is not None:
        possible = Summed(sample.metric, filled, sample.design, sample.two_valued)
        high = np.maximum(high, possible.estimate()[places] * _factors(possible, level, places))
    least, most = sample.metric.bounds or (0.0, np.inf)
    return np.clip(low, least, most), np.clip(high, least, most)


def _factors(sample: Sample, level: float, places: Integers) -> Array:
    """(places,) how many times larger or smaller than they are estimated the scores at these places may be."""
    logs = np.log(sample.left_out()[:, places])
    variance = sample.expansion.ratio * (_shifts(logs, sample.design.sizes) ** 2).sum(0)
    return np.asarray(np.exp(sample.expansion.reach(level) * np.sqrt(variance)))


def _shifts(left_out: Array, sizes: Integers) -> Array:
    """How far leaving out each unit (units, s) moves a value from its mean over the stratum, of so many units each: the
    squares of these add up to the variance that replicates have."""
    means = np.add.reduceat(left_out, np.cumsum(sizes) - sizes) / sizes[:, None]
    return (left_out - np.repeat(means, sizes, axis=0)) * np.repeat(1 - 1 / sizes, sizes)[:, None]
