"""What counts as a number among values that came from a file or a caller: truth does not, though Python says so."""

from __future__ import annotations

import math
from numbers import Real
from typing import TypeGuard


def is_number(value: object) -> TypeGuard[float]:
    """
    >>> is_number(1), is_number(0.5), is_number(True), is_number("1")
    (True, True, False, False)
    """
    return isinstance(value, Real) and not isinstance(value, bool)


def is_finite(value: object) -> TypeGuard[float]:
    """Neither NaN nor infinite, nor a whole number of more digits than a float has.

    >>> is_finite(1), is_finite(float("nan")), is_finite(10**400)
    (True, False, False)
    """
    try:
        return is_number(value) and math.isfinite(value)
    except OverflowError:
        return False
