"""How scores get their intervals, and how systems are compared: one record each, checked in one place.

Nothing heavy is imported here.

>>> ComparisonOptions(correction="bonferroni").check()
Traceback (most recent call last):
harness.types.errors.HarnessError: correction=bonferroni; expected one of max-t, holm, bh, none
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from harness.inputs.choices import (
    ALTERNATIVES,
    BUCKETS,
    CORRECTION,
    CORRECTIONS,
    DIFFERENCE_METHODS,
    LEVEL,
    METHOD,
    METHODS,
    QUESTIONS,
    REPEATS,
    RESAMPLES,
    SEED,
    TESTS,
)
from harness.stats.units import Units
from harness.types import Array, HarnessError, check_choice, check_number

MOST_RESAMPLES = 10_000_000
"""A thousand times the default: one more digit of an interval, and 80 MB a score."""
LARGEST_SEED = 2**63 - 1
"""What every file format of a run holds."""


@dataclass(frozen=True)
class Options:
    """How scores get their intervals: the `stats` group of the config."""

    resamples: int = RESAMPLES
    level: float = LEVEL
    method: str = METHOD
    seed: int = SEED
    strata: str | None = None
    units: str = "auto"
    """What is drawn: `examples` (or clusters), `buckets` of them, or buckets where there are very many."""
    buckets: int = BUCKETS
    slices: Sequence[str] = ()
    """Fields and expressions by which every headline score is given (stats/divided.py)."""
    repeats: str = REPEATS[0]
    """What several outputs of an example are: `independent` draws, or `seeds`."""

    @property
    def drawn(self) -> Units:
        return Units(self.units, self.buckets, self.seed)

    def check(self) -> None:
        check_choice("method", self.method, METHODS)
        check_choice("repeats", self.repeats, REPEATS)
        self.drawn.check()
        check_number("level", self.level)
        check_number("resamples", self.resamples, whole=True)
        check_number("seed", self.seed, whole=True)
        if not 0 < self.level < 1:
            raise HarnessError(f"level={self.level}; expected a share between 0 and 1, such as 0.95")
        if self.resamples < 0 or self.resamples == 1:
            raise HarnessError(f"resamples={self.resamples}; expected 2 or more, or 0 for scores without intervals")
        if self.resamples > MOST_RESAMPLES:
            raise HarnessError(f"resamples={self.resamples}; expected at most {MOST_RESAMPLES:,}")
        if self.seed < 0:
            raise HarnessError(f"seed={self.seed}; expected 0 or more")
        if self.seed > LARGEST_SEED:
            raise HarnessError(f"seed={self.seed}; expected at most {LARGEST_SEED}")


@dataclass(frozen=True)
class ComparisonOptions:
    """How systems are compared."""

    test: str = "bootstrap"
    resamples: int = RESAMPLES
    level: float = LEVEL
    seed: int = SEED
    method: str = METHOD
    """Of the intervals of differences."""
    alternative: str = "two-sided"
    """`better` or `worse`: a one-sided test of the system against the baseline."""
    correction: str = CORRECTION
    scores: tuple[str, ...] | None = None
    """The headline scores of the family; all where None."""
    cross_check: bool = False
    """Also the paired t-test and Wilcoxon's signed ranks, where a score is a mean over examples."""
    margins: tuple[tuple[str, float], ...] = ()
    """(score, difference that does not matter): these are also tested for equivalence and for not being worse."""
    margins_adjusted: bool = True
    """Whether those tests are corrected over the family; not where all of them must pass (`harness gate`)."""
    sliced_by: str | None = None
    """A field or an expression: runs are compared in each of its slices, and whether the differences vary."""
    posterior: bool = False
    """Also the probability that the system is better, and that the difference is within its margin."""
    question: str | None = None
    """`outputs`: which of these are better; `seeds`: which system would be with new seeds. None: of seeds where every
    system has several."""

    def check(self) -> None:
        Options(resamples=self.resamples, level=self.level, seed=self.seed).check()
        check_choice("test", self.test, TESTS)
        check_choice("method", self.method, DIFFERENCE_METHODS)
        check_choice("alternative", self.alternative, ALTERNATIVES)
        check_choice("correction", self.correction, CORRECTIONS)
        if self.question is not None:
            check_choice("question", self.question, QUESTIONS)
        if self.resamples == 0:
            raise HarnessError("resamples=0; expected 2 or more for a comparison")
        for score, margin in self.margins:
            check_number(f"margin {score}", margin)
            if not 0 < margin < math.inf:
                raise HarnessError(f"margin {score}={margin:g}; expected a difference above 0")

    @property
    def interval_method(self) -> str:
        """How intervals of differences come from the replicates."""
        return "expanded" if self.method == "auto" else self.method

    def margin_of(self, score: str) -> float | None:
        return dict(self.margins).get(score)

    @property
    def sides(self) -> int:
        return 2 if self.alternative == "two-sided" else 1

    def statistic(self, differences: Array, higher_is_better: bool) -> Array:
        """What speaks against the null hypothesis, from differences of any shape."""
        if self.alternative == "two-sided":
            return np.abs(differences)
        return differences if (self.alternative == "better") == higher_is_better else -differences
