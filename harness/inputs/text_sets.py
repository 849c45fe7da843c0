"""Sets of texts, compiled: each text once, compared byte by byte and never by its hash alone."""
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import numpy as np

from harness.compiled import compiled

BASIS, PRIME = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)
"""Of the hash FNV-1a."""


@compiled
def place(data, starts, text, table, texts, entries):
    """The place of text `data[starts[text]:starts[text + 1]]` among the `entries` different ones so far, which are
    those that `texts` numbers; `entries` where it is new: then it is added.

    `table`: a power of two of cells, more than there will be texts, -1 at first.
    """
    first, last = starts[text], starts[text + 1]
    key = BASIS
    for i in range(first, last):
        key = (key ^ np.uint64(data[i])) * PRIME
    mask = np.uint64(len(table) - 1)
    slot = (key ^ (key >> np.uint64(32))) & mask
    while table[slot] >= 0:
        entry = table[slot]
        other = starts[texts[entry]]
        if starts[texts[entry] + 1] - other == last - first:
            i = first
            while i < last and data[i] == data[other + i - first]:
                i += 1
            if i == last:
                return entry
        slot = (slot + np.uint64(1)) & mask
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
