"""Compiled kernels: UTF-8 text to token ids, and counts of what two texts share.

Every kernel works on whole columns (Arrow's layout: one buffer and offsets) and releases the interpreter's lock, so
that chunks run on all cores. Counts are exact: tokens are compared character by character, n-grams by the ids of their
parts, never by a hash alone. `harness.metrics.columns` calls the kernels and gives them their arrays.

Numba compiles a kernel when it is first called and keeps it on disk. What it compiles is kept plain for that reason
(whole numbers of one kind, loops, no allocation): it takes half the time of the idiomatic form, see
docs/decisions/0005.
"""
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit

SPACE = 1
ALONE = 2
DIGIT = 4
POINT = 8
DASH = 16
EDGE = 32
MARKS = ALONE | POINT | DASH
"""Classes of characters; what they do is said in `split`."""
BITS = 62
"""Cells of a table that are worked on at once: a whole number with room for the carry."""
ROWS = 256
"""Rows of the table that `union_lcs` keeps at a time."""
FULL = (1 << BITS) - 1
MIX = 0x1E3779B97F4A7C15
PRIME = 0x100000001B3


def _compiled(function: Callable[..., Any]) -> Any:
    try:
        return njit(cache=True, nogil=True, error_model="numpy")(function)
    except RuntimeError:  # neither the package's folder nor the user's cache can be written: compile in every process
        return njit(nogil=True, error_model="numpy")(function)


@_compiled
def decode(data, offsets, classes, fold, drop, codes, kinds, gap, points, bounds):
    """UTF-8 texts (`data`, `offsets` (n + 1)) to code points: text i begins at `codes[bounds[0, i]]`.

    `kinds` is each one's class; `points` lists where there is a POINT or DASH, those of text i from `bounds[1, i]` on.
    `fold` lower-cases what becomes an ASCII letter. `gap` says that a space stands before a character: around what is
    ALONE, and for the mark that İ is lower-cased to. Unless `drop` leaves white space out, one cell stays free after
    each text, so that a gap after its last character is its own.
    """
    size = 0
    marks = 0
    t = 0
    while t < len(offsets) - 1:
        bounds[0, t] = size
        bounds[1, t] = marks
        i = offsets[t]
        end = offsets[t + 1]
        while i < end:
            c = data[i] + 0
            i += 1
            if c >= 0x80:
                if c < 0xE0:
                    c &= 0x1F
                elif c < 0xF0:
                    c &= 0x0F
                else:
                    c &= 0x07
                while i < end and data[i] & 0xC0 == 0x80:
                    c = c << 6 | data[i] & 0x3F
                    i += 1
                if fold:
                    if c == 0x130:  # lower case: i with a combining dot
                        c = 105
                        gap[size + 1] = 1
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
                    gap[size + 1] = 1
                else:
                    points[marks] = size
                    marks += 1
            codes[size] = c
            kinds[size] = kind
            size += 1
        if not drop:
            kinds[size] = SPACE
            size += 1
        t += 1
    bounds[0, t] = size
    bounds[1, t] = marks


@_compiled
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
        # points after what is no digit; a character that a match consumed takes part in no other
        last = -1
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
        # points before what is no digit
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
        i = low
        while i < high:
            if kinds[i] & SPACE:
                i += 1
                continue
            first = i
            i += 1
            while not (kinds[i] & SPACE or gap[i]):  # the cell after the text is a space
                i += 1
            length = i - first
            if edges and length > 1:
                if kinds[i - 1] & EDGE:
                    length -= 1
                elif kinds[first] & EDGE:
                    length = 1
                if length < i - first:
                    firsts[made] = first
                    lengths[made] = length
                    made += 1
                    first += length
                    length = i - first
            firsts[made] = first
            lengths[made] = length
            made += 1
        t += 1
    starts[t] = made


@_compiled
def number(codes, firsts, lengths, ids, slots, hashes, words, sizes):
    """Tokens to ids (in `ids`) and how many there are; id w is spelt `sizes[w]` characters from `words[w]` on.

    `slots`: zeros, a power of two, more than the tokens.
    """
    known = 0
    mask = len(slots) - 1
    j = 0
    while j < len(firsts):
        first = firsts[j] + 0
        length = lengths[j] + 0
        code = length + 0
        i = first
        while i < first + length:
            code = code * PRIME ^ codes[i]
            i += 1
        code ^= code >> 29
        at = code & mask
        word = slots[at] - 1
        while word >= 0:
            if hashes[word] == code and sizes[word] == length:
                other = words[word] - first
                i = first
                while i < first + length and codes[other + i] == codes[i]:
                    i += 1
                if i == first + length:
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


