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
WIDE = 64
"""The character takes more than eight bits."""
GAP = 128
"""A space stands before the character."""
PRIME = 0x100000001B3
"""Of the hash FNV-1a."""
MIX = 0x1E3779B97F4A7C15
"""Odd, its bits half of them set: spreads consecutive numbers over a table."""
SHORT = 8
"""Characters of eight bits that are compared at once."""
ONE = np.uint64(1)
"""Unsigned places, since for signed ones Numba asks at every access whether they count from the end."""
TWO, THREE, FOUR, FIVE, SIX, SEVEN = (np.uint64(k) for k in range(2, 8))


@compiled
def decode(data, offsets, classes, fold, drop, codes, low, kinds, points, bounds):
    """UTF-8 texts (`data`, `offsets` (n + 1)) to code points: text i begins at `codes[bounds[0, i]]`.

    `kinds` is each one's class, `low` its last eight bits; `points` lists where there is a POINT or DASH, those of text
    i from `bounds[1, i]` on. `fold` lower-cases what becomes an ASCII letter. There is a GAP around what is ALONE, and
    for the mark that İ is lower-cased to. One cell stays free after each text, so that a gap after its last character
    is its own. `drop` leaves white space out, and gives codes and bounds alone.
    """
    size = ONE - ONE
    marks = 0
    t = 0
    while t < len(offsets) - 1:
        bounds[0, t] = size
        bounds[1, t] = marks
        gap = 0  # before the next character
        i = np.uint64(offsets[t])
        end = np.uint64(offsets[t + 1])
        while i < end:
            c = data[i] + 0
            i += ONE
            wide = 0
            mark = 0
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
                        mark = GAP + 0
                    elif c == 0x212A:  # the sign of Kelvin
                        c = 107
                if c > 0xFF:
                    wide = WIDE + 0
            elif fold and c >= 65 and c <= 90:
                c += 32
            kind = classes[np.uint64(c)] + 0
            if drop:
                if kind & SPACE:
                    continue
            else:
                # no branches: spaces are ALONE in 13a, and no processor guesses where words end
                alone = (kind & ALONE) << 6
                kinds[size] = kind | wide | gap | alone
                gap = alone | mark
                low[size] = c
                points[np.uint64(marks)] = size
                marks += (kind >> 3 | kind >> 4) & 1
            codes[size] = c
            size += ONE
        if not drop:
            kinds[size] = SPACE | gap
            size += ONE
        t += 1
    bounds[0, t] = size
    bounds[1, t] = marks


@compiled
def split(kinds, points, bounds, padded, edges, firsts, lengths, starts):
    """Characters to tokens: token j of text i, `starts[i] <= j < starts[i + 1]`, has `lengths[j]` characters from
    `firsts[j]` on; the number is negative where they are more than SHORT, or one of them is WIDE.

    SPACE separates and is dropped; ALONE is a token by itself; POINT is split off unless between DIGITs; DASH is split
    off after a DIGIT. These are the rules of mteval-v13a and its kin, which insert spaces by one regular expression
    after another; here a character has the bit GAP where a space stands before it. `padded`: a space stands before and
    after each text. `edges`: an EDGE character is split off the end of a word, else off its beginning, as in chrF++.
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
            kinds[low] |= GAP
            kinds[high] |= GAP
        # points after what is not a digit; a character that a match consumed takes part in no other
        last = -2
        after = 0
        p = begin
        while p < end:
            i = points[p] + 0
            if kinds[i] & POINT:
                before = kinds[i] & GAP
                if last == i - 1:
                    before = after
                after = kinds[i + 1] & GAP
                if before or (i > low and last < i - 1 and not kinds[i - 1] & DIGIT):
                    kinds[i] |= GAP
                    kinds[i + 1] |= GAP
                    last = i
            p += 1
        # points before what is not a digit
        last = -1
        p = begin
        while p < end:
            i = points[p] + 0
            if kinds[i] & POINT and last < i:
                if kinds[i + 1] & GAP:
                    kinds[i] |= GAP
                elif i + 1 < high and not kinds[i + 1] & DIGIT:
                    kinds[i] |= GAP
                    kinds[i + 1] |= GAP
                    last = i + 1
            p += 1
        # dashes after a digit
        p = begin
        while p < end:
            i = points[p] + 0
            if kinds[i] & DASH and i > low and kinds[i - 1] & DIGIT and not kinds[i] & GAP:
                kinds[i] |= GAP
                kinds[i + 1] |= GAP
            p += 1
        at = np.uint64(low)
        end_of = np.uint64(high)
        while at < end_of:
            if kinds[at] & SPACE:
                at += ONE
                continue
            first = at
            seen = kinds[at] + 0
            at += ONE
            while not kinds[at] & (SPACE | GAP):  # the cell after the text is a space
                seen |= kinds[at]
                at += ONE
            length = np.int64(at - first)
            if edges and length > 1:
                cut = length - (kinds[at - ONE] & EDGE > 0)
                if cut == length and kinds[first] & EDGE:
                    cut = np.int64(1)
                if cut < length:
                    firsts[np.uint64(made)] = first
                    wide = kinds[first] & WIDE if cut == 1 else seen & WIDE  # no EDGE is
                    lengths[np.uint64(made)] = -cut if cut > SHORT or wide else cut
                    made += 1
                    first += np.uint64(cut)
                    length -= cut
            firsts[np.uint64(made)] = first
            wide = kinds[first] & WIDE if length == 1 else seen & WIDE
            lengths[np.uint64(made)] = -length if length > SHORT or wide else length
            made += 1
        t += 1
    starts[t] = made


@compiled
def number(codes, low, firsts, lengths, ids, slots, keys, words, sizes):
    """Tokens to ids (in `ids`) and how many there are; id w is spelt `sizes[w]` characters from `words[w]` on, a number
    that is negative where `split` made it so.

    `slots`: zeros, a power of two, more than the tokens. `low` has seven cells more than there are characters.
    """
    known = 0
    mask = np.uint64(len(slots) - 1)
    j = 0
    while j < len(firsts):
        first = np.uint64(firsts[j])
        length = lengths[j] + 0
        last = first
        if length > 0:  # the key is the token itself
            key = low[first] + 0
            key |= (low[first + ONE] + 0) << 8 | (low[first + TWO] + 0) << 16 | (low[first + THREE] + 0) << 24
            key |= (low[first + FOUR] + 0) << 32 | (low[first + FIVE] + 0) << 40
            key |= (low[first + SIX] + 0) << 48 | (low[first + SEVEN] + 0) << 56
            key = key << (64 - 8 * length) >> (64 - 8 * length)
        else:
            last = first + np.uint64(-length)
            key = length + 0
            i = first
            while i < last:
                key = key * PRIME ^ codes[i]
                i += ONE
        at = np.uint64(key * MIX >> 31) & mask
        word = slots[at] - 1
        while word >= 0:
            if keys[word] == key and sizes[word] == length:
                other = np.uint64(words[word])
                i = first
                while i < last and codes[other] == codes[i]:
                    i += ONE
                    other += ONE
                if i == last:
                    break
            at = (at + ONE) & mask
            word = slots[at] - 1
        if word < 0:
            word = known
            known += 1
            slots[at] = known
            keys[word] = key
            words[word] = first
            sizes[word] = length
        ids[j] = word
        j += 1
    return known
