"""The words of rouge-score: lower-case, then runs of a-z and 0-9."""

from __future__ import annotations

from functools import cache

import numpy as np

from harness.metrics.columns import SPACE, Table


@cache
def ascii_words() -> Table:
    points = np.full(0x110000, SPACE, np.uint8)
    points[[*range(48, 58), *range(97, 123)]] = 0
    return Table(points, fold=True)