@_compiled
def overlap(ids, starts, outputs, first, weights, scratch, matches, totals):
    """Clipped n-gram matches of an output with references, orders 1 to `matches.shape[1]`.

    Group g compares the text `outputs[g]` with the texts `first[g]` to `first[g + 1] - 1`, whose counts are merged by
    their maximum; `totals` (g, order) counts the merged n-grams, and the matches go to `matches` (g, order). A match of
    order n counts 1, or `weights[n - 1]` of the token where the n-gram begins in a reference, where there are weights.

    An n-gram is the pair of the id of its first n - 1 tokens and its last token; what cannot match is not looked at
    again. `scratch` is (9, m), m at least 8 and the power of two above twice the tokens of the largest group.
    """
    table = scratch[0]  # 0, or 1 + the id of an n-gram of the references
    keys = scratch[1]
    place = scratch[2]  # where the n-gram begins
    seen = scratch[3]  # the last reference that has it
    count = scratch[4]  # how often that one has it
    most = scratch[5]  # how often any one has it
    used = scratch[6]  # how often the output has it
    matched = scratch[7]
    grams = scratch[8]  # the (n - 1)-gram at each position, -1 where it cannot match
    g = 0
    while g < len(outputs):
        start = starts[outputs[g]]
        size = starts[outputs[g] + 1] - start
        base = starts[first[g]]
        rest = starts[first[g + 1]] - base
        single = first[g + 1] - first[g] == 1
        mask = 7
        while mask < 2 * rest:
            mask = 2 * mask + 1
        i = 0
        while i < size + rest:
            grams[i] = 0
            i += 1
        n = 0
        while n < matches.shape[1]:
            i = 0
            while i <= mask:
                table[i] = 0
                i += 1
            distinct = 0
            total = 0
            t = first[g]
            while t < first[g + 1]:
                i = starts[t]
                while i < starts[t + 1] - n:
                    prefix = grams[size + i - base]
                    if prefix >= 0:
                        key = prefix << 32 | ids[i + n]
                        at = (key * MIX >> 31) & mask
                        gram = table[at] - 1
                        while gram >= 0 and keys[gram] != key:
                            at = (at + 1) & mask
                            gram = table[at] - 1
                        if gram < 0:
                            gram = distinct
                            distinct += 1
                            table[at] = distinct
                            keys[gram] = key
                            place[gram] = i
                            seen[gram] = -1
                            most[gram] = 0
                            used[gram] = 0
                        if seen[gram] != t:
                            seen[gram] = t
                            count[gram] = 0
                        count[gram] += 1
                        if count[gram] > most[gram]:
                            most[gram] += 1
                            total += 1
                        grams[size + i - base] = gram
                    i += 1
                t += 1
            common = 0
            i = 0
            while i < size - n:
                prefix = grams[i]
                if prefix >= 0:
                    key = prefix << 32 | ids[start + i + n]
                    at = (key * MIX >> 31) & mask
                    gram = table[at] - 1
                    while gram >= 0 and keys[gram] != key:
                        at = (at + 1) & mask
                        gram = table[at] - 1
                    grams[i] = gram
                    if gram >= 0:
                        if not used[gram]:
                            matched[common] = gram
                            common += 1
                        used[gram] += 1
                i += 1
            i = 0
            while i < common:
                gram = matched[i]
                hits = most[gram]
                if used[gram] < hits:
                    hits = used[gram]
                if len(weights):
                    matches[g, n] += weights[n, place[gram]] * hits
                else:
                    matches[g, n] += hits
                i += 1
            if single:  # the reference's own count needs no counting
                if rest > n:
                    totals[g, n] = rest - n
                i = size
                while i < size + rest:
                    if grams[i] >= 0 and not used[grams[i]]:
                        grams[i] = -1
                    i += 1
            else:
                totals[g, n] = total
            n += 1
        g += 1


@_compiled
def lcs(ids, starts, first, second, masks, carries, found):
    """Length of the longest common subsequence of the texts `first[p]` and `second[p]`, added to `found` (p,).

    Bit-parallel (Hyyrö 2004), 62 tokens of one text at a time against all of the other; the carries between these
    blocks are kept, so that memory grows with the length and not with its square. `masks` and `carries`: zeros, one for
    each word, and one for each token of the longest text.
    """
    p = 0
    while p < len(first):
        block = starts[first[p]]
        end = starts[first[p] + 1]
        low = starts[second[p]]
        high = starts[second[p] + 1]
        j = low
        while j < high:
            carries[j - low] = 0
            j += 1
        while block < end and low < high:
            last = block + BITS
            if last > end:
                last = end
            i = block
            while i < last:
                masks[ids[i]] |= 1 << (i - block)
                i += 1
            row = FULL + 0
            j = low
            while j < high:
                hit = row & masks[ids[j]]
                total = row + hit + carries[j - low]
                carries[j - low] = total >> BITS
                row = (total | (row - hit)) & FULL
                j += 1
            i = block
            while i < last:
                masks[ids[i]] = 0
                found[p] += 1 - (row >> (i - block) & 1)
                i += 1
            block = last
        p += 1


