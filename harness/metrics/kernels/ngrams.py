"""N-grams that texts share."""
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import numpy as np

from harness.compiled import compiled
from harness.metrics.kernels.tokens import MIX, ONE

U = np.uint64
"""Places are unsigned: see `tokens.ONE`."""


@compiled
def overlap(ids, starts, outputs, first, weights, words, table, scratch, grams, matches, totals):
    """Clipped n-gram matches of an output with references, orders 1 to `matches.shape[1]`.

    Group g compares the text `outputs[g]` with the texts `first[g]` to `first[g + 1] - 1`, whose counts are merged by
    their maximum; `totals` (g, order) counts the merged n-grams, and the matches go to `matches` (g, order). A match of
    order n counts 1, or `weights[n - 1]` of the token where the n-gram begins in a reference, where there are weights.

    An n-gram is the pair of the id of its first n - 1 tokens and its last token; it is looked at only where the
    (n - 1)-grams that it begins and ends with both match. `words`: zeros, one for each word. Of the references of a
    group with the most tokens, m of them: `table` has at least 8 cells and the power of two above 2 m, `scratch` is
    (7, m). `grams` is (2, 1 + the tokens of the largest group, output included).
    """
    # words: what was met before this group, or `offset` and the id of a word of the references
    # table: 0, or 1 + the id of an n-gram of the references
    keys = scratch[0]
    place = scratch[1]  # where the n-gram begins
    seen = scratch[2]  # the last reference that has it
    count = scratch[3]  # how often that one has it
    most = scratch[4]  # how often any one has it
    used = scratch[5]  # how often the output has it
    matched = scratch[6]
    gram_at = grams[0]  # the n-gram that begins at each token, -1 where none matches; the output, then the references
    waiting = grams[1]  # the tokens where one of the next order may match, in their order
    orders = matches.shape[1]
    offset = 1
    g = 0
    while g < len(outputs):
        start = starts[outputs[g]]
        size = starts[outputs[g] + 1] - start
        base = starts[first[g]] - size
        end = starts[first[g + 1]] - base
        single = first[g + 1] - first[g] == 1
        mine = size  # how many wait, of the output and of the references
        theirs = end - size
        n = 0
        while n < orders:
            mask = np.uint64(7)
            if n:
                while mask < 2 * theirs:
                    mask = mask + mask + ONE
                at = ONE - ONE
                while at <= mask:
                    table[at] = 0
                    at += ONE
            distinct = 0
            total = 0
            t = first[g]
            after = starts[t + 1] - base
            p = size
            while p < size + theirs:
                i = waiting[U(p)] if n and single else p
                p += 1
                while i >= after:
                    t += 1
                    after = starts[t + 1] - base
                if i + n >= after:
                    continue
                if n:
                    key = gram_at[U(i)] << 32 | ids[U(base + i + n)]
                    at = np.uint64(key * MIX >> 31) & mask
                    gram = table[at] - 1
                    while gram >= 0 and keys[U(gram)] != key:
                        at = (at + ONE) & mask
                        gram = table[at] - 1
                    if gram < 0:
                        table[at] = distinct + 1
                        keys[U(distinct)] = key
                else:
                    gram = words[U(ids[U(base + i)])] - offset
                    if gram < 0:
                        words[U(ids[U(base + i)])] = offset + distinct
                if gram < 0:
                    gram = distinct
                    distinct += 1
                    place[U(gram)] = base + i
                    seen[U(gram)] = -1
                    most[U(gram)] = 0
                    used[U(gram)] = 0
                if single:
                    most[U(gram)] += 1
                else:
                    if seen[gram] != t:
                        seen[gram] = t
                        count[gram] = 0
                    count[gram] += 1
                    if count[gram] > most[gram]:
                        most[U(gram)] += 1
                        total += 1
                gram_at[U(i)] = gram
            common = 0
            hits = 0
            p = 0
            while p < mine:
                i = waiting[U(p)] if n else p
                p += 1
                if n:
                    key = gram_at[U(i)] << 32 | ids[U(start + i + n)]
                    at = np.uint64(key * MIX >> 31) & mask
                    gram = table[at] - 1
                    while gram >= 0 and keys[U(gram)] != key:
                        at = (at + ONE) & mask
                        gram = table[at] - 1
                else:
                    gram = words[U(ids[U(start + i)])] - offset
                    if gram < 0:
                        gram = -1
                gram_at[U(i)] = gram
                if gram >= 0:
                    matched[U(common)] = gram
                    common += not used[U(gram)]
                    hits += used[U(gram)] < most[U(gram)]
                    used[U(gram)] += 1
            if len(weights):
                i = 0
                while i < common:
                    gram = matched[i]
                    clipped = most[gram]
                    if used[gram] < clipped:
                        clipped = used[gram]
                    matches[g, n] += weights[n, place[gram]] * clipped
                    i += 1
            else:
                matches[g, n] = hits
            if not n:
                offset += distinct
            totals[g, n] = max(end - size - n, 0) if single else total
            n += 1
            if n < orders:
                if single:  # of several references every n-gram is counted
                    p = size
                    while p < size + theirs:
                        i = U(waiting[U(p)] if n > 1 else p)
                        gram_at[i] = gram_at[i] if used[U(gram_at[i])] else -1
                        p += 1
                    theirs = _kept(gram_at, waiting, size, theirs, end - n, n > 1)
                mine = _kept(gram_at, waiting, 0, mine, size - n, n > 1)
            if single and not common:
                while n < orders:
                    totals[g, n] = max(end - size - n, 0)
                    n += 1
        g += 1


@compiled
def _kept(gram_at, waiting, begin, number, last, again):
    """How many of the `number` tokens that wait, from `begin` on, go on waiting: those before `last` whose n-gram
    matches, and that of the next token too. The others have no n-gram any more. The first time, not `again`, all
    tokens wait."""
    kept = begin
    p = begin
    while p < begin + number:
        i = waiting[U(p)] if again else p
        p += 1
        both = gram_at[U(i)] | gram_at[U(i + 1)] | (last - 1 - i)
        waiting[U(kept)] = i
        kept += both >= 0
        gram_at[U(i)] |= both >> 63
    return kept - begin
