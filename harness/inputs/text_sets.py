"""Sets and orders of texts, compiled: texts are compared byte by byte, never by their hashes alone."""
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from harness.compiled import compiled
from harness.types.texts import Places

PRIME = np.uint64(0x9E3779B97F4A7C15)
"""Odd, its bits half of them set: spreads words over a table."""
NOTHING, ONE, EIGHT, HALF, LOW = (np.uint64(k) for k in (0, 1, 8, 32, 2**32 - 1))
"""Unsigned places, since for signed ones Numba asks at every access whether they count from the end."""


@compiled
def place(data, starts, text, table, size, texts, entries):
    """The place of text `data[starts[text]:starts[text + 1]]` among the `entries` different ones so far, which are
    those that `texts` numbers; `entries` where it is new: then it is added.

    The first `size` cells of `table`, a power of two and more than there will be texts, are 0 at first; then half of a
    text's hash, and its place from 1.
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
    if last < EIGHT:
        while i < last:
            word = word << EIGHT | np.uint64(data[i])
            i += ONE
    else:  # one load of the last eight bytes, of which only the text's own are kept
        for j in range(8):
            word = word << EIGHT | np.uint64(data[last - EIGHT + np.uint64(j)])
        word &= (ONE << (EIGHT * (last - i))) - ONE
    key = (key ^ word) * PRIME
    mask = np.uint64(size - 1)
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


@compiled
def cells(most):
    """How many cells a table for so many texts has: at most a quarter are taken, so that few texts meet."""
    size = 2
    while size < 4 * most:
        size *= 2
    return size


@compiled
def first_repeated(data, starts, lists, table, texts):
    """The first text that its list, from `lists[l]` to `lists[l + 1]`, had before; -1 where there is none. `table` and
    `texts` are room for the longest list: `rooms` makes them."""
    for n in range(len(lists) - 1):
        size = cells(lists[n + 1] - lists[n])
        for cell in range(size):
            table[cell] = NOTHING
        for text in range(lists[n], lists[n + 1]):
            if place(data, starts, text, table, size, texts, text - lists[n]) != text - lists[n]:
                return text
    return -1


def rooms(most: int) -> tuple[NDArray[np.uint64], Places]:
    """What `place` needs for so many texts: a table, and the texts that it numbers."""
    return np.empty(cells(most), np.uint64), np.empty(max(most, 1), np.int64)


@compiled
def changes(data, starts, begins):
    """begins (n,): whether each text is another than the one before it; the first is."""
    for text in range(len(begins)):
        first, last, before = starts[text], starts[text + 1], starts[text - 1] if text else 0
        begins[text] = text == 0 or last - first != first - before
        for i in range(0 if begins[text] else last - first):
            if data[first + i] != data[before + i]:
                begins[text] = True
                break


@compiled
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


@compiled
def sort_lists(data, starts, lists, values, order, spare):
    """order (m,): the texts of each list, from `lists[l]` to `lists[l + 1]`, from the highest value to the lowest;
    those of the same value in falling order of their bytes. Whether they were so all along. `spare` (m,) is room.

    A merge sort of runs that are in order already: two neighbours that a retriever has the other way round cost no
    more than a pass.
    """
    unchanged = 1
    for n in range(len(lists) - 1):
        first, last = lists[n], lists[n + 1]
        for i in range(first, last):
            order[i] = i
        runs = 2
        while runs > 1:
            runs, start = 0, first
            while start < last:
                middle = run_end(data, starts, values, order, start, last)
                end = run_end(data, starts, values, order, middle, last) if middle < last else last
                if middle < last:
                    merge(data, starts, values, order, spare, start, middle, end)
                    unchanged = 0
                runs += 1
                start = end
    return unchanged


@compiled
def run_end(data, starts, values, order, start, last):
    """Where the run that begins at `start` ends: the first that should stand before its neighbour, or `last`."""
    i = start + 1
    while i < last and not is_before(data, starts, values, order[i], order[i - 1]):
        i += 1
    return i


@compiled
def merge(data, starts, values, order, spare, start, middle, end):
    """Two neighbouring runs become one."""
    i, j = start, middle
    for k in range(start, end):
        if j >= end or (i < middle and not is_before(data, starts, values, order[j], order[i])):
            spare[k] = order[i]
            i += 1
        else:
            spare[k] = order[j]
            j += 1
    for k in range(start, end):
        order[k] = spare[k]


@compiled
def is_before(data, starts, values, text, other):
    """Whether a text has a higher value than another, or the same and comes after it in the order of their bytes."""
    if values[text] == values[other]:
        return is_after(data, starts, text, other)
    return values[text] > values[other]
