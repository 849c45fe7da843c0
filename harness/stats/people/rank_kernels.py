"""Compiled kernels of rank correlation under weights: no value is sorted again however often a sample is drawn anew.

Values are sorted once; a resample only says how often each cell counts. Pairs are counted by a Fenwick tree over the
ranks of the other variable, so a coefficient of n cells takes n log n steps (Knight 1966). A cell that was drawn
several times makes no pair with itself: such ties are of the resampling, not of the data.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from harness.compiled import compiled_routine


class Cells(NamedTuple):
    """n cells with two values each, group by group, sorted within a group by x and then by y."""

    x: Any
    """(n,)"""
    y: Any
    """(n,)"""
    ranks: Any
    """(2, n) of x and y within the group: whole numbers from 0, equal for equal values."""
    starts: Any
    """(groups + 1,) where each group begins, and the end."""


class Merged(NamedTuple):
    """n cells with the values of two metrics, those of a group in one sorted list, so that whatever changes places is
    in order already."""

    cells: Any
    """(2n,) which cell each value is of"""
    metric: Any
    """(2n,) 0 or 1: whose it is"""
    ranks: Any
    """(2, 2n) of the value and of its cell's y"""
    x: Any
    """(2, n) the values by cell"""
    y: Any
    """(n,)"""
    starts: Any
    """(groups + 1,) by cell"""


class Pairs(NamedTuple):
    """p pairs of cells of one group, by how far apart a metric has them."""

    cells: Any
    """(3, p) two cells and their group"""
    sizes: Any
    """(p,) how far apart, ascending"""
    right: Any
    """(2, p) 1 where the pair is judged as people do: as the metric has it, and tied"""


class Judged(NamedTuple):
    """p pairs of cells of one group under two metrics, for each of the four ways to take the cells' values from them:
    both of the first metric, of the first and the second, of the second and the first, both of the second."""

    cells: Any
    """(2, p)"""
    right: Any
    """(p, 4) what the pair counts, 1 over all pairs, where it is judged as people do; else 0"""
    gains: Any
    """(p, 4) what judging it tied would add"""
    bins: Any
    """(p, 4) how far apart its cells are: the first of these differences, from 0, up to which it is a tie"""


@compiled_routine
def _pearson(x: Any, y: Any, weights: Any, total: float) -> float:
    """The correlation of x and y (n,) under weights (n,) that add up to `total`; neither is constant."""
    mean_x, mean_y = 0.0, 0.0
    for i in range(len(x)):
        mean_x += weights[i] * x[i]
        mean_y += weights[i] * y[i]
    mean_x /= total
    mean_y /= total
    xx, yy, xy = 0.0, 0.0, 0.0
    for i in range(len(x)):
        a, b = x[i] - mean_x, y[i] - mean_y
        xx += weights[i] * a * a
        yy += weights[i] * b * b
        xy += weights[i] * a * b
    return min(1.0, max(-1.0, xy / np.sqrt(xx) / np.sqrt(yy))) if xx > 0 and yy > 0 else np.nan


