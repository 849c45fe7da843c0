"""The family of hypotheses that a comparison tests: how to test, the correction over all of them, the verdicts, and the
averages over data sets, which are a family of their own.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from harness.stats.corrections import ALTERNATIVES, CORRECTIONS, benjamini_hochberg, holm, max_t, share
from harness.stats.intervals import check_options, interval, number, spread
from harness.stats.power import smallest_detectable
from harness.types import Array, Comparison, HarnessError

log = logging.getLogger(__name__)
TESTS = ("bootstrap", "randomization")
METHODS = ("percentile", "basic", "bca", "normal")


@dataclass(frozen=True)
class Options:
    """How to compare."""

    test: str = "bootstrap"
    resamples: int = 10_000
    level: float = 0.95
    seed: int = 12345
    method: str = "percentile"
    """Of the intervals of differences."""
    alternative: str = "two-sided"
    """`better` or `worse`: a one-sided test of the system against the baseline."""
    correction: str = "max-t"
    scores: tuple[str, ...] | None = None
    """The headline scores of the family; all where None."""
    cross_check: bool = False
    """Also the paired t-test and Wilcoxon's signed ranks, where a score is a mean over examples."""

    def check(self) -> None:
        check_options(self.resamples, self.level, "percentile", self.seed)
        choices = {
            "test": TESTS,
            "method": METHODS,
            "alternative": ALTERNATIVES,
            "correction": CORRECTIONS,
        }
        for name, known in choices.items():
            if getattr(self, name) not in known:
                raise HarnessError(f"{name}={getattr(self, name)}; expected one of {', '.join(known)}")
        if self.resamples == 0:
            raise HarnessError("resamples=0; expected 2 or more for a comparison")

    @property
    def sides(self) -> int:
        return 2 if self.alternative == "two-sided" else 1

    def statistic(self, differences: Array, higher_is_better: bool) -> Array:
        """What speaks against the null hypothesis, from differences of any shape."""
        if self.alternative == "two-sided":
            return np.abs(differences)
        return differences if (self.alternative == "better") == higher_is_better else -differences


@dataclass(frozen=True)
class Found:
    """A comparison before its correction, with its draws."""

    row: Comparison
    systems: tuple[str, str]
    drawn: Array
    """(resamples,) replicates of the difference."""
    null: Array
    """(resamples,) differences under the null hypothesis; all of them where these are fewer."""
    exact: bool


def corrected(found: Sequence[Found], options: Options) -> list[Comparison]:
    """The rows with adjusted p-values over all of them, and their verdicts."""
    plain = [1.0 if one.row.p_value is None else one.row.p_value for one in found]
    if not found or options.correction == "none":
        adjusted = plain
    elif options.correction == "max-t":
        exact = all(one.exact for one in found) and len({len(one.null) for one in found}) == 1
        length = len(found[0].null) if exact else options.resamples
        ups = [one.row.higher_is_better for one in found]
        seen = [one.row.difference or 0.0 for one in found]
        statistics = [float(options.statistic(np.array(d), up)) for d, up in zip(seen, ups, strict=True)]
        nulls = [options.statistic(np.resize(one.null, length), up) for one, up in zip(found, ups, strict=True)]
        adjusted = max_t(statistics, nulls, exact)
        adjusted = [max(p, q) for p, q in zip(adjusted, plain, strict=True)]
    else:
        adjusted = (holm if options.correction == "holm" else benjamini_hochberg)(plain)
        least = len(found) / (options.resamples + 1)
        if options.correction == "holm" and least > 1 - options.level:
            log.warning(
                "Holm's smallest possible p for %d hypotheses and %d resamples is %.3f, above %.3g: nothing can be "
                "significant; expected more resamples, or the correction max-t",
                len(found), options.resamples, least, 1 - options.level,
            )  # fmt: skip
    return [_judged(one.row, p, options) for one, p in zip(found, adjusted, strict=True)]


def _judged(row: Comparison, p_adjusted: float, options: Options) -> Comparison:
    verdict = "not distinguishable"
    if p_adjusted <= 1 - options.level and row.difference:
        verdict = "better" if (row.difference > 0) == row.higher_is_better else "worse"
    return replace(row, p_adjusted=p_adjusted, verdict=verdict)


def macro(groups: Sequence[Sequence[Found]], options: Options) -> list[Found]:
    """Each score of a pair of systems averaged over the data sets, where all data sets have it."""
    tables = [{(*one.systems, one.row.score): one for one in group} for group in groups]
    if len(groups) < 2 or any(len(t) < len(group) for t, group in zip(tables, groups, strict=True)):
        return []  # one data set, or several runs of one system on it
    common = [key for key in tables[0] if all(key in table for table in tables)]
    return [_averaged([table[key] for table in tables], options) for key in common]


def _averaged(parts: Sequence[Found], options: Options) -> Found:
    rows = [part.row for part in parts]
    drawn = np.mean([part.drawn for part in parts], axis=0)
    null = np.mean([np.resize(part.null, options.resamples) for part in parts], axis=0)
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
    return Found(row, parts[0].systems, drawn, null, False)


def _weighted(shares: Sequence[float | None], weights: Sequence[int]) -> float | None:
    known = [share for share in shares if share is not None]
    return float(np.average(known, weights=weights)) if len(known) == len(shares) else None
