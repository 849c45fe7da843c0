"""What an experiment with seeds can detect, and how many examples or seeds would detect a difference.

More examples lower the variance that comes from examples, more seeds the one that comes from seeds: where seeds alone
make a difference invisible, no number of examples shows it. A difference counts as detected where Student's t with
Satterthwaite's degrees of freedom rejects; the chance of that is taken as a t around the true difference.

>>> spread = Spread(0.02, (0.01, 0.01), (0.09, 0.09), (3, 3), 500)
>>> needed_units(1.0, spread, level=0.95), needed_seeds(1.0, spread, level=0.95)
(None, 6)
>>> needed_units(2.0, spread, level=0.95)
79
"""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

import numpy as np

from harness.inputs.choices import OVER_SEEDS
from harness.stats.fewness import fewest
from harness.stats.options import ComparisonOptions
from harness.stats.power.detection import MOST_UNITS, POWER, least
from harness.stats.seeds import Spread
from harness.types import Array

MOST_SEEDS = 1_000


def seeds_power(difference: float, spread: Spread, level: float) -> float:
    """The share of such experiments that would detect the difference."""
    from scipy.special import stdtr, stdtrit

    if not spread.variance:
        return 1.0 if difference else 0.0
    threshold = stdtrit(spread.degrees, 1 - (1 - level) / 2)
    return float(stdtr(spread.degrees, abs(difference) / spread.error - threshold))


def seeds_detectable(spread: Spread, level: float, power: float = POWER, sides: int = 2) -> float:
    """The difference that the share `power` of such experiments would detect."""
    from scipy.special import stdtrit

    reach = stdtrit(spread.degrees, 1 - (1 - level) / sides) + stdtrit(spread.degrees, power)
    return float(reach) * spread.error


def needed_units(difference: float, spread: Spread, level: float, power: float = POWER, sides: int = 2) -> int | None:
    """Examples or clusters that would detect the difference with these seeds; None where no number would."""

    def enough(units: float) -> bool:
        return seeds_detectable(spread.planned(units, spread.seeds), level, power, sides) <= abs(difference)

    fewest_units = max(2 * spread.strata, fewest(level, sides))
    return least(enough, fewest_units, MOST_UNITS) if difference and enough(math.inf) else None


def needed_seeds(difference: float, spread: Spread, level: float, power: float = POWER, sides: int = 2) -> int | None:
    """Seeds of each system that would detect the difference on these units; None where no number would."""

    def enough(seeds: int) -> bool:
        planned = spread.planned(spread.units, [seeds] * len(spread.seeds))
        return seeds_detectable(planned, level, power, sides) <= abs(difference)

    return least(enough, 2, MOST_SEEDS) if difference and enough(MOST_SEEDS) else None


def against_seeds(
    spread: Spread, difference: float, higher_is_better: bool, options: ComparisonOptions
) -> dict[str, Any]:
    """What a comparison says where the question is of new seeds: the fields that seeds change."""
    against = float(options.statistic(np.array(difference), higher_is_better))
    known, reach = math.isfinite(difference) and math.isfinite(spread.variance), spread.reach(options.level)
    plan = (options.level, POWER, options.sides)
    possible = known and against > 0
    return {
        "low": difference - reach if known else None,
        "high": difference + reach if known else None,
        "p_value": spread.p_value(against, options.alternative) if known else None,
        "smallest_detectable": seeds_detectable(spread, *plan) if known else None,
        "needed": needed_units(difference, spread, *plan) if possible else None,
        "needed_seeds": needed_seeds(difference, spread, *plan) if possible else None,
        "standard_error": spread.error if known else None,
        "effect_size": None,
        "method": OVER_SEEDS,
        "note": None,
        "question": "seeds",
        "seeds": spread.seeds,
        "degrees": spread.degrees if known else None,
        "parts": asdict(spread),
    }


def degrees_of(values: Array, n: int) -> float | None:
    """With how many degrees of freedom the variance of n such values is known: fewer than n - 1 where their tails are
    heavy (Bonett 2006), more where they are light."""
    values = values[~np.isnan(values)]
    count = len(values)
    around = values - values.mean() if count else values
    square = float((around**2).mean()) if count else 0.0
    if count < 4 or square <= 0:
        return None
    excess = float((around**4).mean()) / square**2 - 3
    kurtosis = 3 + ((count + 1) * excess + 6) * (count - 1) / ((count - 2) * (count - 3))  # unbiased for a normal
    return 2 * (n - 1) / max(kurtosis - (n - 3) / n, 2 / n)