@_compiled
def union_lcs(ids, starts, outputs, references, left, right, places, masks, rows, marked, found):
    """Hits of ROUGE-Lsum as rouge-score counts them, added to `found` (p,).

    Pair p has the output's lines `outputs[p]` to `outputs[p + 1] - 1` and the reference's likewise. For each reference
    line the union over the output's lines of one longest common subsequence each, a token counting no more often than
    both texts have it. Which of several longest ones is rouge-score's choice: from the end, where the two tokens
    differ, it drops the output's one if dropping the reference's would lose a match, else the reference's. That is one
    bit of the rows of the bit-parallel algorithm. Rows are kept for 256 tokens at a time and made again from the
    checkpoint before.

    `left`, `right`, `places`: zeros, one for each word; `masks` (tokens of the longest reference line + 1, blocks);
    `rows` (256 + 2 + checkpoints, blocks); `marked`: zeros, one for each token of the longest line.
    """
    p = 0
    while p < len(found):
        i = starts[outputs[2 * p]]
        while i < starts[outputs[2 * p + 1]]:
            left[ids[i]] += 1
            i += 1
        i = starts[references[2 * p]]
        while i < starts[references[2 * p + 1]]:
            right[ids[i]] += 1
            i += 1
        r = references[2 * p]
        while r < references[2 * p + 1]:
            base = starts[r]
            size = starts[r + 1] - base
            blocks = (size + BITS - 1) // BITS
            distinct = 0
            i = 0
            while i < size:
                if not places[ids[base + i]]:
                    distinct += 1
                    places[ids[base + i]] = distinct
                    w = 0
                    while w < blocks:
                        masks[distinct, w] = 0
                        w += 1
                masks[places[ids[base + i]], i // BITS] |= 1 << (i % BITS)
                i += 1
            c = outputs[2 * p]
            while c < outputs[2 * p + 1] and size:
                begin = starts[c]
                width = starts[c + 1] - begin
                stretches = width // ROWS + 1
                i = size
                # once forward to keep every 256th row, then backward, a stretch of 256 at a time
                stretch = -1
                while stretch < stretches:
                    low = 0
                    high = width
                    source = ROWS + 1 + stretches  # where the row before the first comes from
                    if stretch >= 0:
                        low = (stretches - 1 - stretch) * ROWS
                        if low + ROWS < high:
                            high = low + ROWS
                        source = ROWS + 1 + low // ROWS
                    w = 0
                    while w < blocks:
                        rows[0, w] = rows[source, w] if stretch >= 0 else FULL
                        w += 1
                    at = 0
                    j = low
                    while j <= high:
                        if stretch < 0 and j % ROWS == 0:
                            w = 0
                            while w < blocks:
                                rows[ROWS + 1 + j // ROWS, w] = rows[at, w]
                                w += 1
                        if j == high:
                            break
                        after = 0
                        if stretch >= 0:
                            after = at + 1
                        mine = places[ids[begin + j]]
                        carry = 0
                        w = 0
                        while w < blocks:
                            old = rows[at, w]
                            hit = old & masks[mine, w]
                            total = old + hit + carry
                            carry = total >> BITS
                            rows[after, w] = (total | (old - hit)) & FULL
                            w += 1
                        at = after
                        j += 1
                    while stretch >= 0 and i > 0 and j > low:
                        if ids[base + i - 1] == ids[begin + j - 1]:
                            i -= 1
                            j -= 1
                            marked[i] = 1
                        elif rows[j - low, (i - 1) // BITS] >> ((i - 1) % BITS) & 1:
                            i -= 1
                        else:
                            j -= 1
                    stretch += 1
                c += 1
            i = 0
            while i < size:
                token = ids[base + i]
                places[token] = 0
                if marked[i] and left[token] > 0 and right[token] > 0:
                    left[token] -= 1
                    right[token] -= 1
                    found[p] += 1
                marked[i] = 0
                i += 1
            r += 1
        i = starts[outputs[2 * p]]
        while i < starts[outputs[2 * p + 1]]:
            left[ids[i]] = 0
            i += 1
        i = starts[references[2 * p]]
        while i < starts[references[2 * p + 1]]:
            right[ids[i]] = 0
            i += 1
        p += 1
