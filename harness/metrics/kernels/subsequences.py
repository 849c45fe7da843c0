"""Longest common subsequences, by the rules of rouge-score and of ROUGE-1.5.5."""
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from harness.compiled import compiled

BITS = 62
"""Cells of a table that are worked on at once: a whole number with room for the carry."""
FULL = (1 << BITS) - 1
ROWS = 256
"""Rows of the table that `union_lcs` keeps at a time."""


@compiled
def lcs(ids, starts, first, second, masks, carries, lengths):
    """Length of the longest common subsequence of the texts `first[p]` and `second[p]`, added to `lengths` (p,).

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
                lengths[p] += 1 - (row >> (i - block) & 1)
                i += 1
            block = last
        p += 1


@compiled
def union_lcs(ids, starts, outputs, references, left, right, places, masks, rows, marked, hits):
    """Hits of ROUGE-Lsum as rouge-score counts them, added to `hits` (p,).

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
    while p < len(hits):
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
                    hits[p] += 1
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


@compiled
def mark(a, ends, b, others, worth, best, run, up, marked):
    """Of ROUGE-1.5.5's L and W: sets `marked` to 1 where a word of `a` lies on the best common subsequence of its line
    with any line of `b`.

    `ends` and `others` say where the lines of `a` and `b` end. `worth[k]` is the weight of a run of k; where it is k,
    this is the plain longest common subsequence. The script's choice among equals: from the ends of the lines, equal
    words are always taken; otherwise the reference's word is dropped, unless that loses weight. The moves of `len(up)`
    rows are kept. A longer line is gone through forwards to keep the row above each block in `best` and `run`, then
    backwards, block by block. The last row is the current one.
    """
    size = len(up)
    now = len(best) - 1
    start = 0
    for end in ends:
        first = 0
        for last in others:
            blocks = (end - start + size - 1) // size
            forwards = blocks > 1
            block = blocks if forwards else 0
            x = first
            while x <= last:
                best[0, x - first] = best[now, x - first] = 0.0
                run[0, x - first] = run[now, x - first] = 0
                x += 1
            i = end
            j = last
            while block >= 0:
                top = y = start if forwards else start + block * size
                while y < end and (forwards or y < top + size):
                    row = (y - start) % size
                    if row == 0:
                        source = now if forwards else block
                        target = (y - start) // size if forwards else now
                        x = 0
                        while x <= last - first:
                            best[target, x] = best[source, x]
                            run[target, x] = run[source, x]
                            x += 1
                    word = a[y]
                    corner = left = 0.0
                    length = 0
                    x = 0
                    while x < last - first:
                        above = best[now, x + 1]
                        straight = run[now, x + 1]
                        if word == b[first + x]:
                            left = corner + worth[length + 1] - worth[length]
                            run[now, x + 1] = length + 1
                        else:
                            run[now, x + 1] = 0
                            up[row, x] = above >= left
                            if above >= left:
                                left = above
                        best[now, x + 1] = left
                        corner = above
                        length = straight
                        x += 1
                    y += 1
                while not forwards and i > top and j > first:
                    if a[i - 1] == b[j - 1]:
                        i -= 1
                        j -= 1
                        marked[i] = 1
                    elif up[(i - 1 - start) % size, j - 1 - first]:
                        i -= 1
                    else:
                        j -= 1
                forwards = False
                block -= 1
            first = last
        start = end
