"""Whether one metric agrees with people better than another: what the two say of an output changes places at random.

Under the null hypothesis the two metrics are as good, and which of them said what does not matter. Both are
standardised, their scores change places at random, and the difference of their coefficients is held against those that
arise (PERM-BOTH of Deutsch, Dror and Roth 2021: every output of every system by itself; with items or systems drawn
alone, all outputs for an item, or of a system, together). Systems' scores are made of what each unit adds to them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from harness.stats.people.panel import PURPOSE, MetaOptions, Panel, in_order
from harness.stats.people.segment_level import RANKED, SEGMENT, Groups
from harness.stats.people.system_level import ORDERED, SYSTEM, limit, ordered, soft
from harness.stats.resampling import BLOCK, generator
from harness.types import Advance, Array

BINS = 1024
"""Of differences, among which the tie threshold is looked for under each swap."""
Flips = NDArray[np.uint8]
Statistic = Callable[[Flips], Array]
"""(r, 2) the coefficients of two metrics that changed places where flips (r, s, units) has a 1."""


class Swaps:
    """Which scores change places: the same for all pairs of metrics, so that their tests can be corrected together."""

    def __init__(self, panel: Panel, options: MetaOptions) -> None:
        systems, units = len(panel.systems), panel.design.units
        self.shape = {"both": (systems, units), "items": (1, units), "systems": (systems, 1)}[options.drawn]
        self.whole, self.seed = (systems, units), options.seed
        bits = self.shape[0] * self.shape[1]
        self.exact = bits < 60 and 2**bits <= options.resamples
        """Whether these are all there are."""
        self.count = 2**bits if self.exact else options.resamples

    def _block(self, block: int) -> Flips:
        rows = min(BLOCK, self.count - block * BLOCK)
        bits = self.shape[0] * self.shape[1]
        if self.exact:
            which = np.arange(block * BLOCK, block * BLOCK + rows)[:, None]
            marks = ((which >> np.arange(bits)) & 1).astype(np.uint8)
        else:
            marks = generator(self.seed, f"{PURPOSE} swaps", block).integers(0, 2, (rows, bits), np.uint8)
        spread = np.broadcast_to(marks.reshape(rows, *self.shape), (rows, *self.whole))
        return np.ascontiguousarray(spread)

    def nulls(self, statistic: Statistic, advance: Advance) -> Array:
        """(count,) what the second metric's coefficient is more, under each swap."""
        blocks = range(-(-self.count // BLOCK))
        return np.concatenate(list(in_order(lambda block: _gap(statistic(self._block(block))), blocks, advance)))

    def seen(self, statistic: Statistic) -> float:
        """The same as things are."""
        return float(_gap(statistic(np.zeros((1, *self.whole), np.uint8)))[0])


def _gap(both: Array) -> Array:
    """An undefined coefficient agrees with nothing."""
    known = np.nan_to_num(both)
    return np.asarray(known[:, 1] - known[:, 0])


def standardised(values: Array) -> Array:
    """Mean 0 and standard deviation 1, where it is not constant."""
    spread = values.std()
    return np.asarray((values - values.mean()) / (spread if spread > 0 else 1.0))


# ---------------------------------------------------------------- single outputs


def of_segments(groups: Groups, before: Array, after: Array, coefficient: str) -> Statistic:
    """Of a coefficient of single outputs, for two metrics' values (s, n)."""
    from harness.stats.people import rank_kernels

    both = np.array([standardised(groups.values(values)) for values in (before, after)])
    if coefficient == SEGMENT[-1]:
        judged = _judged(groups, both)

        def accuracy(flips: Flips) -> Array:
            out = np.empty((len(flips), 2))
            rank_kernels.swapped_accuracy(judged, _of_cells(groups, flips), out)
            return out

        return accuracy
    merged, place = _merged(groups, both), RANKED.index(coefficient)

    def ranked(flips: Flips) -> Array:
        out = np.empty((len(flips), 2, len(RANKED)))
        rank_kernels.swapped_coefficients(merged, _of_cells(groups, flips), out)
        return out[:, :, place]

    return ranked


def _of_cells(groups: Groups, flips: Flips) -> Flips:
    return np.ascontiguousarray(flips[:, groups.systems, groups.units])


def _merged(groups: Groups, both: Array) -> object:
    from harness.stats.people.rank_kernels import Merged

    n = both.shape[1]
    cells, metric = np.tile(np.arange(n), 2), np.repeat(np.array([0, 1], np.uint8), n)
    values, human = both.ravel(), groups.human_ranks[cells]
    order = np.lexsort((human, values, groups.codes[cells]))
    ranks = np.cumsum(np.diff(values[order], prepend=np.nan) != 0)
    return Merged(cells[order], metric[order], np.array([ranks, human[order]]), both, groups.human, groups.starts)


def _judged(groups: Groups, both: Array) -> object:
    from harness.stats.people.rank_kernels import Judged

    first, second, group = groups.pairs
    sizes = np.bincount(group, minlength=len(groups))
    counts = (1 / sizes[group] / np.count_nonzero(sizes))[:, None]
    above = np.sign(groups.human[first] - groups.human[second])[:, None]
    apart = np.stack([both[a, first] - both[b, second] for a in range(2) for b in range(2)], axis=1)
    right, tied = counts * (np.sign(apart) == above), counts * (above == 0)
    largest = np.abs(apart).max()
    near = np.sqrt(np.abs(apart) / largest) * BINS if largest > 0 else apart  # finer towards 0
    return Judged(groups.pairs[:2], right, tied - right, np.ceil(near).astype(np.int16))


# ---------------------------------------------------------------- systems


def of_systems(panel: Panel, before: str, after: str, coefficient: str) -> Statistic:
    """Of a coefficient of systems, for two scores."""
    if coefficient == SYSTEM[-1]:
        return _soft(panel, before, after)
    shares = [standardised(panel.corpora[name].shares) for name in (before, after)]
    gain, place = shares[1] - shares[0], ORDERED.index(coefficient)
    whole = [values.sum(1) for values in shares]

    def statistic(flips: Flips) -> Array:
        moved = np.einsum("rsu,su->rs", flips, gain)
        people, once = np.tile(panel.means, (len(flips), 1)), np.ones((len(flips), len(panel.systems)))
        sides = (whole[0] + moved, whole[1] - moved)
        return np.stack([ordered(side, people, once)[:, place] for side in sides], axis=1)

    return statistic


def _soft(panel: Panel, before: str, after: str) -> Statistic:
    from harness.stats.people import rank_kernels

    assert panel.human is not None
    systems = np.array(np.triu_indices(len(panel.systems), 1))
    common = panel.cells[systems[0]] & panel.cells[systems[1]]

    def by_end(values: Array) -> Array:
        """(2, pairs, units)"""
        return np.array([panel.by_unit(np.where(common, values[end], 0.0)) for end in systems])

    def scaled(values: Array) -> Array:
        spread = np.zeros_like(values)
        spread[panel.cells] = standardised(values[panel.cells])
        return spread

    ends = np.array([by_end(scaled(panel.segments[name])) for name in (before, after)])
    human = by_end(np.where(panel.cells, panel.human, 0.0))
    apart = human[0] - human[1]
    people = limit(apart.sum(1), (apart**2).sum(1))[None]

    def statistic(flips: Flips) -> Array:
        sums, squares = np.empty((2, len(flips), 2, systems.shape[1]))
        rank_kernels.swapped_sums(ends, systems, flips, sums, squares)
        sides = limit(sums, squares)
        return np.stack([soft(people, sides[:, side], np.ones_like(people)) for side in range(2)], axis=1)

    return statistic
