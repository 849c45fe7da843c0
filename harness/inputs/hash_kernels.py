"""SipHash-2-4 with 128 bits (Aumasson and Bernstein 2012), of many texts at once."""

from __future__ import annotations

from typing import Any

import numpy as np

from harness.compiled import compiled

ONE, EIGHT = np.uint64(1), np.uint64(8)


@compiled
def siphash(data: Any, offsets: Any, low: Any, high: Any, hashes: Any) -> None:
    """Fills hashes (n, 2): of text i, `data[offsets[i]:offsets[i + 1]]`, under the key (low, high)."""
    for i in range(len(offsets) - 1):
        start, end = np.uint64(offsets[i]), np.uint64(offsets[i + 1])
        v0 = low ^ np.uint64(0x736F6D6570736575)
        v1 = high ^ np.uint64(0x646F72616E646F6D) ^ np.uint64(0xEE)
        v2 = low ^ np.uint64(0x6C7967656E657261)
        v3 = high ^ np.uint64(0x7465646279746573)
        size = end - start
        at = start
        while at + EIGHT <= end:
            word = np.uint64(data[at])
            for j in range(1, 8):
                word |= np.uint64(data[at + np.uint64(j)]) << np.uint64(8 * j)
            at += EIGHT
            v3 ^= word
            v0, v1, v2, v3 = _round(v0, v1, v2, v3)
            v0, v1, v2, v3 = _round(v0, v1, v2, v3)
            v0 ^= word
        word = size << np.uint64(56)
        shift = np.uint64(0)
        while at < end:
            word |= np.uint64(data[at]) << shift
            shift += EIGHT
            at += ONE
        v3 ^= word
        v0, v1, v2, v3 = _round(v0, v1, v2, v3)
        v0, v1, v2, v3 = _round(v0, v1, v2, v3)
        v0 ^= word
        v2 ^= np.uint64(0xEE)
        for _ in range(4):
            v0, v1, v2, v3 = _round(v0, v1, v2, v3)
        hashes[i, 0] = v0 ^ v1 ^ v2 ^ v3
        v1 ^= np.uint64(0xDD)
        for _ in range(4):
            v0, v1, v2, v3 = _round(v0, v1, v2, v3)
        hashes[i, 1] = v0 ^ v1 ^ v2 ^ v3


@compiled
def _round(v0: Any, v1: Any, v2: Any, v3: Any) -> Any:
    v0 += v1
    v1 = (v1 << np.uint64(13)) | (v1 >> np.uint64(51))
    v1 ^= v0
    v0 = (v0 << np.uint64(32)) | (v0 >> np.uint64(32))
    v2 += v3
    v3 = (v3 << np.uint64(16)) | (v3 >> np.uint64(48))
    v3 ^= v2
    v0 += v3
    v3 = (v3 << np.uint64(21)) | (v3 >> np.uint64(43))
    v3 ^= v0
    v2 += v1
    v1 = (v1 << np.uint64(17)) | (v1 >> np.uint64(47))
    v1 ^= v2
    v2 = (v2 << np.uint64(32)) | (v2 >> np.uint64(32))
    return v0, v1, v2, v3
