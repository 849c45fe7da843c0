"""What so few units can show at all.

Under the null hypothesis the two systems' outputs of a unit could as well change places, and n units that differ can be
swapped in 2^n ways: no test has a right to a smaller p than the share of these that says the same.

>>> least_p(4), fewest(0.95), fewest(0.95, sides=1)
(0.125, 6, 5)
"""

from __future__ import annotations

from harness.stats.expansion import Expansion
from harness.types import Comparison
from harness.types.shown import counted

TOO_FEW = "too few to tell"
MANY_RESAMPLES = 10_000
"""With fewer, it may be they that are too few."""


def least_p(units: int, sides: int = 2) -> float:
    """The smallest p that so many units that differ can have."""
    return min(1.0, sides * 0.5**units)


def fewest(level: float, sides: int = 2) -> int:
    """The number of units from which a test can reject at this level."""
    units = 1
    while least_p(units, sides) > 1 - level:
        units += 1
    return units


def too_few(row: Comparison, level: float, sides: int = 2) -> bool:
    """Whether no result whatever could have been significant."""
    return row.n < fewest(level, sides)


def reason(n: int, unit: str, level: float, sides: int = 2) -> str:
    """Why a comparison of n units is too small, and what would do."""
    kind = unit.partition(" ")[0]
    return (
        f"{counted(n, kind[:-1])}: no p below {least_p(n, sides):.2g} is possible; {fewest(level, sides)} {kind} are "
        f"the fewest that could show a difference at {1 - level:.2g}"
    )


def least_by_bootstrap(expansion: Expansion, sides: int = 2, resamples: int = MANY_RESAMPLES) -> float:
    """The smallest p that a bootstrap test of so few units, or of units so unequal, can give.

    >>> [round(least_by_bootstrap(Expansion(n / (n - 1), n - 1, n)), 3) for n in (2, 3, 4, 6)]
    [0.222, 0.086, 0.043, 0.016]
    """
    return expansion.p_value(1 / (max(resamples, MANY_RESAMPLES) + 1), sides)


def reason_of_bootstrap(row: Comparison, expansion: Expansion, least: float) -> str:
    """Why units that permit a smaller p, or clusters that are very unequal, are too few for a bootstrap test."""
    kind = row.unit.partition(" ")[0]
    worth = f" of such unequal sizes count as {expansion.effective:.1f} equal ones"
    unequal = worth if expansion.effective < row.n - 0.5 else ""
    return f"{row.n} {kind}{unequal}: the bootstrap can give no p below {least:.2g}, test=randomization may"
