"""Agreement of a metric with people on single outputs, within groups of them, averaged over the groups.

`pearson`, `spearman`, `kendall_b` and `kendall_c` are as SciPy computes them; a group in which people or the metric say
the same of all outputs has none. `acc_eq` is the share of pairs that the metric orders, or ties, as people do, with the
difference up to which the metric counts as tied chosen to make it largest (acc*eq: Deutsch, Foster and Freitag 2023).

They agree with SciPy and with mt-metrics-eval. A resample weighs cells, and the tie threshold is chosen anew in each.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from harness.stats.design import Codes
from harness.stats.people.panel import PURPOSE, Panel
from harness.stats.resampling import generator
from harness.types import Array

RANKED = ("pearson", "spearman", "kendall_b", "kendall_c")
SEGMENT = (*RANKED, "acc_eq")
MOST_PAIRS = 2**19
"""Pairs that ties are calibrated on; of more, a sample."""


class Groups:
    """The cells of a panel that count, group by group; groups of one cell are left out."""

    def __init__(self, panel: Panel, kind: str) -> None:
        assert panel.human is not None
        systems, items = np.nonzero(panel.cells)
        group = {"item": items, "system": systems, "none": np.zeros_like(items)}[kind]
        order = np.lexsort((items, systems, group))
        sizes = np.bincount(group)
        order = order[sizes[group[order]] > 1]
        self.kind, self.systems, self.items = kind, systems[order], items[order]
        self.units = panel.units[self.items]
        self.codes: Codes = np.unique(group[order], return_inverse=True)[1]
        self.starts = np.concatenate([[0], np.cumsum(np.bincount(self.codes, minlength=0))])
        self.human = panel.human[self.systems, self.items]
        self.human_ranks = self.ranks(self.human)

    def __len__(self) -> int:
        return len(self.starts) - 1

    def values(self, of_cells: Array) -> Array:
        """(cells,) of values (s, n)."""
        return np.asarray(of_cells[self.systems, self.items])

    def ranks(self, values: Array) -> Codes:
        """(cells,) whole numbers from 0 within each group, equal for equal values."""
        order = np.lexsort((values, self.codes))
        changed = np.diff(values[order], prepend=np.nan) != 0
        changed[self.starts[:-1]] = True
        dense = np.cumsum(changed)
        ranks = np.empty(len(values), np.int64)
        ranks[order] = dense - dense[self.starts[:-1]][self.codes[order]]
        return ranks

    def weights(self, of_systems: Array, of_units: Array) -> tuple[Array, Array]:
        """How much cells (r, cells) and groups (r, g) count when systems (r, s) and units (r, units) were drawn so
        often: an item that was drawn twice is two groups of the same cells, not one of each cell twice."""
        first = self.starts[:-1]
        if self.kind == "item":
            return of_systems[:, self.systems], of_units[:, self.units[first]]
        if self.kind == "system":
            return of_units[:, self.units], of_systems[:, self.systems[first]]
        return of_systems[:, self.systems] * of_units[:, self.units], np.ones((len(of_systems), len(self)))

    @cached_property
    def pairs(self) -> NDArray[np.int64]:
        """(3, p) two cells and their group: all pairs within groups, or an even sample of them."""
        sizes = np.diff(self.starts)
        counts = sizes * (sizes - 1) // 2
        share = min(1.0, MOST_PAIRS / counts.sum())
        rng = generator(0, f"{PURPOSE} pairs")
        parts = []
        for g, (size, count, start) in enumerate(zip(sizes, counts, self.starts, strict=False)):
            if share == 1.0:
                first, second = np.triu_indices(size, 1)
            else:
                first, second = rng.integers(0, size, (2, max(1, int(share * count))))
                second = np.where(first == second, (second + 1) % size, second)
            parts.append(np.array([first + start, second + start, np.full(len(first), g)]))
        return np.concatenate(parts, axis=1)

    @property
    def sampled(self) -> bool:
        sizes = np.diff(self.starts)
        return bool((sizes * (sizes - 1) // 2).sum() > MOST_PAIRS)


class SegmentLevel:
    """A metric's values against those of people."""

    def __init__(self, groups: Groups, values: Array) -> None:
        """`values` (s, n)."""
        from harness.stats.people.rank_kernels import Cells, Pairs

        x = groups.values(values)
        ranks = groups.ranks(x)
        self.groups = groups
        self.order = np.lexsort((groups.human_ranks, ranks, groups.codes))
        both = np.array([ranks[self.order], groups.human_ranks[self.order]])
        self.cells = Cells(x[self.order], groups.human[self.order], both, groups.starts)
        first, second, _ = groups.pairs
        apart, above = x[first] - x[second], np.sign(groups.human[first] - groups.human[second])
        by_size = np.argsort(np.abs(apart), kind="stable")
        right = np.array([np.sign(apart) == above, above == 0], dtype=np.float64)
        self.pairs = Pairs(groups.pairs[:, by_size], np.abs(apart)[by_size], right[:, by_size])

    def coefficients(self, of_systems: Array, of_units: Array) -> Array:
        """(r, 5) under the weights of systems (r, s) and units (r, units)."""
        return self._all(of_systems, of_units)[0]

    def estimates(self, systems: int, units: int) -> tuple[Array, Array]:
        """(the coefficients (5,), the number of groups that have each (5,))."""
        values, defined = self._all(np.ones((1, systems)), np.ones((1, units)))
        return values[0], defined[0]

    def _all(self, of_systems: Array, of_units: Array) -> tuple[Array, Array]:
        from harness.stats.people import rank_kernels

        weights, of_groups = self.groups.weights(of_systems, of_units)
        r = len(weights)
        values, defined = np.empty((r, len(SEGMENT))), np.empty((r, len(SEGMENT)))
        ranked, counted = np.empty((r, len(RANKED))), np.empty((r, len(RANKED)))
        rank_kernels.coefficients(self.cells, weights[:, self.order], of_groups, ranked, counted)
        thresholds = np.empty(r)
        rank_kernels.calibrated_accuracy(self.pairs, weights, of_groups, values[:, -1], thresholds)
        values[:, :-1], defined[:, :-1], defined[:, -1] = ranked, counted, of_groups.sum(1)
        return values, defined
