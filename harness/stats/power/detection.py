"""What an experiment of this size can detect, and the size that detects a given difference.

The standard error of a difference shrinks with the square root of the number of units, so that the error of one
comparison tells of any other size. A difference counts as detected where a test at the level rejects.

>>> round(smallest_detectable(0.5, level=0.95, power=0.8), 3)
1.401
>>> needed(n=1000, error=0.5, difference=1.0, level=0.95, power=0.8)
1963
>>> round(power_of(difference=1.401, error=0.5, level=0.95), 2)
0.8
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

from harness.stats.fewness import fewest, reason
from harness.types import Comparison, HarnessError

POWER = 0.8
NORMAL = NormalDist()


def _threshold(level: float, sides: int) -> float:
    """Standard errors beyond which a test rejects."""
    return NORMAL.inv_cdf(1 - (1 - level) / sides)


def smallest_detectable(error: float, level: float, power: float = POWER, sides: int = 2) -> float:
    """The difference that the share `power` of such experiments would detect."""
    return (_threshold(level, sides) + NORMAL.inv_cdf(power)) * error


def needed(n: int, error: float, difference: float, level: float, power: float = POWER, sides: int = 2) -> int:
    """Units needed to detect the difference with that power, from the error that n units have."""
    return max(
        fewest(level, sides), math.ceil(n * (smallest_detectable(error, level, power, sides) / abs(difference)) ** 2)
    )


def power_of(difference: float, error: float, level: float) -> float:
    """The share of such experiments that would detect the difference."""
    if error == 0:
        return 1.0 if difference else 0.0
    return NORMAL.cdf(abs(difference) / error - _threshold(level, sides=2))


@dataclass(frozen=True, slots=True)
class Power:
    """What a comparison of two systems by one score can detect."""

    dataset: str
    baseline: str
    system: str
    score: str
    n: int
    unit: str
    standard_error: float | None
    """Where no example differs, the largest that this leaves likely; None where the score has no scale to say it by."""
    smallest_detectable: float | None
    """With this n and the power asked for."""
    difference: float | None
    """The one asked about, or the one seen; None for a plan or a pilot that is asked about none."""
    power: float | None
    """The share of such experiments that would detect it with this n."""
    needed: int | None
    """Units that would detect it with the power asked for; None for no difference."""
    digits: int
    """How many digits after the point differences in the score are shown with."""
    needed_low: int | None = None
    needed_high: int | None = None
    """The interval of `needed`, as badly as the standard error is known; None where no number would do."""
    seeds: tuple[int, int] | None = None
    """Where the question is of new seeds, how many baseline and system have."""
    needed_seeds: int | None = None
    """Seeds of each system that would detect it on these units."""
    note: str | None = None
    """What was taken for granted."""
    title: str = ""
    """What papers call the score; empty: its name."""


def powers(rows: Sequence[Comparison], difference: float | None, level: float, power: float = POWER) -> list[Power]:
    """For each comparison the power for a difference, by default the one that was seen."""
    if not 0 < power < 1:
        raise HarnessError(f"power={power}; expected a share between 0 and 1, such as 0.8")
    if difference is not None and not difference:
        raise HarnessError("difference=0; expected a difference to detect")
    estimates = []
    for row in rows:
        if row.difference is None:
            continue
        asked, error = abs(row.difference if difference is None else difference), row.standard_error
        few = row.n < fewest(level)  # which no test tells apart
        estimates.append(
            Power(
                row.dataset,
                row.baseline,
                row.system,
                row.score,
                row.n,
                row.unit,
                error,
                None if error is None or few else smallest_detectable(error, level, power),
                asked,
                0.0 if few else None if error is None else power_of(asked, error, level),
                None if error is None or not asked else needed(row.n, error, asked, level, power),
                row.digits,
                title=row.title,
                note=reason(row.n, row.unit, level) if few else row.note,
            )
        )
    return estimates
