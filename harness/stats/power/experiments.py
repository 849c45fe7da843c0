"""The power of an experiment, before it is made and after: from a standard deviation, from one run as a pilot, or from
the comparison of two, with the interval of the n that it takes.

>>> power = planned(Plan(sd=20.0), Aim(difference=1.0))
>>> power.n, round(power.power, 2)
(3142, 0.8)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from harness.stats.fewness import fewest, reason
from harness.stats.power.detection import POWER, Power, powers
from harness.stats.power.planning import needed_seeds, needed_units, seeds_detectable, seeds_power
from harness.stats.proportions import AGRESTI_COULL, Evidence, scale_of, share_interval, unseen_error
from harness.stats.resampling import Sample
from harness.stats.seeds import Spread
from harness.types import Comparison, HarnessError
from harness.types.shown import counted

NOTHING_VARIES = "nothing varies: the standard error is the largest that this leaves likely"


@dataclass(frozen=True)
class Aim:
    """What an experiment is to detect."""

    difference: float | None = None
    """None: the one that was seen; of a plan or a pilot, which saw none, the smallest detectable is told alone."""
    power: float = POWER
    level: float = 0.95
    correlation: float = 0.0
    """Of the two systems' scores of an example, where one run stands for both."""

    def check(self) -> None:
        if not 0 < self.power < 1:
            raise HarnessError(f"power={self.power}; expected a share between 0 and 1, such as 0.8")
        if self.difference == 0:
            raise HarnessError("difference=0; expected a difference to detect")
        if not 0 < self.level < 1:
            raise HarnessError(f"level={self.level}; expected a share between 0 and 1, such as 0.95")
        if not -1 < self.correlation < 1:
            raise HarnessError(f"correlation={self.correlation}; expected a number between -1 and 1, such as 0.5")


@dataclass(frozen=True)
class Plan:
    """An experiment before any run."""

    sd: float
    """Standard deviation of the difference between two systems on one example."""
    n: int | None = None
    """Examples; None: as many as it takes."""
    seeds: int = 1
    """Of each system; 1: these outputs, and nothing of other seeds."""
    seed_sd: float = 0.0
    """Standard deviation between the scores of seeds of one system."""

    def check(self) -> None:
        for name, value in (("sd", self.sd), ("seed-sd", self.seed_sd)):
            if not (math.isfinite(value) and value >= 0) or (name == "sd" and not value):
                raise HarnessError(f"--{name} {value:g}; expected a standard deviation, in points of the score")
        if self.n is not None and self.n < 2:
            raise HarnessError(f"--n {self.n}; expected 2 examples or more")
        if self.seeds < 1:
            raise HarnessError(f"--seeds {self.seeds}; expected 1 or more")
        if self.seed_sd and self.seeds == 1:
            raise HarnessError("--seed-sd with one seed, which tells nothing of another; expected --seeds 2 or more")


def planned(plan: Plan, aim: Aim) -> Power:
    """What an experiment that is not yet made will detect."""
    plan.check()
    aim.check()
    if aim.difference is None and plan.n is None:
        raise HarnessError("a plan with neither a difference to detect nor examples; expected --difference, or --n")
    between = (plan.seed_sd**2 / plan.seeds,) * 2 if plan.seeds > 1 else ()
    seeds = (plan.seeds,) * len(between)
    spread = Spread(plan.sd**2 / 1000, (0.0,) * len(between), between, seeds, 1000)
    difference = aim.difference or 0.0
    n = plan.n or needed_units(difference, spread, aim.level, aim.power)
    if n is None:
        more = needed_seeds(difference, replace(spread, examples=0.0), aim.level, aim.power)
        raise HarnessError(
            f"no n will do: with {counted(plan.seeds, 'seed')} of standard deviation {plan.seed_sd:g}, "
            f"{difference:g} is not "
            f"detected on endless examples; expected {f'--seeds {more}' if more else 'more seeds'} or more"
        )
    names = ("plan", "one system", "another", "")
    return _power(names, spread.planned(n, seeds), (n, "examples"), aim, None)


def piloted(
    run_names: tuple[str, str, str], spread: Spread, unit: tuple[int, str], aim: Aim, degrees: float | None
) -> Power:
    """What a comparison of two systems like the one that was run will detect; `spread`: of its score."""
    share = 2 * (1 - aim.correlation)
    systems = spread.seeds and (*spread.seeds, *spread.seeds)
    both = replace(
        spread,
        examples=spread.main * share + 2 * sum(spread.interactions),
        interactions=spread.interactions * 2,
        between=spread.between * 2,
        seeds=systems,
    )
    dataset, system, score = run_names
    power = _power((dataset, system, "another", score), both, unit, aim, degrees)
    note = f"for two systems like {system} whose scores of an example are correlated by {aim.correlation:g}"
    return replace(power, note="; ".join(filter(None, (note, power.note))))


