"""Sets and orders of texts, compiled: texts are compared byte by byte, never by their hashes alone."""
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import numpy as np

from harness.compiled import compiled_routine

PRIME = np.uint64(0x9E3779B97F4A7C15)
"""Odd, its bits half of them set: spreads words over a table."""
NOTHING, ONE, EIGHT, HALF, LOW = (np.uint64(k) for k in (0, 1, 8, 32, 2**32 - 1))
"""Unsigned places, since for signed ones Numba asks at every access whether they count from the end."""


@compiled_routine
def place(data, starts, text, table, texts, entries):
    """The place of text `data[starts[text]:starts[text + 1]]` among the `entries` different ones so far, which are
    those that `texts` numbers; `entries` where it is new: then it is added.

    `table`: a power of two of cells, more than there will be texts, 0 at first; then half of a text's hash, and its
    place from 1.
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
    while table[slot]:
        if (table[slot] ^ key) >> HALF == NOTHING:  # the same half of the hash: almost surely the same text
            entry = np.int64(table[slot] & LOW) - 1
            other = np.uint64(starts[texts[entry]])
            if np.uint64(starts[texts[entry] + 1]) - other == last - first:
                i = first
                while i < last and data[i] == data[other + i - first]:
                    i += ONE
                if i == last:
                    return entry
        slot = (slot + ONE) & mask
    table[slot] = (key & ~LOW) | np.uint64(entries + 1)
    texts[entries] = text
    return entries


@compiled_routine
def cells(most):
    """How many cells a table for so many texts has."""
    size = 2
    while size < 2 * most:
        size *= 2
    return size


@compiled_routine
def first_repeated(data, starts, lists):
    """The first text that its list, from `lists[l]` to `lists[l + 1]`, had before; -1 where there is none."""
    most = 1
    for n in range(len(lists) - 1):
        most = max(most, lists[n + 1] - lists[n])
    table = np.empty(cells(most), np.uint64)
    texts = np.empty(most, np.int64)
    for n in range(len(lists) - 1):
        slots = table[: cells(lists[n + 1] - lists[n])]
        slots[:] = 0
        for text in range(lists[n], lists[n + 1]):
            if place(data, starts, text, slots, texts, text - lists[n]) != text - lists[n]:
                return text
    return -1


@compiled_routine
def is_after(data, starts, text, other):
    """Whether a text comes after another in the order of their bytes."""
    first, end = starts[text], starts[text + 1]
    second, other_end = starts[other], starts[other + 1]
    while first < end and second < other_end:
        if data[first] != data[second]:
            return data[first] > data[second]
        first += 1
        second += 1
    return first < end


@compiled_routine
def sort_lists(data, starts, lists, values, order, spare):
    """order (m,): the texts of each list, from `lists[l]` to `lists[l + 1]`, from the highest value to the lowest;
    those of the same value in falling order of their bytes. A merge sort; `spare` (m,) is room for it."""
    for n in range(len(lists) - 1):
        first, last = lists[n], lists[n + 1]
        sorted_already = True
        for i in range(first, last):
            order[i] = i
            if i > first and sorted_already:
                a, b = values[i - 1], values[i]
                sorted_already = a > b or (a == b and not is_after(data, starts, i, i - 1))
        if sorted_already:  # as runs mostly are
            continue
        width = 1
        while width < last - first:
            for start in range(first, last, 2 * width):
                i, middle = start, min(start + width, last)
                j, end = middle, min(start + 2 * width, last)
                for k in range(start, end):
                    take = i < middle
                    if take and j < end:
                        a, b = values[order[i]], values[order[j]]
                        take = a > b or (a == b and not is_after(data, starts, order[j], order[i]))
                    if take:
                        spare[k] = order[i]
                        i += 1
                    else:
                        spare[k] = order[j]
                        j += 1
            for k in range(first, last):
                order[k] = spare[k]
            width *= 2
