"""Values that are there while an example that holds them is."""
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import numpy as np

from harness.compiled import compiled

BITS = 64


@compiled
def present_values(present, starts, examples, masks, sums, counts):
    """Fills counts (r,): how many values are held by an example that is present (r, n).

    Value v is held by `examples[starts[v]:starts[v + 1]]`. Sixty-four rows of `present` are looked at together, a bit
    each: the search ends where the value is there in all of them. `masks` (n,) and `sums` (BITS,) are room.
    """
    for base in range(0, len(counts), BITS):
        rows = min(BITS, len(counts) - base)
        masks[:] = 0
        for r in range(rows):
            for i in range(present.shape[1]):
                masks[i] |= np.uint64(present[base + r, i]) << np.uint64(r)
        everywhere = np.uint64(0xFFFFFFFFFFFFFFFF) >> np.uint64(BITS - rows)
        sums[:] = 0
        for v in range(len(starts) - 1):
            mask = np.uint64(0)
            for i in range(starts[v], starts[v + 1]):
                mask |= masks[examples[i]]
                if mask == everywhere:
                    break
            for r in range(BITS):
                sums[r] += np.int64((mask >> np.uint64(r)) & np.uint64(1))
        for r in range(rows):
            counts[base + r] = sums[r]
