"""The family of hypotheses that a comparison tests: the correction over all of them, the verdicts, and the averages
over data sets, which are a family of their own.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Any, Protocol

import numpy as np

from harness.stats.corrections import benjamini_hochberg, holm, max_t, share
from harness.stats.detection import smallest_detectable
from harness.stats.intervals import interval, number, spread
from harness.stats.options import ComparisonOptions
from harness.types import Array, Comparison

log = logging.getLogger(__name__)
NORMAL = NormalDist()


class Source(Protocol):
    """The draws of the scores of two systems, made when they are asked for: a family's do not fit into memory."""

    def drawn(self, score: int) -> Array:
        """The replicates (resamples,) of the difference."""
        ...

    def null(self, score: int) -> Array:
        """The differences (draws,) under the null hypothesis."""
        ...


@dataclass(frozen=True, slots=True)
class Tested:
    """A comparison before its correction, with its draws. There may be hundreds of thousands."""

    row: Comparison
    systems: tuple[str, str]
    source: Source
    score: int
    """Its place among those of the source."""
    draws: int
    """How many there are under the null: `resamples`, or all there can be where those are fewer."""
    exact: bool

    def statistic(self, options: ComparisonOptions) -> float:
        """What is held against the draws under the null: the difference or, where the test is a t-test, the one that
        has its p among draws that are normal."""
        if self.row.question == "seeds" and self.row.p_value is not None:
            tail = min(max(self.row.p_value / options.sides, 1e-300), 1 - 1e-16)
            return -NORMAL.inv_cdf(tail) * float(np.sqrt(np.nanmean(self.null() ** 2)))
        return float(options.statistic(np.array(self.row.difference or 0.0), self.row.higher_is_better))

    def drawn(self) -> Array:
        return self.source.drawn(self.score)

    def null(self) -> Array:
        return self.source.null(self.score)


def corrected(tested: list[Tested], options: ComparisonOptions) -> list[Comparison]:
    """The rows with adjusted p-values over all of them, and their verdicts; the list is empty then, so that no row is
    in memory twice."""
    plain = [1.0 if part.row.p_value is None else part.row.p_value for part in tested]
    if not tested or options.correction == "none":
        adjusted = plain
    elif options.correction == "max-t":
        exact = all(part.exact for part in tested) and len({part.draws for part in tested}) == 1
        nulls = _Nulls(tested, tested[0].draws if exact else options.resamples, options)
        adjusted = max_t([part.statistic(options) for part in tested], nulls, exact)
        adjusted = [max(p, q) for p, q in zip(adjusted, plain, strict=True)]
    else:
        adjusted = (holm if options.correction == "holm" else benjamini_hochberg)(plain)
        least = len(tested) / (options.resamples + 1)
        if options.correction == "holm" and least > 1 - options.level:
            log.warning(
                "Holm's smallest possible p for %d hypotheses and %d resamples is %.3f, above %.3g: nothing can be "
                "significant; expected more resamples, or the correction max-t",
                len(tested), options.resamples, least, 1 - options.level,
            )  # fmt: skip
    judged = [_judged(tested.pop().row, p, options) for p in reversed(adjusted)]
    return judged[::-1]


class _Nulls(Sequence[Array]):
    """The statistics (length,) of each hypothesis under the null, made when they are asked for."""

    def __init__(self, family: Sequence[Tested], length: int, options: ComparisonOptions) -> None:
        self.family, self.length, self.options = family, length, options

    def __len__(self) -> int:
        return len(self.family)

    def __getitem__(self, i: Any) -> Any:
        hypothesis = self.family[i]
        return self.options.statistic(np.resize(hypothesis.null(), self.length), hypothesis.row.higher_is_better)


def _judged(row: Comparison, p_adjusted: float, options: ComparisonOptions) -> Comparison:
    verdict = "not distinguishable"
    if p_adjusted <= 1 - options.level and row.difference:
        verdict = "better" if (row.difference > 0) == row.higher_is_better else "worse"
    return replace(row, p_adjusted=p_adjusted, verdict=verdict)


def macro(groups: Sequence[Sequence[Tested]], options: ComparisonOptions) -> list[Tested]:
    """Each score of a pair of systems averaged over the data sets, where all data sets have it."""
    tables = [{(*part.systems, part.row.score): part for part in group} for group in groups]
    if len(groups) < 2 or any(len(t) < len(group) for t, group in zip(tables, groups, strict=True)):
        return []  # one data set, or several runs of one system on it
    if any(part.row.question == "seeds" for group in groups for part in group):
        log.warning("averages over data sets are not tested for new seeds; --question outputs tests these outputs")
        return []
    common = [key for key in tables[0] if all(key in table for table in tables)]
    return [_averaged([table[key] for table in tables], options) for key in common]


def _averaged(parts: Sequence[Tested], options: ComparisonOptions) -> Tested:
    rows = [part.row for part in parts]
    mean = _Mean(parts, options.resamples)
    drawn, null = mean.drawn(), mean.null()
    estimates = [[getattr(row, f"{who}_estimate") for row in rows] for who in ("baseline", "system")]
    before, after = (None if None in some else float(np.mean(some)) for some in estimates)
    difference = np.nan if before is None or after is None else after - before
    method = "percentile" if options.method == "bca" else options.method
    low, high = interval(drawn[:, None], np.array([difference]), options.level, method)
    error = float(spread(drawn[:, None])[0])
    units = sorted({row.unit for row in rows})
    first = rows[0]
    seen = options.statistic(np.array(difference), first.higher_is_better)
    p_value = share(options.statistic(null, first.higher_is_better), float(seen))
    weights = [row.n for row in rows]
    won, tied, lost = (_weighted([getattr(row, name) for row in rows], weights) for name in ("won", "tied", "lost"))
    row = replace(
        first,
        dataset=f"average of {len(rows)} data sets",
        baseline=parts[0].systems[0],
        system=parts[0].systems[1],
        n=sum(weights),
        unit=units[0] if len(units) == 1 else "units",
        excluded=sum(row.excluded for row in rows),
        baseline_estimate=before,
        system_estimate=after,
        difference=number(difference),
        low=number(low[0]),
        high=number(high[0]),
        p_value=p_value if np.isfinite(difference) else None,
        smallest_detectable=number(smallest_detectable(error, options.level, sides=options.sides)),
        needed=None,
        standard_error=number(error),
        effect_size=None,
        p_t=None,
        p_wilcoxon=None,
        won=won,
        tied=tied,
        lost=lost,
    )
    return Tested(row, parts[0].systems, mean, 0, options.resamples, False)


@dataclass(frozen=True, slots=True)
class _Mean:
    """The draws of the average over data sets."""

    parts: Sequence[Tested]
    resamples: int

    def drawn(self, score: int = 0) -> Array:
        return np.asarray(np.mean([part.drawn() for part in self.parts], axis=0))

    def null(self, score: int = 0) -> Array:
        return np.asarray(np.mean([np.resize(part.null(), self.resamples) for part in self.parts], axis=0))


def _weighted(shares: Sequence[float | None], weights: Sequence[int]) -> float | None:
    known = [share for share in shares if share is not None]
    return float(np.average(known, weights=weights)) if len(known) == len(shares) else None
