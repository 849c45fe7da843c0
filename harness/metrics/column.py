"""`metrics=column metrics.column.field=adequacy`: a column of numbers beside the outputs, or of the data, as a metric.

A score that people gave, or any other program: the score of a run is the mean of the column, with an interval, tests
and its place in tables like any other. A cell that is empty or null is missing, counted and shown. In CSV a number is
text; true and false are 1 and 0.

>>> column = Column("adequacy")
>>> rows = column.statistics(Batch(["a", "b", "c"], [], fields={"adequacy": [4, None, "3.5"]}))
>>> rows.tolist(), column.score(np.nansum(rows, axis=0)).tolist()
([[4.0, 1.0], [nan, nan], [3.5, 1.0]], [3.75])
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from harness.metrics.python import UserMetric
from harness.types import Array, Batch, HarnessError


class Column(UserMetric):
    plain: ClassVar[tuple[str, ...]] = ("field", "name", "higher_is_better", "bounds")
    at_once = False
    unscored = "have no number"

    def __init__(
        self,
        field: str,
        name: str | None = None,
        higher_is_better: bool = True,
        bounds: Sequence[float] | None = None,
    ) -> None:
        """`name`: of the score; None: the field's own. `bounds`: the least and the most that a number can be."""
        if name is None and "." in field:
            raise HarnessError(
                f"metrics.column.field={field} has a dot, and scores with one are parts of others; expected a name "
                "for the score (metrics.column.name)"
            )
        super().__init__(name or field, None, None, higher_is_better, needs_references=False, revision=None)
        if bounds is not None and (len(bounds) != 2 or not bounds[0] < bounds[1]):
            raise HarnessError(f"metrics.column.bounds={list(bounds)}; expected [LEAST, MOST], such as [1, 5]")
        self.field = field
        self.bounds = None if bounds is None else (float(bounds[0]), float(bounds[1]))
        self.reads = self.needs_fields = (field,)

    def statistics(self, batch: Batch) -> Array:
        values = np.array([self._number(value) for value in batch.field(self.field)])
        self.advance(len(values))
        return np.column_stack([values, np.where(np.isnan(values), np.nan, 1.0)])

    def _number(self, value: Any) -> float:
        """NaN where there is none."""
        if value is None or value == "":
            return math.nan
        try:
            known = type(value) is float or isinstance(value, str | Real)  # an abstract class is slow to ask
            number = float(value) if known else math.inf
        except ValueError:
            number = math.inf
        if math.isinf(number):
            raise HarnessError(
                f"metrics.column.field={self.field} holds {type(value).__name__} {str(value)[:40]!r}; expected "
                "numbers, or null where there is none"
            )
        if self.bounds is not None and not math.isnan(number) and not self.bounds[0] <= number <= self.bounds[1]:
            low, high = self.bounds
            raise HarnessError(
                f"metrics.column.field={self.field} holds {number:g}; expected {low:g} to {high:g}, as "
                "metrics.column.bounds says"
            )
        return number

    def definition(self) -> dict[str, str]:
        return {"field": self.field}
