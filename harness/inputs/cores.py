"""How many cores there are for this process, or for its share of a machine.

>>> with limited(1):
...     cores()
1
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_limits: list[int] = []
_own: list[int] = []
"""The number of threads that torch takes by itself, once it was told another."""


def cores() -> int:
    """How many this process may use."""
    if _limits:
        return _limits[-1]
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def limited(number: int | None) -> Iterator[None]:
    """So many are used at most, whoever asks; None: as before."""
    if number is None:
        yield
        return
    _limits.append(number)
    torch = sys.modules.get("torch")
    if torch is not None:
        heeded_by(torch)
    try:
        yield
    finally:
        _limits.pop()
        torch = sys.modules.get("torch")
        if torch is not None and _own:
            torch.set_num_threads(_limits[-1] if _limits else _own[0])


def heeded_by(torch: Any) -> None:
    """Torch takes no more threads than that: the last bits of what it computes depend on how many they are."""
    if _limits:
        if not _own:
            _own.append(torch.get_num_threads())
        torch.set_num_threads(_limits[-1])
