"""Edits and shifts of words between two texts: TER as sacreBLEU 2.6 searches for it."""
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import math

from harness.compiled import compiled

SHIFT_SIZE = 10
SHIFT_DISTANCE = 50
BEAM = 25
CANDIDATES = 1000
"""sacreBLEU's limits: words of a shift, places between the output's words and the reference's, half the cells of a row,
shifts tried for a pair."""
BITS = 62
"""Words of a reference up to which the rows of `counted` are whole numbers."""
FAR = 1 << 28
"""What a cell outside the beam holds: more than any distance, with room to add to it."""


@compiled
def bounds(size, rest, low, high):
    """The cells `low[i]` to `high[i] - 1` of each row i that sacreBLEU's beam takes in, no row more than `high[0]`.

    Returned are the fewest edits of any way through a cell outside: where a distance is less, the beam has no part in
    it."""
    ratio = rest / size
    beam = BEAM + 0
    if ratio / 2 > BEAM:
        beam = math.ceil(ratio / 2 + BEAM)
    low[0] = 0
    high[0] = min(2 * beam + 2, rest + 1)
    gap = rest - size
    outside = FAR + 0
    i = 1
    while i <= size:
        middle = math.floor(i * ratio)
        low[i] = 0
        high[i] = rest + 1
        if middle > beam:
            low[i] = middle - beam
            outside = min(outside, abs(low[i] - 1 - i) + abs(gap - low[i] + 1 + i))
        if i < size and middle + beam <= rest:
            high[i] = middle + beam
            outside = min(outside, abs(high[i] - i) + abs(gap - high[i] + i))
        i += 1
    return outside


@compiled
def distance(words, size, ids, base, rest, first, low, high, row, saved):
    """Edits from the `size` words of an output to the `rest` words of a reference that begin at `ids[base]`, with the
    cells of the beam only.

    Rows up to `first` come from `saved`, which holds row i from `high[0] * i` on; -1 writes all rows there. A row
    depends on the words before it alone: sacreBLEU's cache of rows, and the limit to it, have no part in the result.
    """
    width = high[0] + 0
    if first < 1:
        j = 0
        while j <= rest:
            row[j] = j
            j += 1
    else:
        j = low[first] + 0
        if j > 0:
            row[j - 1] = FAR
        at = width * first
        while j < high[first]:
            row[j] = saved[at]
            at += 1
            j += 1
    i = max(first, 0) + 1
    while i <= size:
        begin = low[i] + 0
        end = high[i] + 0
        if i > 1:
            j = high[i - 1] + 0
            while j < end:
                row[j] = FAR
                j += 1
        word = words[i - 1]
        if begin == 0:
            corner = row[0] + 0
            left = corner + 1
            row[0] = left
            j = 1
        else:
            corner = row[begin - 1] + 0
            left = FAR + 0
            row[begin - 1] = FAR
            j = begin
        while j < end:
            cost = corner + (word != ids[base + j - 1])
            corner = row[j] + 0
            cost = min(cost, corner + 1, left + 1)
            row[j] = cost
            left = cost
            j += 1
        if first < 0:
            at = width * i
            j = begin
            while j < end:
                saved[at] = row[j]
                at += 1
                j += 1
        i += 1
    return row[rest] + 0


@compiled
def counted(words, size, masks, rest, first, rows):
    """The same without a beam, a row in two whole numbers: which cells are one more, and one less, than the cell before
    (Myers 1999, Hyyrö 2003). `masks[w]` says where the reference has the word w."""
    last = rest - 1
    more = -1
    less = 0
    edits = rest + 0
    if first > 0:
        more = rows[0, first]
        less = rows[1, first]
        edits = rows[2, first]
    i = max(first, 0)
    while i < size:
        if first < 0:
            rows[0, i] = more
            rows[1, i] = less
            rows[2, i] = edits
        same = masks[words[i]]
        across = (((same & more) + more) ^ more) | same
        rising = less | ~(across | more)
        falling = more & across
        edits += (rising >> last & 1) - (falling >> last & 1)
        rising = rising << 1 | 1
        same |= less
        more = falling << 1 | ~(same | rising)
        less = rising & same
        i += 1
    return edits


@compiled
def traced(words, size, ids, base, rest, low, high, saved, align, wrong, missing):
    """Of the rows that `distance` kept the way back from the last cell, as sacreBLEU goes: no edit or a substitution
    first, then the output's word dropped, then the reference's put in.

    `align[j]` is the output's word at or before the reference's word j; `wrong` and `missing` mark words of the output
    and of the reference that are no match.
    """
    width = high[0] + 0
    i = size + 0
    j = rest + 0
    while i > 0 or j > 0:
        differs = 1
        both = False
        drop = j == 0
        if i > 0 and j > 0:
            if words[i - 1] == ids[base + j - 1]:
                differs = 0
            corner = j - 1
            above = j + 0
            if i > 1:
                at = width * (i - 1) + j - low[i - 1]
                corner = FAR + 0
                above = FAR + 0
                if j > low[i - 1] and j <= high[i - 1]:
                    corner = saved[at - 1]
                if j >= low[i - 1] and j < high[i - 1]:
                    above = saved[at]
            cost = saved[width * i + j - low[i]]
            both = cost == corner + differs
            drop = cost == above + 1
        if both or drop:
            i -= 1
            wrong[i] = differs
        if both or not drop:
            j -= 1
            missing[j] = differs
            align[j] = i if both else i - 1


