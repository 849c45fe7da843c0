"""What is odd about texts, found on their UTF-8 bytes."""

from __future__ import annotations

from typing import Any

import numpy as np

from harness.compiled import compiled

U = np.uint64
"""Places are unsigned: for signed ones Numba asks at every access whether they count from the end."""
EMPTY, LOOP, COPIED = 1, 2, 4
"""Flags of an output."""
SHORTEST = 32
"""Characters that a loop has at least: "ha ha ha" is an answer, not a model that cannot stop."""


@compiled
def examine(texts: Any, starts: Any, sources: Any, source_starts: Any, room: Any, flags: Any) -> None:
    """Fills flags (n,): whether an output has no character but white space, ends in a loop of at least SHORTEST
    characters, is its source but for white space at the ends. `room` (2, bytes of the longest output)."""
    codes, agreed = room[0], room[1]
    for i in range(len(flags)):
        first, last = _stripped(texts, starts[i], starts[i + 1])
        flags[i] = 0
        if first == last:
            flags[i] |= EMPTY
        elif _loops(codes[: _decoded(texts, first, last, codes)], agreed):
            flags[i] |= LOOP
        if source_starts[i] < source_starts[i + 1]:
            begin, end = _stripped(sources, source_starts[i], source_starts[i + 1])
            if end - begin == last - first:
                same = True
                for j in range(end - begin):
                    if sources[begin + j] != texts[first + j]:
                        same = False
                        break
                if same:
                    flags[i] |= COPIED


@compiled
def characters(data: Any, starts: Any, counts: Any) -> None:
    """Fills counts (n,): code points of each text."""
    for i in range(len(counts)):
        count = 0
        for j in range(U(starts[i]), U(starts[i + 1])):
            count += data[j] & 0xC0 != 0x80
        counts[i] = count


@compiled
def _is_space(c: Any) -> Any:
    """As Python's `str.isspace` has it."""
    if c < 0x80:
        return (c >= 9 and c <= 13) or (c >= 28 and c <= 32)
    return (
        c == 0x85 or c == 0xA0 or c == 0x1680 or (c >= 0x2000 and c <= 0x200A)
        or c == 0x2028 or c == 0x2029 or c == 0x202F or c == 0x205F or c == 0x3000
    )  # fmt: skip


@compiled
def _character(data: Any, at: Any, end: Any) -> Any:
    """(the code point that begins at a byte, the byte after it)."""
    c = np.int64(data[U(at)])
    at += 1
    if c >= 0x80:
        c &= 0x1F if c < 0xE0 else 0x0F if c < 0xF0 else 0x07
        while at < end and data[U(at)] & 0xC0 == 0x80:
            c = (c << 6) | (data[U(at)] & 0x3F)
            at += 1
    return c, at


@compiled
def _stripped(data: Any, start: Any, end: Any) -> Any:
    """(first, last) byte of a text without white space at its ends."""
    while start < end:
        c, after = _character(data, start, end)
        if not _is_space(c):
            break
        start = after
    while end > start:
        before = end - 1
        while data[U(before)] & 0xC0 == 0x80:
            before -= 1
        c, _ = _character(data, before, end)
        if not _is_space(c):
            break
        end = before
    return start, end


@compiled
def _decoded(data: Any, start: Any, end: Any, codes: Any) -> Any:
    """Writes the text's code points, backwards, and gives their number."""
    size = 0
    while start < end:
        codes[U(size)], start = _character(data, start, end)
        size += 1
    for i in range(size // 2):
        last = U(size - 1 - i)
        codes[U(i)], codes[last] = codes[last], codes[U(i)]
    return size


@compiled
def _loops(codes: Any, agreed: Any) -> Any:
    """Whether a text, given backwards, ends in the same again at least two and a half times, over half of it and
    SHORTEST characters: by the Z algorithm, how far it agrees with itself moved by each period, in linear time."""
    n = len(codes)
    if n < SHORTEST:
        return False
    left = right = 0  # the part that reaches furthest and agrees with the beginning
    for period in range(1, 2 * n // 5 + 1):
        same = min(right - period, agreed[U(period - left)]) if period < right else 0
        while period + same < n and codes[U(same)] == codes[U(period + same)]:
            same += 1
        agreed[U(period)] = same
        if period + same > right:
            left, right = period, period + same
        if period + same >= max((5 * period + 1) // 2, n // 2 + 1, SHORTEST):
            return True
    return False
