"""What is tested: a comparison, and what it is judged by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from harness.stats.comparing.joint import Swaps
from harness.stats.expansion import Expansion
from harness.stats.fewness import least_p
from harness.stats.options import ComparisonOptions
from harness.stats.proportions import MeanOfPairedShares, PairedShares
from harness.types import Array, Comparison


class Source(Protocol):
    """The draws of the scores of two systems, made when they are asked for: a family's do not fit into memory."""

    def drawn(self, score: int) -> Array:
        """The replicates (resamples,) of the difference."""
        ...

    def null(self, score: int) -> Array:
        """The differences (draws,) under the null hypothesis."""
        ...

    def by_unit(self, score: int) -> Array | None:
        """The difference in each unit (units,), of which that of the whole is the mean; None where it is the question
        of new seeds, or the score no function of a sum."""
        ...


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """What a comparison is judged by."""

    systems: tuple[str, str]
    source: Source
    score: int
    """Its place among those of the source."""
    group: str
    """The key of what it is tested on: those with one key share their draws."""
    draws: Swaps
    """Under the null: `resamples`, or all there can be where those are fewer."""
    expansion: Expansion
    differing: int
    """Units in which the two systems differ."""
    shares: PairedShares | MeanOfPairedShares | None
    """Where every example is right or wrong."""
    largest: float
    """The largest difference that the score's scale permits; infinite where it has no end."""

    def drawn(self) -> Array:
        return self.source.drawn(self.score)

    def null(self) -> Array:
        return self.source.null(self.score)

    def by_unit(self) -> Array | None:
        return self.source.by_unit(self.score)

    def p_value(self, plain: float, options: ComparisonOptions) -> float:
        """What a share of the draws amounts to: of replicates of few units it is too small, and never less than the
        units that differ permit."""
        if options.test == "bootstrap":
            plain = self.expansion.p_value(plain, options.sides)
        return max(plain, least_p(self.differing, options.sides))


@dataclass(frozen=True, slots=True)
class Tested:
    """A comparison before its correction. There may be hundreds of thousands."""

    row: Comparison
    by: Hypothesis