def likely(spread: Spread, sample: Sample, place: int, level: float) -> Spread:
    """The spread of a score, no less than what could have been seen where nothing varies, or few examples of a share
    do; unknown (NaN) where the score has no scale to say it by."""
    share = bool(sample.two_valued[place])
    if spread.variance and (spread.seeds or not share):
        return spread
    if not share:
        return replace(spread, examples=unseen_error(sample.metric, sample.expansion, level) ** 2)
    evidence, (low, high) = Evidence.of(sample.design, sample.expansion), scale_of(sample.metric)
    value = (sample.estimate()[place] - low) / (high - low)
    variance = np.array(spread.variance / sample.expansion.ratio / (high - low) ** 2)
    ends = share_interval(np.array(value), variance, evidence, level, AGRESTI_COULL)
    error = (high - low) * float(ends[1] - ends[0]) / 2 / sample.expansion.reach(level)
    return replace(spread, examples=max(spread.examples, error**2))


def powered(rows: Sequence[Comparison], aim: Aim) -> list[Power]:
    """For each comparison the power for a difference, by default the one that was seen, and n with its interval."""
    aim.check()
    estimates = []
    for row, power in zip(
        [row for row in rows if row.difference is not None],
        powers([row for row in rows if row.difference is not None], aim.difference, aim.level, aim.power),
        strict=True,
    ):
        if row.parts is None:
            low, high = _ends(row.degrees, aim.level)
            n = power.needed
            if n is not None and low:
                least = fewest(aim.level)
                low, high = (max(least, math.ceil(n * factor)) for factor in (low, high))
                power = replace(power, needed_low=int(low), needed_high=int(high))
            estimates.append(power)
            continue
        names = (row.dataset, row.baseline, row.system, row.score)
        spread = Spread(**row.parts)
        asked = replace(aim, difference=power.difference)
        power = _power(names, spread, (row.n, row.unit), asked, row.degrees)
        estimates.append(replace(power, digits=row.digits, title=row.title))
    return estimates


def _power(
    names: tuple[str, str, str, str], spread: Spread, unit: tuple[int, str], aim: Aim, degrees: float | None
) -> Power:
    """`degrees`: with which the spread is known; None where it is taken for granted."""
    asked, difference = aim.difference is not None, abs(aim.difference or 0.0)
    plan, few = (aim.level, aim.power), unit[0] < fewest(aim.level)
    seeds = spread.seeds if len(spread.seeds) == 2 else None
    power = Power(
        *names, *unit, None, None, difference if asked else None, None, None, 4,
        seeds=None if seeds is None else (seeds[0], seeds[1]),
    )  # fmt: skip
    if not math.isfinite(spread.variance):
        unseen = "nothing varies, and the score has no scale to say by how much it could"
        return replace(power, note=reason(*unit, aim.level) if few else unseen)
    factors = _ends(degrees, aim.level)
    ends = [needed_units(difference, _scaled(spread, factor), *plan) if factor else None for factor in factors]
    return replace(
        power,
        standard_error=spread.error,
        smallest_detectable=None if few else seeds_detectable(spread, *plan),
        power=None if not asked else 0.0 if few else seeds_power(difference, spread, aim.level),
        needed=needed_units(difference, spread, *plan),
        needed_low=ends[0],
        needed_high=ends[1],
        needed_seeds=needed_seeds(difference, spread, *plan) if seeds else None,
        note=reason(*unit, aim.level) if few else None,
    )


def _ends(degrees: float | None, level: float) -> tuple[float, float]:
    """By how much the variance may be smaller and larger than the one seen; zeros where that is not known."""
    from scipy.special import chdtri

    if degrees is None or not degrees > 0 or not math.isfinite(degrees):
        return 0.0, 0.0
    low, high = (degrees / float(chdtri(degrees, tail)) for tail in ((1 - level) / 2, (1 + level) / 2))
    return low, high


def _scaled(spread: Spread, factor: float) -> Spread:
    return replace(
        spread,
        examples=spread.examples * factor,
        interactions=tuple(value * factor for value in spread.interactions),
        between=tuple(value * factor for value in spread.between),
    )
