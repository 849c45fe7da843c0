"""UTF-8 text to token ids."""
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import numpy as np

from harness.compiled import compiled

SPACE = 1
ALONE = 2
DIGIT = 4
POINT = 8
DASH = 16
EDGE = 32
"""Classes of characters; what they do is said in `split`."""
MARKS = ALONE | POINT | DASH
PRIME = 0x100000001B3
"""Of the hash FNV-1a."""
ONE = np.uint64(1)
"""Unsigned places, since for signed ones Numba asks at every access whether they count from the end."""


@compiled
def decode(data, offsets, classes, fold, drop, codes, kinds, gap, points, bounds):
    """UTF-8 texts (`data`, `offsets` (n + 1)) to code points: text i begins at `codes[bounds[0, i]]`.

    `kinds` is each one's class; `points` lists where there is a POINT or DASH, those of text i from `bounds[1, i]` on.
    `fold` lower-cases what becomes an ASCII letter. `gap` says that a space stands before a character: around what is
    ALONE, and for the mark that İ is lower-cased to. Unless `drop` leaves white space out, one cell stays free after
    each text, so that a gap after its last character is its own.
    """
    size = ONE - ONE
    marks = 0
    t = 0
    while t < len(offsets) - 1:
        bounds[0, t] = size
        bounds[1, t] = marks
        i = np.uint64(offsets[t])
        end = np.uint64(offsets[t + 1])
        while i < end:
            c = data[i] + 0
            i += ONE
            if c >= 0x80:
                if c < 0xE0:
                    c &= 0x1F
                elif c < 0xF0:
                    c &= 0x0F
                else:
                    c &= 0x07
                while i < end and data[i] & 0xC0 == 0x80:
                    c = c << 6 | data[i] & 0x3F
                    i += ONE
                if fold:
                    if c == 0x130:  # lower case: i with a combining dot
                        c = 105
                        gap[size + ONE] = 1
                    elif c == 0x212A:  # the sign of Kelvin
                        c = 107
            elif fold and c >= 65 and c <= 90:
                c += 32
            kind = classes[c]
            if drop:
                if kind & SPACE:
                    continue
            elif kind & MARKS:
                if kind & ALONE:
                    gap[size] = 1
                    gap[size + ONE] = 1
                else:
                    points[marks] = size
                    marks += 1
            codes[size] = c
            kinds[size] = kind
            size += ONE
        if not drop:
            kinds[size] = SPACE
            size += ONE
        t += 1
    bounds[0, t] = size
    bounds[1, t] = marks


@compiled
def split(kinds, gap, points, bounds, padded, edges, firsts, lengths, starts):
    """Characters to tokens: token j of text i, `starts[i] <= j < starts[i + 1]`, has `lengths[j]` characters from
    `firsts[j]` on.

    SPACE separates and is dropped; ALONE is a token by itself; POINT is split off unless between DIGITs; DASH is split
    off after a DIGIT. These are the rules of mteval-v13a and its kin, which insert spaces by one regular expression
    after another; here `gap[i]` says that a space stands before character i. `padded`: a space stands before and after
    each text. `edges`: an EDGE character is split off the end of a word, else off its beginning, as in chrF++.
    """
    made = 0
    t = 0
    while t < len(starts) - 1:
        starts[t] = made
        low = bounds[0, t]
        high = bounds[0, t + 1] - 1
        begin = bounds[1, t]
        end = bounds[1, t + 1]
        if padded:
            gap[low] = 1
            gap[high] = 1
        # points after what is not a digit; a character that a match consumed takes part in no other
        last = -2
        after = 0
        p = begin
        while p < end:
            i = points[p] + 0
            if kinds[i] & POINT:
                before = gap[i] + 0
                if last == i - 1:
                    before = after
                after = gap[i + 1] + 0
                if before or (i > low and last < i - 1 and not kinds[i - 1] & DIGIT):
                    gap[i] = 1
                    gap[i + 1] = 1
                    last = i
            p += 1
        # points before what is not a digit
        last = -1
        p = begin
        while p < end:
            i = points[p] + 0
            if kinds[i] & POINT and last < i:
                if gap[i + 1]:
                    gap[i] = 1
                elif i + 1 < high and not kinds[i + 1] & DIGIT:
                    gap[i] = 1
                    gap[i + 1] = 1
                    last = i + 1
            p += 1
        # dashes after a digit
        p = begin
        while p < end:
            i = points[p] + 0
            if kinds[i] & DASH and i > low and kinds[i - 1] & DIGIT and not gap[i]:
                gap[i] = 1
                gap[i + 1] = 1
            p += 1
        at = np.uint64(low)
        end_of = np.uint64(high)
        while at < end_of:
            if kinds[at] & SPACE:
                at += ONE
                continue
            first = at
            at += ONE
            while not (kinds[at] & SPACE or gap[at]):  # the cell after the text is a space
                at += ONE
            length = at - first
            if edges and length > ONE:
                if kinds[at - ONE] & EDGE:
                    length -= ONE
                elif kinds[first] & EDGE:
                    length = ONE
                if length < at - first:
                    firsts[made] = first
                    lengths[made] = length
                    made += 1
                    first += length
                    length = at - first
            firsts[made] = first
            lengths[made] = length
            made += 1
        t += 1
    starts[t] = made


@compiled
def number(codes, firsts, lengths, ids, slots, hashes, words, sizes):
    """Tokens to ids (in `ids`) and how many there are; id w is spelt `sizes[w]` characters from `words[w]` on.

    `slots`: zeros, a power of two, more than the tokens.
    """
    known = 0
    mask = len(slots) - 1
    j = 0
    while j < len(firsts):
        first = np.uint64(firsts[j])
        length = lengths[j] + 0
        last = first + np.uint64(length)
        code = length + 0
        i = first
        while i < last:
            code = code * PRIME ^ codes[i]
            i += ONE
        code ^= code >> 29
        at = code & mask
        word = slots[at] - 1
        while word >= 0:
            if hashes[word] == code and sizes[word] == length:
                other = np.uint64(words[word])
                i = first
                while i < last and codes[other] == codes[i]:
                    i += ONE
                    other += ONE
                if i == last:
                    break
            at = (at + 1) & mask
            word = slots[at] - 1
        if word < 0:
            word = known
            known += 1
            slots[at] = known
            hashes[word] = code
            words[word] = first
            sizes[word] = length
        ids[j] = word
        j += 1
    return known
