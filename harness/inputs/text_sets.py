"""Sets of texts, compiled: each text once, compared byte by byte and never by its hash alone."""
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import numpy as np

from harness.compiled import compiled

PRIME = np.uint64(0x9E3779B97F4A7C15)
"""Odd, its bits half of them set: spreads words over a table."""
NOTHING, ONE, EIGHT, HALF = (np.uint64(k) for k in (0, 1, 8, 32))
"""Unsigned places, since for signed ones Numba asks at every access whether they count from the end."""


@compiled
def place(data, starts, text, table, texts, entries):
    """The place of text `data[starts[text]:starts[text + 1]]` among the `entries` different ones so far, which are
    those that `texts` numbers; `entries` where it is new: then it is added.

    `table`: a power of two of cells, more than there will be texts, -1 at first.
    """
    first, last = np.uint64(starts[text]), np.uint64(starts[text + 1])
    key = last - first
    i = first
    while i + EIGHT <= last:
        word = NOTHING
        for _ in range(8):
            word = word << EIGHT | np.uint64(data[i])
            i += ONE
        key = (key ^ word) * PRIME
        key ^= key >> HALF
    word = NOTHING
    while i < last:
        word = word << EIGHT | np.uint64(data[i])
        i += ONE
    key = (key ^ word) * PRIME
    mask = np.uint64(len(table) - 1)
    slot = (key ^ (key >> HALF)) & mask
    while table[slot] >= 0:
        entry = table[slot]
        other = np.uint64(starts[texts[entry]])
        if np.uint64(starts[texts[entry] + 1]) - other == last - first:
            i = first
            while i < last and data[i] == data[other + i - first]:
                i += ONE
            if i == last:
                return entry
        slot = (slot + ONE) & mask
    table[slot] = entries
    texts[entries] = text
    return entries


@compiled
def cells(most):
    """How many cells a table for so many texts has."""
    size = 2
    while size < 2 * most:
        size *= 2
    return size


@compiled
def first_repeated(data, starts, lists):
    """The first text that its list, from `lists[l]` to `lists[l + 1]`, had before; -1 where there is none."""
    most = 1
    for n in range(len(lists) - 1):
        most = max(most, lists[n + 1] - lists[n])
    table = np.empty(cells(most), np.int64)
    texts = np.empty(most, np.int64)
    for n in range(len(lists) - 1):
        slots = table[: cells(lists[n + 1] - lists[n])]
        slots[:] = -1
        for text in range(lists[n], lists[n + 1]):
            if place(data, starts, text, slots, texts, text - lists[n]) != text - lists[n]:
                return text
    return -1
