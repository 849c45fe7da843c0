"""N-grams that texts share."""
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import numpy as np

from harness.compiled import compiled
from harness.metrics.kernels.tokens import MIX, ONE


@compiled
def overlap(ids, starts, outputs, first, weights, words, table, scratch, grams, matches, totals):
    """Clipped n-gram matches of an output with references, orders 1 to `matches.shape[1]`.

    Group g compares the text `outputs[g]` with the texts `first[g]` to `first[g + 1] - 1`, whose counts are merged by
    their maximum; `totals` (g, order) counts the merged n-grams, and the matches go to `matches` (g, order). A match of
    order n counts 1, or `weights[n - 1]` of the token where the n-gram begins in a reference, where there are weights.

    An n-gram is the pair of the id of its first n - 1 tokens and its last token; what cannot match is not looked at
    again. `words`: zeros, one for each word. Of the references of a group with the most tokens, m of them: `table` has
    at least 8 cells and the power of two above 2 m, `scratch` is (7, m). `grams` has a cell for each token of the
    largest group, output included.
    """
    # words: what was met before this group, or `offset` and the id of a word of the references
    # table: 0, or 1 + the id of an n-gram of the references
    # grams: the n-gram at each position, -1 where it cannot match
    keys = scratch[0]
    place = scratch[1]  # where the n-gram begins
    seen = scratch[2]  # the last reference that has it
    count = scratch[3]  # how often that one has it
    most = scratch[4]  # how often any one has it
    used = scratch[5]  # how often the output has it
    matched = scratch[6]
    orders = matches.shape[1]
    offset = 1
    g = 0
    while g < len(outputs):
        start = starts[outputs[g]]
        size = starts[outputs[g] + 1] - start
        base = starts[first[g]]
        rest = starts[first[g + 1]] - base
        single = first[g + 1] - first[g] == 1
        alive = rest  # places of the references where an n-gram may still match
        n = 0
        while n < orders:
            mask = np.uint64(7)
            if n:
                while mask < 2 * alive:
                    mask = mask + mask + ONE
                at = ONE - ONE
                while at <= mask:
                    table[at] = 0
                    at += ONE
            distinct = 0
            total = 0
            t = first[g]
            while t < first[g + 1]:
                i = starts[t]
                while i < starts[t + 1] - n:
                    prefix = grams[size + i - base] if n else 0
                    if prefix >= 0:
                        if n:
                            key = prefix << 32 | ids[i + n]
                            at = np.uint64(key * MIX >> 31) & mask
                            gram = table[at] - 1
                            while gram >= 0 and keys[gram] != key:
                                at = (at + ONE) & mask
                                gram = table[at] - 1
                            if gram < 0:
                                table[at] = distinct + 1
                                keys[distinct] = key
                        else:
                            gram = words[ids[i]] - offset
                            if gram < 0:
                                words[ids[i]] = offset + distinct
                        if gram < 0:
                            gram = distinct
                            distinct += 1
                            place[gram] = i
                            seen[gram] = -1
                            most[gram] = 0
                            used[gram] = 0
                        if single:
                            most[gram] += 1
                        else:
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
            hits = 0
            i = 0
            while i < size - n:
                prefix = grams[i] if n else 0
                if prefix >= 0:
                    if n:
                        key = prefix << 32 | ids[start + i + n]
                        at = np.uint64(key * MIX >> 31) & mask
                        gram = table[at] - 1
                        while gram >= 0 and keys[gram] != key:
                            at = (at + ONE) & mask
                            gram = table[at] - 1
                    else:
                        gram = words[ids[start + i]] - offset
                        if gram < 0:
                            gram = -1
                    grams[i] = gram
                    if gram >= 0:
                        matched[common] = gram
                        common += not used[gram]
                        hits += used[gram] < most[gram]
                        used[gram] += 1
                i += 1
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
            if single:  # the reference's own count needs no counting
                if rest > n:
                    totals[g, n] = rest - n
                alive = 0
                i = size
                while i < size + rest and common and n + 1 < orders:
                    if grams[i] >= 0:
                        if used[grams[i]]:
                            alive += 1
                        else:
                            grams[i] = -1
                    i += 1
            else:
                totals[g, n] = total
            n += 1
            if single and not common:
                while n < orders:
                    if rest > n:
                        totals[g, n] = rest - n
                    n += 1
        g += 1
