"""Compiled kernels of resampling: how often each unit was drawn, and counts times rows of statistics.

Random numbers are xoshiro256++ (Blackman and Vigna 2021), its state given by a SeedSequence; whole numbers below n come
from them by Lemire's method (2019) with rejection, so that every unit is exactly as likely as every other.

The product adds the rows in their order, a multiplication and an addition each, for every column by itself: its last
bits depend on nothing but the column, not on what stands beside it, on the number of threads or on a BLAS library.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from harness.compiled import compiled, compiled_routine

LOW = np.uint64(0xFFFFFFFF)
HALF = np.uint64(32)
CAUTION = 0.5
"""A bet never risks more than this share of the money."""
TILE = 256
"""Rows that are added to all resamples of a block before the next ones: they stay in the processor's cache."""


@compiled
def _next(s: Any) -> Any:
    """The next 64 random bits; the state s (4,) moves on."""
    t = s[0] + s[3]
    bits = ((t << np.uint64(23)) | (t >> np.uint64(41))) + s[0]
    t = s[1] << np.uint64(17)
    s[2] ^= s[0]
    s[3] ^= s[1]
    s[1] ^= s[2]
    s[0] ^= s[3]
    s[2] ^= t
    s[3] = (s[3] << np.uint64(45)) | (s[3] >> np.uint64(19))
    return bits


@compiled
def bootstrap_counts(state: Any, sizes: Any, counts: Any) -> None:
    """Fills counts (r, units): of each stratum as many units as it has, drawn with replacement. The state moves on."""
    counts[:] = 0
    for r in range(counts.shape[0]):
        start = np.uint64(0)
        for size in sizes:
            bound = np.uint64(size)
            unfair = (np.uint64(1) << HALF) % bound
            left = size
            while left > 0:
                bits = _next(state)
                for half in (bits & LOW, bits >> HALF):  # one number from each half
                    product = half * bound
                    if left > 0 and (product & LOW) >= unfair:
                        counts[r, start + (product >> HALF)] += 1
                        left -= 1
            start += bound


@compiled
def coin_flips(state: Any, counts: Any) -> None:
    """Fills counts (r, units) with 0 and 1, each as likely. The state moves on."""
    for r in range(counts.shape[0]):
        bits = np.uint64(0)
        for i in range(counts.shape[1]):
            if i % 64 == 0:
                bits = _next(state)
            counts[r, i] = bits & np.uint64(1)
            bits >>= np.uint64(1)


@compiled
def exchanged_moments(state: Any, values: Any, sizes: Any, moments: Any) -> None:
    """Fills moments (r, m, 2): the sums and sums of squares of m groups of so many of the values (n,) each, dealt out
    at random. Values and state move on."""
    n, m = values.shape[0], sizes.shape[0]
    total, squares = 0.0, 0.0
    for value in values:
        total += value
        squares += value * value
    for r in range(moments.shape[0]):
        place = 0
        moments[r, m - 1, 0], moments[r, m - 1, 1] = total, squares
        for group in range(m - 1):  # the last one has what is left
            first, second = 0.0, 0.0
            for _ in range(sizes[group]):
                bound = np.uint64(n - place)
                product = (_next(state) & LOW) * bound
                if (product & LOW) < bound:  # seldom, and dividing takes long
                    unfair = (np.uint64(1) << HALF) % bound
                    while (product & LOW) < unfair:
                        product = (_next(state) & LOW) * bound
                other = place + np.int64(product >> HALF)
                value = values[other]
                values[other], values[place] = values[place], value
                first += value
                second += value * value
                place += 1
            moments[r, group, 0], moments[r, group, 1] = first, second
            moments[r, m - 1, 0] -= first
            moments[r, m - 1, 1] -= second


@compiled
def product(counts: Any, rows: Any, sums: Any) -> None:
    """sums (r, k) = counts (r, n) times rows (n, k); r is a multiple of 4."""
    sums[:] = 0.0
    for start in range(0, rows.shape[0], TILE):
        end = min(start + TILE, rows.shape[0])
        for r in range(0, counts.shape[0], 4):
            a, b, c, d = sums[r], sums[r + 1], sums[r + 2], sums[r + 3]
            for i in range(start, end):
                row = rows[i]
                u, v = float(counts[r, i]), float(counts[r + 1, i])
                w, x = float(counts[r + 2, i]), float(counts[r + 3, i])
                for j in range(rows.shape[1]):
                    a[j] += u * row[j]
                    b[j] += v * row[j]
                    c[j] += w * row[j]
                    d[j] += x * row[j]


@compiled
def add_rows(rows: Any, cells: Any, sums: Any, which: Any) -> None:
    """Adds the rows (n, k) without a NaN in their order to the sums (m, k) of their cells (n,); `which` (n,) says which
    ones these are."""
    for i in range(rows.shape[0]):
        complete = True
        for j in range(rows.shape[1]):
            if np.isnan(rows[i, j]):
                complete = False
        which[i] = complete
        if complete:
            cell = cells[i]
            for j in range(rows.shape[1]):
                sums[cell, j] += rows[i, j]


@compiled
def hash_texts(data: Any, offsets: Any, seed: Any, hashed: Any) -> None:
    """Fills hashed (n,): FNV-1a over each text's bytes, from a start that the seed gives, its bits then mixed."""
    start = _mixed(seed + np.uint64(0x9E3779B97F4A7C15))
    for i in range(len(hashed)):
        value = np.uint64(0xCBF29CE484222325) ^ start
        for j in range(offsets[i], offsets[i + 1]):
            value = (value ^ np.uint64(data[j])) * np.uint64(0x100000001B3)
        hashed[i] = _mixed(value)


@compiled
def _mixed(value: Any) -> Any:
    """The finalizer of SplitMix64 (Steele, Lea and Flood 2014)."""
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))


@compiled_routine
def bet(values: Any, grid: Any, capital: Any, moments: Any, ends: Any, limit: Any) -> None:
    """Bets against every candidate for the mean of values in [0, 1], one value after the other (stats/sequential.py).

    Moves on: the logarithms of the capital (2, grid) of those who bet on a higher and on a lower mean; the moments
    (count, sum, sum of squared deviations from the means so far and 0.25); the places (2,) of the lowest and the
    highest candidate that is not out.
    """
    last = len(grid) - 1
    for x in values:
        variance = moments[2] / (moments[0] + 1.0)
        moments[0] += 1.0
        n = moments[0]
        stake = np.sqrt(2.0 * limit / (variance * n * np.log(1.0 + n)))
        for i in range(ends[0], ends[1] + 1):
            m = grid[i]
            up = stake if m == 0.0 else min(stake, CAUTION / m)
            down = stake if m == 1.0 else min(stake, CAUTION / (1.0 - m))
            capital[0, i] += np.log1p(up * (x - m))
            capital[1, i] += np.log1p(-down * (x - m))
        moments[1] += x
        moments[2] += (x - (0.5 + moments[1]) / (n + 1.0)) ** 2
        while ends[0] < last and capital[0, ends[0]] >= limit and capital[0, ends[0] + 1] >= limit:
            ends[0] += 1
        while ends[1] > 0 and capital[1, ends[1]] >= limit and capital[1, ends[1] - 1] >= limit:
            ends[1] -= 1
