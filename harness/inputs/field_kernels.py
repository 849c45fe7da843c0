"""Lines of fields with white space between them, compiled: some of the fields as columns.

>>> columns = fields(b"q1 0 d7\\n\\nq2  0  d9\\r\\n", 3, [0, 2])
>>> [list(column) for column in columns]
[['q1', 'q2'], ['d7', 'd9']]
>>> fields(b"q1 0 d7\\nq2 0\\n", 3, [0, 2]) is None
True
"""
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from harness.compiled import compiled
from harness.types.texts import Texts

TAB, NEWLINE, RETURN, SPACE = (np.uint8(code) for code in (9, 10, 13, 32))
"""White space of ASCII is from TAB to RETURN, and SPACE."""
NOTHING, ONE = np.uint64(0), np.uint64(1)
"""Unsigned places, since for signed ones Numba asks at every access whether they count from the end."""


def fields(piece: bytes, width: int, wanted: Sequence[int]) -> list[Texts] | None:
    """The wanted fields of each line that has any, each as a column; None where one has not `width` of them, where a
    character is NUL, or where bytes are no UTF-8."""
    try:
        if not piece.isascii():
            piece.decode()
    except UnicodeDecodeError:
        return None
    data = np.frombuffer(piece, np.uint8)
    lines = int(np.count_nonzero(data == NEWLINE)) + 1
    starts, into = np.zeros((len(wanted), lines + 1), np.int64), np.empty((len(wanted), len(data)), np.uint8)
    column_of = np.full(width, -1)
    column_of[list(wanted)] = np.arange(len(wanted))
    lines = split(data, column_of, starts, into)
    if lines < 0:
        return None
    ends = starts[:, lines]
    return [Texts.of_bytes(into[k, : ends[k]].copy(), starts[k, : lines + 1]) for k in range(len(wanted))]


@compiled
def split(data, column_of, starts, into):
    """How many lines have fields; -1 where one has some, but another number than `column_of` (width,), or where a byte
    is NUL. `column_of` says which column each field goes to, -1: none. into (columns, bytes): what is in them, of
    which that of a line begins at starts (columns, lines + 1)."""
    last, i, line = np.uint64(len(data)), NOTHING, NOTHING
    width = np.uint64(len(column_of))
    field = NOTHING
    while i < last:
        byte = data[i]
        if byte == NEWLINE and field:
            if field != width:
                return -1
            field = NOTHING
            line += ONE
        if byte == SPACE or TAB <= byte <= RETURN:
            i += ONE
            continue
        if field == width:
            return -1
        column = column_of[field]
        field += ONE
        if column < 0:
            while i < last and data[i] > SPACE:
                i += ONE
        else:
            c = np.uint64(column)
            to = np.uint64(starts[c, line])
            while i < last and data[i] > SPACE:
                into[c, to] = data[i]
                i += ONE
                to += ONE
            starts[c, line + ONE] = to
        if i < last and (data[i] < TAB or RETURN < data[i] < SPACE):
            return -1
    if field and field != width:
        return -1
    return np.int64(line + (ONE if field else NOTHING))
