"""The n-grams of a whole data set, and what is known of each: NIST's weights."""
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import numpy as np

from harness.compiled import compiled
from harness.metrics.kernels.tokens import MIX, ONE


@compiled
def collect(ids, starts, n, grams, counts, keys, slots, state):
    """Numbers the n-grams of texts and counts them, n from 2 on; only those whose first n - 1 words occur again.

    `grams[i]` is the number of the (n - 1)-gram at token i, then of the n-gram, -1 where there is none. N-gram g of
    whatever order occurs `counts[g]` times, and `keys[g]` is the pair of the number of its first words and its last
    word. `slots`: a power of two, more than twice as many as there are keys; 0, or 1 + a number. `state`: the text to
    begin with, and how many n-grams are known; it stops at a text for which there may be too few keys.
    """
    mask = np.uint64(len(slots) - 1)
    t = state[0] + 0
    known = state[1] + 0
    while t < len(starts) - 1 and known + starts[t + 1] - starts[t] <= len(keys):
        i = starts[t] + 0
        while i <= starts[t + 1] - n:
            prefix = grams[i] + 0
            if prefix >= 0:
                gram = -1
                if counts[prefix] > 1:
                    key = prefix << 32 | ids[i + n - 1]
                    at = np.uint64(key * MIX >> 31) & mask
                    gram = slots[at] - 1
                    while gram >= 0 and keys[gram] != key:
                        at = (at + ONE) & mask
                        gram = slots[at] - 1
                    if gram < 0:
                        gram = known
                        known += 1
                        slots[at] = known
                        keys[gram] = key
                    counts[gram] += 1
                grams[i] = gram
            i += 1
        t += 1
    state[0] = t
    state[1] = known


@compiled
def place(keys, first, last, slots):
    """Puts the keys `first` to `last - 1` into `slots`, as `collect` does."""
    mask = np.uint64(len(slots) - 1)
    gram = first + 0
    while gram < last:
        at = np.uint64(keys[gram] * MIX >> 31) & mask
        while slots[at] > 0:
            at = (at + ONE) & mask
        gram += 1
        slots[at] = gram


@compiled
def look_up(ids, starts, first, keys, slots, information, weights):
    """Writes to `weights` (order, tokens) the information of the n-grams that begin at each token of the texts from
    `first` on, as far as `collect` has found them; ids are those it was given, -1 for other words."""
    mask = np.uint64(len(slots) - 1)
    t = first + 0
    while t < len(starts) - 1:
        i = starts[t] + 0
        while i < starts[t + 1]:
            gram = ids[i] + 0
            n = 0
            while gram >= 0:
                weights[n, i] = information[gram]
                n += 1
                if n == len(weights) or i + n == starts[t + 1] or ids[i + n] < 0:
                    break
                key = gram << 32 | ids[i + n]
                at = np.uint64(key * MIX >> 31) & mask
                gram = slots[at] - 1
                while gram >= 0 and keys[gram] != key:
                    at = (at + ONE) & mask
                    gram = slots[at] - 1
            i += 1
        t += 1
