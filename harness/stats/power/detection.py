"""What an experiment of this size can detect, and the size that detects a given difference.

The standard error of a difference shrinks with the square root of the number of units, so that the error of one
comparison tells of any other size. A difference counts as detected where a test at the level rejects. Few units know
their own standard error badly: they are judged by Student's distribution, as intervals and tests are (expansion.py).

>>> round(smallest_detectable(0.5, level=0.95, power=0.8), 3)
1.401
>>> round(smallest_detectable(0.5, level=0.95, power=0.8, df=6), 3)  # of seven examples
1.676
>>> needed(Known(n=1000, error=0.5, df=999), difference=1.0, level=0.95, power=0.8)
1965
>>> round(power_of(difference=1.401, error=0.5, level=0.95), 2)
0.8
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from harness.stats.expansion import NORMAL, Expansion, student_quantile, student_tail
from harness.stats.fewness import TOO_FEW, fewest, least_by_bootstrap, reason
from harness.types import Comparison, HarnessError

POWER = 0.8
MOST_UNITS = 2**40
FEW = 20
"""Degrees of freedom below which the series is not exact enough."""


@dataclass(frozen=True, slots=True)
class Known:
    """How well a difference is known."""

    n: int
    """Units."""
    error: float
    df: float
    """Degrees of freedom of the error."""

    @classmethod
    def of(cls, row: Comparison) -> Known:
        assert row.standard_error is not None
        return cls(row.n, row.standard_error, row.test_degrees or math.inf)

    def planned(self, n: int) -> Known:
        """What to expect of so many units."""
        more = n / self.n
        return Known(n, self.error / math.sqrt(more), max((self.df + 1) * more - 1, 1.0))

    @property
    def expansion(self) -> Expansion:
        return Expansion((self.df + 1) / self.df, self.df, self.df + 1)


def smallest_detectable(
    error: float, level: float, power: float = POWER, sides: int = 2, df: float = math.inf
) -> float:
    """The difference that the share `power` of such experiments would detect."""
    return (_threshold(level, sides, df) + _quantile(1 - power, df)) * error


def needed(known: Known, difference: float, level: float, power: float = POWER, sides: int = 2) -> int:
    """Units needed to detect the difference with that power."""

    def enough(n: int) -> bool:
        planned = known.planned(n)
        if planned.df < FEW and least_by_bootstrap(planned.expansion, sides) > 1 - level:
            return False
        return smallest_detectable(planned.error, level, power, sides, planned.df) <= abs(difference)

    endless = smallest_detectable(known.error, level, power, sides) / abs(difference)  # as if the error were known
    return least(enough, max(fewest(level, sides), math.ceil(known.n * endless**2)), MOST_UNITS)


def power_of(difference: float, error: float, level: float, df: float = math.inf) -> float:
    """The share of such experiments that would detect the difference."""
    if error == 0:
        return 1.0 if difference else 0.0
    return student_tail(_threshold(level, 2, df) - abs(difference) / error, df)


def _threshold(level: float, sides: int, df: float) -> float:
    """Standard errors beyond which a test rejects."""
    return _quantile((1 - level) / sides, df)


def _quantile(tail: float, df: float) -> float:
    """The t that is exceeded with this probability; of many degrees of freedom by Cornish and Fisher's series, which
    takes no search and agrees to four digits."""
    z = -NORMAL.inv_cdf(tail)
    if math.isinf(df) or not z:
        return z
    if df < FEW:
        return math.copysign(student_quantile(min(tail, 1 - tail), df), z)
    first, second = (z**3 + z) / 4, (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return z + first / df + second / df**2 + third / df**3


def least(enough: Callable[[int], bool], low: int, high: int) -> int:
    """The smallest number that is enough, where all above it are; `high` is taken to be."""
    if enough(low):
        return low
    step = low
    while step < high and not enough(step):
        low, step = step, 2 * step
    high = min(step, high)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


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
        known_few = row.verdict == TOO_FEW
        few = known_few or row.n < fewest(level)  # which no test tells apart
        known = None if error is None else Known.of(row)
        estimates.append(
            Power(
                row.dataset,
                row.baseline,
                row.system,
                row.score,
                row.n,
                row.unit,
                error,
                None if known is None or few else smallest_detectable(known.error, level, power, df=known.df),
                asked,
                _power(asked, known, level) if not few else 0.0,
                None if known is None or not asked else needed(known, asked, level, power),
                row.digits,
                title=row.title,
                note=reason(row.n, row.unit, level) if few and not known_few else row.note,
            )
        )
    return estimates


def _power(asked: float, known: Known | None, level: float) -> float | None:
    """For no difference there is none."""
    return None if known is None or not asked else power_of(asked, known.error, level, known.df)