@compiled
def shift(words, size, start, length, target, shifted):
    """Where the words begin to change if the `length` words from `start` on go to `target`; from there on the changed
    words are in `shifted`. A target within these words moves them to the right by as many places."""
    begin = start + 0
    middle = start + length
    end = target + 0
    if target < start:
        begin = target + 0
        middle = start + 0
        end = start + length
    elif target <= middle:
        end = min(target + length, size)
    i = begin
    j = middle
    while j < end:
        shifted[i] = words[j]
        i += 1
        j += 1
    j = begin
    while j < middle:
        shifted[i] = words[j]
        i += 1
        j += 1
    while i < size:
        shifted[i] = words[i]
        i += 1
    return begin


@compiled
def ter(ids, starts, outputs, references, masks, places, rows, row, saved, edits):
    """Edits from the text `outputs[p]` to the text `references[p]`, shifts of words among them, to `edits` (p,).

    The search is sacreBLEU's: of the runs of up to ten words that both texts have, the one whose shift saves most edits
    is shifted, again and again, until none saves any or a thousand were tried. Of equals it takes the longest run, then
    the first in the output, then the first target. What cannot change its choice is counted as tried but not computed:
    no shift saves more than two edits for each of its words, and none helps where the texts have different words.

    `masks` (2, words): zeros. `places` (8, words of the longest text + 2), `rows` (3, the same), `row` (the same): room
    for the output as shifted so far, in a trial and in the best one, the limits of rows, the alignment, the rows of
    `counted` and one of `distance`. `saved`: for the pair that needs most, a row more than the output has words, of
    cells as in `bounds`.
    """
    words = places[0]
    shifted = places[1]
    chosen = places[2]
    low = places[3]
    high = places[4]
    align = places[5]
    wrong = places[6]
    missing = places[7]
    shared = masks[0]
    where = masks[1]
    new = BITS - BITS - 1  # not -1, for which Numba would compile what is called with it once more
    p = 0
    while p < len(outputs):
        start = starts[outputs[p]]
        size = starts[outputs[p] + 1] - start
        base = starts[references[p]]
        rest = starts[references[p] + 1] - base
        edits[p] = size + rest
        if size == 0 or rest == 0:
            p += 1
            continue
        outside = bounds(size, rest, low, high)
        i = 0
        while i < rest:
            shared[ids[base + i]] += 1
            if rest <= BITS:
                where[ids[base + i]] |= 1 << i
            i += 1
        least = max(size, rest)
        i = 0
        while i < size:
            words[i] = ids[start + i]
            if shared[words[i]] > 0:
                shared[words[i]] -= 1
                least -= 1
            i += 1
        shifts = 0
        tried = 0
        while True:
            before = FAR + 0
            if rest <= BITS:
                before = counted(words, size, where, rest, new, rows)
            if before > least or before >= outside:  # for the way back too
                before = distance(words, size, ids, base, rest, new, low, high, row, saved)
            edits[p] = shifts + before
            if before <= least:
                break
            traced(words, size, ids, base, rest, low, high, saved, align, wrong, missing)
            best = 0
            longest = SHIFT_SIZE + 1
            source = 0
            target = 0
            h = new + 1
            while h < size and tried < CANDIDATES:
                r = max(h - SHIFT_DISTANCE, 0)
                end = min(h + SHIFT_DISTANCE + 1, rest)
                while r < end and tried < CANDIDATES:
                    length = 0
                    errors = 0
                    misses = 0
                    while (
                        h + length < size
                        and r + length < rest
                        and words[h + length] == ids[base + r + length]
                        and length < SHIFT_SIZE
                        and tried < CANDIDATES
                    ):
                        errors += wrong[h + length]
                        misses += missing[r + length]
                        length += 1
                        if errors == 0 or misses == 0 or (align[r] >= h and align[r] < h + length):
                            continue
                        most = before - least
                        if before < outside:
                            most = min(most, 2 * length)
                        last = -1
                        i = r - 1
                        while i < r + length:
                            to = 0
                            if i >= 0:
                                to = align[i] + 1
                            i += 1
                            if to == last:
                                continue
                            last = to
                            tried += 1
                            enough = best + 1
                            if length > longest or (
                                length == longest and (h < source or (h == source and to < target))
                            ):
                                enough = best + 0
                            if most < enough:
                                continue
                            begin = shift(words, size, h, length, to, shifted)
                            after = FAR + 0
                            if rest <= BITS:
                                after = counted(shifted, size, where, rest, begin, rows)
                            if after >= outside:
                                after = distance(shifted, size, ids, base, rest, begin, low, high, row, saved)
                            if before - after >= enough:
                                best = before - after
                                longest = length + 0
                                source = h + 0
                                target = to
                                j = 0
                                while j < size:
                                    chosen[j] = words[j] if j < begin else shifted[j]
                                    j += 1
                    r += 1
                h += 1
            if tried >= CANDIDATES or best == 0:
                break
            shifts += 1
            i = 0
            while i < size:
                words[i] = chosen[i]
                i += 1
        i = 0
        while i < rest:
            shared[ids[base + i]] = 0
            where[ids[base + i]] = 0
            i += 1
        p += 1
