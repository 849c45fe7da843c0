"""Rows of statistics that hold lists beside their numbers, for scores that are no function of a sum.

>>> words = Lists.of([[7, 8, 7], [], [8]])
>>> len(words), words[[2, 0]].values.tolist(), words[[2, 0]].starts.tolist()
(3, [8, 7, 8, 7], [0, 1, 4])
>>> [part.tolist() for part in words.index]  # where each distinct value begins, and the examples that hold it
[[0, 2], [0, 0, 0, 2]]
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.types.nouns import Array

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Lists:
    """A list of numbers for each of n examples: that of example i is `values[starts[i]:starts[i + 1]]`."""

    values: NDArray[Any]
    """Of int64 or float64."""
    starts: Integers
    """(n + 1,) from 0 up to the number of values."""

    @classmethod
    def of(cls, lists: Iterable[Sequence[float] | NDArray[Any]], kind: Any = np.int64) -> Lists:
        """From a list for each example, of numbers of this kind."""
        parts = [np.asarray(part, dtype=kind) for part in lists]
        values = np.concatenate(parts) if parts else np.empty(0, kind)
        return cls(values, np.cumsum([0, *map(len, parts)], dtype=np.int64))

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, which: Any) -> Lists:
        """Those of some examples, by a mask (n,) or by their places in any order."""
        chosen = np.arange(len(self))[which]
        sizes = np.diff(self.starts)[chosen]
        starts = np.concatenate([[0], np.cumsum(sizes)])
        places = np.repeat(self.starts[chosen] - starts[:-1], sizes) + np.arange(starts[-1])
        return Lists(self.values[places], starts)

    @cached_property
    def index(self) -> tuple[Integers, Integers]:
        """(starts (distinct,), examples (values,)): the d-th smallest value is held by the examples from `starts[d]`
        on, an example once for each time that it holds it."""
        order = np.argsort(self.values, kind="stable")
        ordered = self.values[order]
        first = np.ones(len(ordered), dtype=np.bool_)
        first[1:] = ordered[1:] != ordered[:-1]
        examples = np.repeat(np.arange(len(self)), np.diff(self.starts))
        return np.flatnonzero(first), examples[order]


@dataclass(frozen=True)
class Rows:
    """A metric's statistics of n examples: numbers and, where `Metric.lists` names any, lists of whole numbers.

    >>> rows = Rows(np.ones((2, 1)), {"words": Lists.of([[1], [2, 3]])})
    >>> joined = Rows.joined(rows, rows[[1]])
    >>> joined.values.shape, joined.lists["words"].values.tolist()
    ((3, 1), [1, 2, 3, 2, 3])
    """

    values: Array
    """(n, k)"""
    lists: Mapping[str, Lists] = field(default_factory=dict)

    @classmethod
    def of(cls, rows: Rows | Array) -> Rows:
        """What a metric gave, which may be numbers alone."""
        return rows if isinstance(rows, Rows) else cls(np.asarray(rows, dtype=np.float64))

    @classmethod
    def joined(cls, *parts: Rows) -> Rows:
        """The rows of all parts, one after the other."""
        lists = {name: _joined([part.lists[name] for part in parts]) for name in parts[0].lists}
        return cls(np.concatenate([part.values for part in parts]), lists)

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, which: Any) -> Rows:
        """Those of some examples, by a mask (n,) or by their places in any order."""
        return Rows(self.values[which], {name: part[which] for name, part in self.lists.items()})


def _joined(parts: Sequence[Lists]) -> Lists:
    sizes = np.concatenate([np.diff(part.starts) for part in parts])
    return Lists(np.concatenate([part.values for part in parts]), np.concatenate([[0], np.cumsum(sizes)]))
