"""The least cost of moving masses from some places to others, exactly (the network simplex of POT).

>>> half, other, costs = np.array([0.5, 0.5]), np.array([0.6, 0.4]), np.array([[0.0, 1.0], [1.0, 0.2]])
>>> round(transport(half, other, costs, most=1.0), 6)  # 0.1 moves at 1, 0.4 at 0.2
0.18
>>> plan(half, other, costs, most=1.0).round(6).tolist()
[[0.5, 0.0], [0.1, 0.4]]
"""

from __future__ import annotations

from typing import Any

import numpy as np

from harness.types import Array, HarnessError


def transport(a: Array, b: Array, costs: Array, most: float) -> float:
    """The least cost of moving masses a (m,) onto b (n,) at costs (m, n) a unit.

    What one side has more than the other costs `most` a unit, as in pyemd, which the authors use.
    """
    ot = _pot()
    a, b, whole = _balanced(a, b, costs, most)
    nonzero = whole[np.ix_(a > 0, b > 0)]
    return float(ot.emd2(a[a > 0], b[b > 0], nonzero, numItermax=10**9, center_dual=False))  # to the end: exact


def plan(a: Array, b: Array, costs: Array, most: float) -> Array:
    """(m, n): how much `transport` moves from where to where."""
    ot = _pot()
    a, b, whole = _balanced(a, b, costs, most)
    amounts = np.zeros_like(whole)
    used = np.ix_(a > 0, b > 0)
    amounts[used] = ot.emd(a[a > 0], b[b > 0], whole[used], numItermax=10**9, center_dual=False)
    return amounts[:-1, :-1]


def _balanced(a: Array, b: Array, costs: Array, most: float) -> tuple[Array, Array, Array]:
    """The same with one place more on each side, for what the other one has too much of."""
    spare = float(a.sum() - b.sum())
    whole = np.pad(costs, (0, 1), constant_values=most)
    return np.append(a, max(-spare, 0.0)), np.append(b, max(spare, 0.0)), whole


def _pot() -> Any:
    try:
        import ot  # type: ignore[import-untyped]
    except ImportError:
        raise no_pot() from None
    return ot


def no_pot() -> HarnessError:
    return HarnessError(
        "moverscore needs POT (Python Optimal Transport), and it is not installed; expected this package with its "
        "extra (pip install '.[neural]' in a checkout), or metrics=lexical, which needs no model"
    )
