"""The levels of a sweep's parameters: their values, or where a sweeper chose numbers as it went, groups of them.

An optimiser tries hardly any number twice. Cells that have one level each tell nothing of a parameter beside the
others, so that such numbers are put into a few groups of neighbours with about as many cells each.

>>> codes, levels = levels_of([{"system.beams": 4}, {"system.beams": 1}, {"system.beams": 4}])
>>> codes["beams"].tolist(), levels
([1, 0, 1], {'beams': ('1', '4')})
>>> levels_of([{"t": t / 16} for t in range(16)], sampled=["t"])[1]
{'t': ('0.0 to 0.1875', '0.25 to 0.4375', '0.5 to 0.6875', '0.75 to 0.9375')}
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from harness.store.sweep_cells import short_names, shown, told_apart
from harness.types import HarnessError, Integers, RunResult

FEW = 4
"""So many numbers of a sweeper's own choice are levels by themselves; of more as many groups are made, at most."""
CELLS = 4
"""Of a group, at least."""


def levels_of(
    parameters: Sequence[Mapping[str, Any]], sampled: Collection[str] = ()
) -> tuple[dict[str, Integers], dict[str, tuple[str, ...]]]:
    """(the level of each cell, from 0, by parameter; what the levels are called), by short names, numbers in their
    order; what does not vary is left out, and what some cells lack is a level of its own.

    `sampled`: parameters whose values a sweeper chose as it went.
    """
    names = list(dict.fromkeys(name for own in parameters for name in own))
    short, codes, levels = short_names(names), {}, {}
    for name in names:
        values = [own.get(name, "not set") for own in parameters]
        distinct = _ordered(values)
        if len(distinct) < 2:
            continue
        if name in sampled and len(distinct) > FEW and _numeric(values):
            codes[short[name]], levels[short[name]] = _grouped(values)
        else:
            places = {repr(value): place for place, value in enumerate(distinct)}
            codes[short[name]] = np.array([places[repr(value)] for value in values], dtype=np.int64)
            levels[short[name]] = tuple(told_apart(distinct))
    if not codes:
        raise HarnessError(f"nothing varies between the {len(parameters)} cells; expected a parameter that does")
    return codes, levels


def sampled_in(runs: Sequence[RunResult]) -> set[str]:
    """Parameters whose values were not known before the sweep of these runs began."""
    spaces = [(run.manifest.get("cell") or {}).get("space") or {} for run in runs]
    return {name for space in spaces for name, values in space.items() if values is None}


def _numeric(values: Sequence[Any]) -> bool:
    return all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)


def _ordered(values: Sequence[Any]) -> list[Any]:
    """Each once; numbers by size, others as they came."""
    distinct = list({repr(value): value for value in values}.values())
    return sorted(distinct) if _numeric(distinct) else distinct


def _grouped(values: Sequence[float]) -> tuple[Integers, tuple[str, ...]]:
    """Neighbours together, equal numbers never apart."""
    count = min(max(len(values) // CELLS, 2), FEW)
    ranks = np.searchsorted(np.sort(values), values)  # of equal numbers the same
    _, groups = np.unique(ranks * count // len(values), return_inverse=True)
    names = []
    for group in range(int(groups.max()) + 1):
        own = [value for value, place in zip(values, groups, strict=True) if place == group]
        low, high = shown(min(own)), shown(max(own))
        names.append(low if low == high else f"{low} to {high}")
    return groups.astype(np.int64), tuple(names)