@compiled_routine
def _group(x: Any, y: Any, ranks: Any, weights: Any, scratch: Any, out: Any) -> None:
    """Pearson, Spearman, Kendall b and c of one group of n cells that are sorted by their ranks (2, n) of x and y, NaN
    where one is undefined; `scratch` (4, n + 2)."""
    n, x_rank, y_rank = len(x), ranks[0], ranks[1]
    tree, of_y, places_x, places_y = scratch[0], scratch[1], scratch[2], scratch[3]
    top = 0
    for i in range(n):
        top = max(top, y_rank[i] + 1)
    tree[: top + 1] = 0.0
    of_y[:top] = 0.0
    total, squares, drawn = 0.0, 0.0, 0
    for i in range(n):
        drawn += weights[i] > 0
        total += weights[i]
        squares += weights[i] * weights[i]
        of_y[y_rank[i]] += weights[i]
    out[:] = np.nan
    concordant, discordant, tied_x, before, classes_x, i = 0.0, 0.0, 0.0, 0.0, 0, 0
    while i < n:
        end, here, own = i, 0.0, 0.0
        while end < n and x_rank[end] == x_rank[i]:
            here += weights[end]
            own += weights[end] * weights[end]
            end += 1
        if here > 0:
            classes_x += 1
            tied_x += (here * here - own) / 2
            for j in range(i, end):
                places_x[j] = before + here / 2
                if weights[j] > 0:
                    below, k = 0.0, y_rank[j]
                    while k > 0:
                        below += tree[k]
                        k -= k & -k
                    level, k = 0.0, y_rank[j] + 1
                    while k > 0:
                        level += tree[k]
                        k -= k & -k
                    concordant += weights[j] * below
                    discordant += weights[j] * (before - level)
            for j in range(i, end):
                k = y_rank[j] + 1
                while weights[j] > 0 and k <= top:
                    tree[k] += weights[j]
                    k += k & -k
            before += here
        else:
            places_x[i:end] = before
        i = end
    classes_y, below_y, tied_y = 0, 0.0, 0.0
    for k in range(top):
        here = of_y[k]
        classes_y += here > 0
        tied_y += here * here
        of_y[k] = below_y + here / 2
        below_y += here
    tied_y = (tied_y - squares) / 2
    if classes_x < 2 or classes_y < 2:
        return
    for i in range(n):
        places_y[i] = of_y[y_rank[i]]
    pairs = (total * total - squares) / 2
    out[0] = _pearson(x, y, weights, total)
    out[1] = _pearson(places_x[:n], places_y[:n], weights, total)
    out[2] = (concordant - discordant) / np.sqrt(pairs - tied_x) / np.sqrt(pairs - tied_y)
    classes = min(classes_x, classes_y)
    most = pairs * drawn / (drawn - 1) * (classes - 1) / classes
    out[3] = min(1.0, max(-1.0, (concordant - discordant) / most))


@compiled_routine
def coefficients(cells: Any, weights: Any, of_groups: Any, means: Any, defined: Any) -> None:
    """Fills means (r, 4), averages over groups under the groups' weights (r, g) of the coefficients of each group's
    cells under their weights (r, n), and defined (r, 4), the weight of the groups that have one."""
    starts, longest = cells.starts, 0
    for g in range(len(starts) - 1):
        longest = max(longest, starts[g + 1] - starts[g])
    scratch, values = np.empty((4, longest + 2)), np.empty(4)
    for r in range(len(means)):
        means[r] = 0.0
        defined[r] = 0.0
        for g in range(len(starts) - 1):
            if of_groups[r, g] > 0:
                a, b = starts[g], starts[g + 1]
                _group(cells.x[a:b], cells.y[a:b], cells.ranks[:, a:b], weights[r, a:b], scratch, values)
                for k in range(4):
                    if not np.isnan(values[k]):
                        means[r, k] += of_groups[r, g] * values[k]
                        defined[r, k] += of_groups[r, g]
        means[r] /= defined[r]


@compiled_routine
def swapped_coefficients(merged: Any, flips: Any, means: Any) -> None:
    """Fills means (r, 2, 4): the coefficients of two metrics that changed places where flips (r, n) has a 1, averaged
    over groups."""
    starts, longest = merged.starts, 0
    for g in range(len(starts) - 1):
        longest = max(longest, starts[g + 1] - starts[g])
    scratch, values, ones = np.empty((4, longest + 2)), np.empty(4), np.ones(longest)
    x, y, ranks = np.empty(longest), np.empty(longest), np.empty((2, longest), np.int64)
    for r in range(len(means)):
        for side in range(2):
            defined = np.zeros(4)
            means[r, side] = 0.0
            for g in range(len(starts) - 1):
                m = 0
                for i in range(2 * starts[g], 2 * starts[g + 1]):
                    cell, metric = merged.cells[i], merged.metric[i]
                    if (flips[r, cell] ^ metric) == side:
                        x[m], y[m] = merged.x[metric, cell], merged.y[cell]
                        ranks[0, m], ranks[1, m] = merged.ranks[0, i], merged.ranks[1, i]
                        m += 1
                _group(x[:m], y[:m], ranks[:, :m], ones[:m], scratch, values)
                for k in range(4):
                    if not np.isnan(values[k]):
                        means[r, side, k] += values[k]
                        defined[k] += 1
            means[r, side] /= defined


