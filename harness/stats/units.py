"""What is drawn: examples, clusters, or buckets of them where there are more than resampling needs.

Resampling a million examples ten thousand times draws ten billion numbers; what is wanted of them, the spread of a
score, is as good from some thousand sums. So beyond `START` units each goes into a bucket by a seeded hash of its name
(an example's id, a cluster's value), the rows of a bucket are summed, and buckets are drawn. An example is in the same
bucket in every system and on every machine, a cluster stays whole, and a stratum has buckets of its own, as many as its
share of the units, or its units themselves where it has few.

How wide intervals are then, and how often they hold: `python -m benchmarks.units` (docs/statistics.md).

>>> into_buckets(np.array([10, 3]), np.arange(13, dtype=np.uint64), most=4, least=2)
array([ 0,  1,  2,  0,  1,  2,  0,  1,  2,  0, 10, 11, 10])
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.inputs import arrow
from harness.inputs.choices import BUCKETS, SEED, UNITS
from harness.types import HarnessError, Texts

START = 65_536
"""Units up to which `auto` draws each by itself."""
LEAST = 1_024
"""Buckets that a stratum has at least; one with no more units than that keeps them."""


@dataclass(frozen=True)
class Units:
    """What is drawn: `examples` (or clusters) always, `buckets` of them always, or `auto`: buckets beyond `START`."""

    kind: str = "auto"
    buckets: int = BUCKETS
    seed: int = SEED

    @classmethod
    def of_config(cls, stats: Any, seed: int) -> Units:
        """As the `stats` group of a stored config says; by default where it says nothing that can be meant."""
        stored = stats if isinstance(stats, dict) else {}
        units = cls(stored.get("units", "auto"), stored.get("buckets", BUCKETS), seed)
        try:
            units.check()
        except HarnessError:
            return cls(seed=seed)
        return units

    def check(self) -> None:
        if self.kind not in UNITS:
            raise HarnessError(f"stats.units={self.kind}; expected one of {', '.join(UNITS)}")
        if type(self.buckets) is not int or not LEAST <= self.buckets <= START:
            raise HarnessError(f"stats.buckets={self.buckets}; expected {LEAST} to {START}")

    def bucketed(self, units: int) -> bool:
        """Whether so many units go into buckets."""
        return units > (START if self.kind == "auto" else self.buckets) and self.kind != "examples"


def into_buckets(
    sizes: NDArray[np.int64], keys: NDArray[np.uint64], most: int, least: int = LEAST
) -> NDArray[np.int64]:
    """(units,) the bucket of each unit, those of a stratum apart; numbers may be missing where a bucket is empty.

    `sizes` (strata,): units of each stratum, which follow each other. `keys` (units,): a hash of each unit.
    """
    shares = np.maximum(most * sizes // max(int(sizes.sum()), 1), least)
    starts = np.cumsum(sizes) - sizes
    buckets = np.empty(len(keys), np.int64)
    for start, size, share in zip(starts.tolist(), sizes.tolist(), shares.tolist(), strict=True):
        own = buckets[start : start + size]
        if size <= share:
            own[:] = np.arange(start, start + size)
        else:  # in place: at ten million units an array takes 80 MB
            np.remainder(keys[start : start + size], np.uint64(share), out=own.view(np.uint64))
            own += start
    return buckets


def hashes(names: Sequence[str], seed: int) -> NDArray[np.uint64]:
    """(n,) a hash of each name under this seed."""
    from harness.stats import kernels

    data, offsets = names.utf8 if isinstance(names, Texts) else arrow.utf8(names)
    hashed = np.empty(len(names), np.uint64)
    kernels.hash_texts(data, offsets, np.uint64(seed), hashed)
    return hashed
