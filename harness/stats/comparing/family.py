"""The family of hypotheses that a comparison tests: the correction over all of them, the verdicts, and the averages
over data sets, which are a family of their own.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from harness.inputs.choices import T
from harness.stats.comparing.hypotheses import Hypothesis, Tested
from harness.stats.comparing.joint import Joint, Swaps
from harness.stats.comparing.margins import EQUIVALENT, NOT_WORSE, margin_p_values
from harness.stats.comparing.skewness import p_values_by_skewness
from harness.stats.corrections import Scale, benjamini_hochberg, holm, max_t, normal_scores, share
from harness.stats.expansion import NORMAL, Expansion
from harness.stats.fewness import TOO_FEW, least_by_bootstrap, least_p, reason, reason_of_bootstrap, too_few
from harness.stats.intervals import SHORT_TAILED, interval, number, spread
from harness.stats.options import ComparisonOptions
from harness.stats.power.detection import smallest_detectable
from harness.stats.proportions import TANGO, MeanOfPairedShares, PairedShares
from harness.types import Array, Comparison

log = logging.getLogger(__name__)
MANY_UNITS = 30
"""Of equal size, from which replicates are taken for normal."""


def corrected(tested: list[Tested], options: ComparisonOptions) -> list[Comparison]:
    """The rows with adjusted p-values over all of them, and their verdicts; the list is empty then, so that no row is
    in memory twice."""
    plain = [1.0 if part.row.p_value is None else part.row.p_value for part in tested]
    sliced = options.sliced_by is not None and options.correction != "none"
    by_skewness = p_values_by_skewness(tested, options) if sliced else [0.0] * len(tested)
    plain = [max(pair) for pair in zip(plain, by_skewness, strict=True)]
    if len(tested) < 2 or options.correction == "none":
        adjusted = plain
    elif options.correction == "max-t":
        adjusted = [max(pair) for pair in zip(_max_t(tested, by_skewness, options), plain, strict=True)]
    else:
        adjusted = (holm if options.correction == "holm" else benjamini_hochberg)(plain)
        least = len(tested) / (options.resamples + 1)
        if options.correction == "holm" and least > 1 - options.level:
            log.warning(
                "Holm's smallest possible p for %d hypotheses and %d resamples is %.3f, above %.3g: nothing can be "
                "significant; expected more resamples, or the correction max-t",
                len(tested), options.resamples, least, 1 - options.level,
            )  # fmt: skip
    within = margin_p_values(tested, options)
    judged = [_judged(tested.pop(), p, within.get(i), options) for i, p in reversed(list(enumerate(adjusted)))]
    return judged[::-1]


def _max_t(tested: Sequence[Tested], by_skewness: Sequence[float], options: ComparisonOptions) -> list[float]:
    joint = Joint({part.by.group: part.by.draws for part in tested}, options.resamples, options.seed)
    seen = [(part.row.difference or 0.0, part.row.higher_is_better) for part in tested]
    statistics = [float(options.statistic(np.array(d), up)) for d, up in seen]
    scales = [_scale(part, p, options) for part, p in zip(tested, by_skewness, strict=True)]
    return max_t(statistics, _Nulls(tested, joint, options), joint.exact, scales)


def _scale(part: Tested, p_value: float, options: ComparisonOptions) -> Scale:
    """How it is compared with the others; no further out than this p says, which is 0 where skewness has no say."""
    scale = _plain_scale(part, options)
    if not p_value:
        return scale
    furthest = -NORMAL.inv_cdf(p_value / options.sides)
    return Scale(lambda distance: min(scale.seen(distance), furthest), scale.drawn)


def _plain_scale(part: Tested, options: ComparisonOptions) -> Scale:
    """Replicates of few units have shorter tails than the normal distribution, and each number of units has its own:
    they are compared by how often each is reached. Swaps are compared as they are."""
    if options.test != "bootstrap":
        return Scale(lambda distance: distance, lambda draws: draws)
    if part.by.expansion.effective >= MANY_UNITS or part.row.question == "seeds":
        return Scale(part.by.expansion.shrunk, lambda draws: draws)
    return Scale(partial(_by_p_value, part, options), partial(normal_scores, sides=options.sides))


def _by_p_value(part: Tested, options: ComparisonOptions, distance: float) -> float:
    """What a normal variable exceeds as often as the p of the hypothesis says; further out, as its distance in standard
    deviations says, where no draw went as far."""
    expansion, sides = part.by.expansion, options.sides
    far = expansion.shrunk(distance)
    if part.row.p_value is None or part.row.p_value >= 1:
        return far
    by_p = -NORMAL.inv_cdf(part.row.p_value / sides)
    if part.row.p_value > expansion.p_value(1 / (options.resamples + 1), sides):
        return by_p
    return max(by_p, min(far, -NORMAL.inv_cdf(least_p(part.by.differing, sides) / sides)))


class _Nulls(Sequence[Array]):
    """The statistics (length,) of each hypothesis under the null, made when they are asked for."""

    def __init__(self, family: Sequence[Tested], joint: Joint, options: ComparisonOptions) -> None:
        self.family, self.joint, self.options = family, joint, options

    def __len__(self) -> int:
        return len(self.family)

    def __getitem__(self, i: Any) -> Any:
        part = self.family[i]
        null = self.joint.taken(part.by.group, part.by.null())
        return self.options.statistic(null, part.row.higher_is_better)


def _judged(
    part: Tested, p_adjusted: float, within: tuple[float, float] | None, options: ComparisonOptions
) -> Comparison:
    """The verdict. What lies within a margin is equivalent, be it better or worse by less than that."""
    row, alpha, verdict = part.row, 1 - options.level, "not distinguishable"
    not_worse, equivalent = within or (1.0, 1.0)
    if equivalent <= alpha:
        verdict = EQUIVALENT
    elif p_adjusted <= alpha and row.difference:
        verdict = "better" if (row.difference > 0) == row.higher_is_better else "worse"
    elif not_worse <= alpha:
        verdict = NOT_WORSE
    elif row.difference is not None and (why := _too_few(part, options)):
        verdict = TOO_FEW
        row = replace(row, smallest_detectable=None, note=why)
    if within is not None:
        row = replace(row, p_not_worse=not_worse, p_equivalent=equivalent)
    return replace(row, p_adjusted=p_adjusted, verdict=verdict)


def _too_few(part: Tested, options: ComparisonOptions) -> str | None:
    """Why no result whatever could have been significant, if so it is."""
    row, test = part.row, (options.level, options.sides)
    if too_few(row, *test):
        return reason(row.n, row.unit, *test)
    if options.test != "bootstrap" or row.question == "seeds":
        return None
    least = least_by_bootstrap(part.by.expansion, options.sides, options.resamples)
    return reason_of_bootstrap(row, part.by.expansion, least) if least > 1 - options.level else None


def macro(groups: Sequence[Sequence[Tested]], options: ComparisonOptions) -> list[Tested]:
    """Each score of a pair of systems averaged over the data sets, where all data sets have it."""
    tables = [{(*part.by.systems, part.row.score): part for part in group} for group in groups]
    if len(groups) < 2 or any(len(t) < len(group) for t, group in zip(tables, groups, strict=True)):
        return []  # one data set, or several runs of one system on it
    if any(part.row.question == "seeds" for group in groups for part in group):
        log.warning("averages over data sets are not tested for new seeds; --question outputs tests these outputs")
        return []
    common = [key for key in tables[0] if all(key in table for table in tables)]
    if not common:
        return []
    joint = Joint({group[0].by.group: group[0].by.draws for group in groups}, options.resamples, options.seed)
    return [_averaged([table[key] for table in tables], joint, options) for key in common]


def _averaged(parts: Sequence[Tested], joint: Joint, options: ComparisonOptions) -> Tested:
    rows = [part.row for part in parts]
    mean = _Mean([part.by for part in parts], joint)
    drawn = mean.drawn()
    estimates = [[getattr(row, f"{who}_estimate") for row in rows] for who in ("baseline", "system")]
    before, after = (None if None in some else float(np.mean(some)) for some in estimates)
    difference = np.nan if before is None or after is None else after - before
    hypothesis = Hypothesis(
        systems=parts[0].by.systems,
        source=mean,
        score=0,
        group="average",
        draws=Swaps(joint.length, joint.exact),
        expansion=Expansion.joined([part.by.expansion for part in parts], [_variance(part) for part in parts]),
        differing=sum(part.by.differing for part in parts),
        shares=_mean_of_shares(parts, options.level),
        largest=parts[0].by.largest,
    )
    method, (low, high) = _bounds_of_average(rows, hypothesis, drawn, difference, options)
    error, degrees = _error_of_average(rows, hypothesis, drawn, options.level)
    units = sorted({row.unit for row in rows})
    first = rows[0]
    seen = float(options.statistic(np.array(difference), first.higher_is_better))
    plain = share(options.statistic(mean.null(), first.higher_is_better), seen, joint.exact)
    weights = [row.n for row in rows]
    won, tied, lost = (_weighted([getattr(row, name) for row in rows], weights) for name in ("won", "tied", "lost"))
    row = replace(
        first,
        dataset=f"average of {len(rows)} data sets",
        baseline=parts[0].by.systems[0],
        system=parts[0].by.systems[1],
        n=sum(weights),
        unit=units[0] if len(units) == 1 else "units",
        excluded=sum(row.excluded for row in rows),
        baseline_estimate=before,
        system_estimate=after,
        difference=number(difference),
        low=number(low),
        high=number(high),
        p_value=hypothesis.p_value(plain, options) if np.isfinite(difference) else None,
        smallest_detectable=number(smallest_detectable(error, options.level, sides=options.sides, df=degrees)),
        needed=None,
        standard_error=number(error),
        effect_size=None,
        p_t=None,
        p_wilcoxon=None,
        won=won,
        tied=tied,
        lost=lost,
        method=method,
        note=None,
        posterior_better=None,
        posterior_within=None,
        test_degrees=degrees,
    )
    return Tested(row, hypothesis)


def _bounds_of_average(
    rows: Sequence[Comparison], by: Hypothesis, drawn: Array, difference: float, options: ComparisonOptions
) -> tuple[str, tuple[float, float]]:
    """(method, (low, high)) from replicates (resamples,); Student's t where the units of a data set are too few for
    quantiles."""
    if options.method == "auto" and by.shares is not None:
        return TANGO, by.shares.interval(options.level)
    method = "expanded" if options.method in ("auto", "bca") else options.method
    more = by.expansion if method == "expanded" else None
    if options.method == "auto" and any(row.method == T or row.n <= SHORT_TAILED for row in rows):
        method, ends = T, interval(drawn[:, None], np.array([difference]), options.level, "normal", by.expansion)
        low, high = np.clip(ends, -by.largest, by.largest)
    else:
        low, high = interval(drawn[:, None], np.array([difference]), options.level, method, more)
    return method, (float(low[0]), float(high[0]))


def _mean_of_shares(parts: Sequence[Tested], level: float) -> MeanOfPairedShares | None:
    """Where every example of every data set is right or wrong."""
    shares = [part.by.shares for part in parts if isinstance(part.by.shares, PairedShares)]
    return MeanOfPairedShares.of(shares, level) if len(shares) == len(parts) else None


def _error_of_average(rows: Sequence[Comparison], by: Hypothesis, drawn: Array, level: float) -> tuple[float, float]:
    """(the standard error of the mean, by what could have been seen where few or no examples differ; its degrees of
    freedom)."""
    if by.shares is not None:
        return by.shares.error(level), by.shares.expansion.df
    error = float(spread(drawn[:, None])[0]) * math.sqrt(by.expansion.ratio) if by.differing else _unseen(rows)
    return error, by.expansion.df


def _unseen(rows: Sequence[Comparison]) -> float:
    """The largest standard error that the mean may have where no example of any data set differs."""
    return float(np.sqrt(sum(np.nan if row.standard_error is None else row.standard_error**2 for row in rows))) / len(
        rows
    )


def _variance(part: Tested) -> float:
    return (part.row.standard_error or 0.0) ** 2 if part.by.differing else 0.0


@dataclass(frozen=True, slots=True)
class _Mean:
    """The draws of the average over data sets."""

    parts: Sequence[Hypothesis]
    joint: Joint

    def drawn(self, score: int = 0) -> Array:
        return np.asarray(np.mean([part.drawn() for part in self.parts], axis=0))

    def null(self, score: int = 0) -> Array:
        return np.asarray(np.mean([self.joint.taken(part.group, part.null()) for part in self.parts], axis=0))

    def by_unit(self, score: int = 0) -> None:
        """Data sets have units of their own."""


def _weighted(shares: Sequence[float | None], weights: Sequence[int]) -> float | None:
    known = [share for share in shares if share is not None]
    return float(np.average(known, weights=weights)) if len(known) == len(shares) else None
