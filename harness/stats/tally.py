"""A metric's rows as they come, block by block: summed by unit where its score is a function of sums, else kept.

What is drawn, units, is known before the first row: so the rows of ten million examples take no more room than those of
the units, and what is resampled is the same whatever the blocks were.

>>> from harness.testing import WordCount
>>> tally = Tally(WordCount(), Signature({}, {}), Design.of(3, clusters=["x", "x", "y"]))
>>> tally.add(Rows(np.array([[2.0, 1.0], [3.0, 1.0]]))), tally.add(Rows(np.array([[4.0, 1.0]])))
(None, None)
>>> tally.sample().rows.tolist(), tally.scored.tolist()
([[5.0, 2.0], [4.0, 1.0]], [True, True, True])
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from harness.stats.design import Design
from harness.stats.proportions import two_valued
from harness.stats.resampling import Sample, Summed, is_summable
from harness.types import Array, Metric, Rows, Signature, Statistics


class Tally:
    def __init__(self, metric: Metric, signature: Signature, design: Design) -> None:
        self.metric, self.signature, self.design = metric, signature, design
        self.scored = np.zeros(len(design.members), np.bool_)
        """(n,) which examples have a row."""
        self._next = 0
        self._kept: list[Rows] = []
        self._summable = is_summable(metric)
        cells = design.units * design.repeats if self._summable else 0
        self._sums = np.zeros((cells, len(metric.columns)))
        self._two_valued = np.full(len(metric.score_names), metric.averaged)
        """(s,) which scores are shares of examples, by the rows so far."""

    @classmethod
    def of(cls, statistics: Statistics, design: Design) -> Tally:
        """Of rows that are all there."""
        tally = cls(statistics.metric, statistics.signature, design)
        tally.add(statistics.whole)
        return tally

    def add(self, rows: Rows) -> None:
        """The rows of the next examples; NaN where there is nothing to score."""
        from harness.stats import kernels

        part = slice(self._next, self._next + len(rows))
        self._next = part.stop
        if self._summable:
            values = np.ascontiguousarray(rows.values, dtype=np.float64)
            cells = self.design.members[part] * self.design.repeats + self.design.repeat[part]
            kernels.add_rows(values, cells, self._sums, self.scored[part])
            if self._two_valued.any():  # most averages are not, and the first block shows it
                self._two_valued &= two_valued(self.metric, values[self.scored[part]])
        else:
            self.scored[part] = _complete(rows)
            self._kept.append(rows)

    @cached_property
    def rows(self) -> Rows:
        """All of them, of a metric whose rows are kept."""
        return Rows.joined(*self._kept)

    def sample(self) -> Sample:
        """What is resampled: the examples that have a row, as a data set of their own."""
        if not self._summable:
            return Sample(self.metric, self.rows[self.scored], self.design.kept(self.scored))
        whole = self._sums.reshape(self.design.units, -1)
        if self.scored.all():
            return Summed(self.metric, whole, self.design, self._two_valued)
        left = np.unique(self.design.members[self.scored])
        return Summed(self.metric, whole[left], self.design.kept(self.scored), self._two_valued)

    def estimate_with(self, more: Rows, places: NDArray[np.int64]) -> Array:
        """(s,) the scores, had the examples at these places, which have no row, had these rows."""
        if self._summable:
            return np.asarray(self.metric.score(self._sums.sum(0) + more.values[_complete(more)].sum(0)))
        order = np.arange(len(self.scored))
        order[places] = len(order) + np.arange(len(places))  # of rows put after all others
        filled = Rows.joined(self.rows, more)[order]
        keep = _complete(filled)
        return Sample(self.metric, filled[keep], self.design.kept(keep)).estimate()


def _complete(rows: Rows) -> NDArray[np.bool_]:
    """(n,) which rows have all their numbers."""
    return np.asarray(~np.isnan(rows.values).any(axis=1))