@compiled_routine
def calibrated_accuracy(pairs: Any, weights: Any, of_groups: Any, accuracies: Any, thresholds: Any) -> None:
    """Fills accuracies (r,) and thresholds (r,): the share of pairs that a metric orders or ties as people do, averaged
    over groups, at the tie threshold that makes it largest."""
    cells, sizes, right = pairs.cells, pairs.sizes, pairs.right
    count = len(sizes)
    of_pairs = np.empty(count)
    for r in range(len(accuracies)):
        totals = np.zeros(of_groups.shape[1])
        for p in range(count):
            of_pairs[p] = weights[r, cells[0, p]] * weights[r, cells[1, p]]
            totals[cells[2, p]] += of_pairs[p]
        whole = 0.0
        for g in range(len(totals)):
            if totals[g] > 0:
                whole += of_groups[r, g]
                totals[g] = of_groups[r, g] / totals[g]
        share = 0.0
        for p in range(count):
            of_pairs[p] *= totals[cells[2, p]]
            share += of_pairs[p] * right[0, p]
        best, threshold = share, 0.0
        for p in range(count):
            share += of_pairs[p] * (right[1, p] - right[0, p])
            if share > best + 1e-12 and (p + 1 == count or sizes[p + 1] > sizes[p]):
                best, threshold = share, sizes[p]
        accuracies[r] = best / whole if whole > 0 else np.nan
        thresholds[r] = threshold


@compiled_routine
def swapped_accuracy(judged: Any, flips: Any, accuracies: Any) -> None:
    """Fills accuracies (r, 2) of two metrics that changed places where flips (r, n) has a 1, each at its best tie
    threshold."""
    first, second = judged.cells[0], judged.cells[1]
    right, all_gains, bins = judged.right, judged.gains, judged.bins
    gains = np.empty((2, bins.max() + 1))
    for r in range(len(accuracies)):
        shares = np.zeros(2)
        gains[:] = 0.0
        for p in range(len(first)):
            way = 2 * flips[r, first[p]] + flips[r, second[p]]
            shares[0] += right[p, way]
            gains[0, bins[p, way]] += all_gains[p, way]
            way = 3 - way
            shares[1] += right[p, way]
            gains[1, bins[p, way]] += all_gains[p, way]
        for side in range(2):
            share = best = shares[side]
            for k in range(gains.shape[1]):
                share += gains[side, k]
                best = max(best, share)
            accuracies[r, side] = best


@compiled_routine
def swapped_sums(ends: Any, systems: Any, flips: Any, sums: Any, squares: Any) -> None:
    """Fills sums and squares (r, 2, p) of what one system of each pair has more than the other, unit by unit, by two
    metrics that changed places where flips (r, s, units) has a 1. ends (2, 2, p, units): the values of both metrics for
    the first and second of each pair; systems (2, p)."""
    for r in range(len(sums)):
        for p in range(systems.shape[1]):
            first, second = flips[r, systems[0, p]], flips[r, systems[1, p]]
            for side in range(2):
                total, square = 0.0, 0.0
                for u in range(len(first)):
                    apart = ends[first[u] ^ side, 0, p, u] - ends[second[u] ^ side, 1, p, u]
                    total += apart
                    square += apart * apart
                sums[r, side, p] = total
                squares[r, side, p] = square
