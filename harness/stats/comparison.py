"""Paired comparison of systems on the same examples.

For each headline score the difference to a baseline gets a bootstrap interval and a two-sided p-value, from the same
resamples for all systems. `bootstrap`: p = (1 + #{|d* - d| >= |d|}) / (R + 1), with d* the resampled differences.
`randomization`: outputs of the two systems are swapped at random, p = (1 + #{|d*| >= |d|}) / (R + 1), by exact
enumeration where there are no more than R ways to swap. Identical systems get p = 1 either way. P-values are adjusted
over the whole family (scores x systems x data sets) by the step-down max-T of Westfall and Young (1993) on the shared
resamples; verdicts follow the adjusted ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist

import numpy as np

from harness.stats.intervals import check_options, interval, number
from harness.stats.resampling import Codes, Sample, chunks, cluster_codes, draws, generator, quiet_single_thread
from harness.types import Advance, Array, Comparison, HarnessError, RunResult, nothing

TESTS = ("bootstrap", "randomization")
POWER = 0.8


@dataclass(frozen=True)
class _Pair:
    """Two systems on one metric and the same units; examples that failed in either are left out of both."""

    baseline: RunResult
    system: RunResult
    before: Sample
    after: Sample
    n: int
    excluded: int

    def differences(self, weights: Array) -> Array:
        """(r, s) from weights (r, units)."""
        return np.asarray(self.after.scores(weights) - self.before.scores(weights))

    def swapped(self, swaps: Array) -> Array:
        """Differences (r, s) after exchanging the outputs of the units marked in swaps (r, units)."""
        a, b, metric = self.before.rows, self.after.rows, self.after.metric
        if self.after.summable:
            moved = swaps @ (a - b)
            return np.asarray(metric.score(b.sum(0) + moved) - metric.score(a.sum(0) - moved))
        marks = swaps[:, self.after.members, None].astype(bool)
        one = np.ones((1, len(a)))
        pairs = ((np.where(mark, a, b), np.where(mark, b, a)) for mark in marks)
        return np.concatenate([metric.score_weighted(one, x) - metric.score_weighted(one, y) for x, y in pairs])


def compare(
    groups: Sequence[Sequence[tuple[RunResult, RunResult]]],
    test: str = "bootstrap",
    resamples: int = 10_000,
    level: float = 0.95,
    seed: int = 12345,
    advance: Advance = nothing,
) -> list[Comparison]:
    """Compares (baseline, system) pairs, grouped by data; the runs of a group hold the same examples in one order.

    `advance` is told of resamples done, `resamples` for each group.
    """
    check_options(resamples, level, "percentile", seed)
    if test not in TESTS:
        raise HarnessError(f"the test {test!r} is not known; expected one of {', '.join(TESTS)}")
    if resamples == 0:
        raise HarnessError("resamples=0; expected 2 or more for a comparison")
    found = [one for group in groups for one in _group(group, test, resamples, level, seed, advance)]
    adjusted = max_t([row.difference or 0.0 for row, _, _ in found], np.array([null for _, null, _ in found]).T)
    return [_judged(row, p, upward, level) for (row, _, upward), p in zip(found, adjusted, strict=True)]


def _group(
    group: Sequence[tuple[RunResult, RunResult]],
    test: str,
    resamples: int,
    level: float,
    seed: int,
    advance: Advance,
) -> list[tuple[Comparison, Array, bool]]:
    """Unadjusted comparisons on one data set, each with its draws (resamples,) under the null hypothesis and whether
    higher is better."""
    first = group[0][0]
    codes = cluster_codes(first.examples[first.cluster].tolist() if first.cluster else None)
    unit = "examples" if codes is None else f"clusters by {first.cluster}"
    pairs = [_pair(baseline, system, name, codes, unit) for baseline, system in group for name in system.statistics]
    units = pairs[0].after.units
    purpose = f"comparison {first.dataset_key}"
    drawn: list[list[Array]] = [[] for _ in pairs]
    with quiet_single_thread():
        for counts in draws(units, resamples, seed, purpose):
            for part, pair in zip(drawn, pairs, strict=True):
                part.append(pair.differences(counts))
            advance(len(counts))
        whole = np.ones((1, units))
        observed = [pair.differences(whole)[0] for pair in pairs]
        replicates = [np.concatenate(part) for part in drawn]
        exact = None
        if test == "bootstrap":
            null = [part - seen for part, seen in zip(replicates, observed, strict=True)]
        else:
            null = _swaps(pairs, units, resamples, seed, purpose)
            exact = 2**units if _enumerable(units, resamples) else None
    reach = NormalDist().inv_cdf((1 + level) / 2) + NormalDist().inv_cdf(POWER)
    found: list[tuple[Comparison, Array, bool]] = []
    for pair, replicate, seen, under_null in zip(pairs, replicates, observed, null, strict=True):
        lows, highs = interval(replicate, seen, level, "percentile")
        for i, score in enumerate(pair.after.metric.score_names):
            if "." in score:
                continue
            comparison = Comparison(
                dataset=first.dataset,
                baseline=pair.baseline.name,
                system=pair.system.name,
                score=score,
                n=pair.n,
                unit=unit,
                excluded=pair.excluded,
                baseline_estimate=number(pair.before.scores(whole)[0, i]),
                system_estimate=number(pair.after.scores(whole)[0, i]),
                difference=number(seen[i]),
                low=number(lows[i]),
                high=number(highs[i]),
                p_value=_p(under_null[:, i], float(seen[i]), exact) if np.isfinite(seen[i]) else None,
                p_adjusted=None,
                verdict="not distinguishable",
                smallest_detectable=number(reach * float(np.nanstd(replicate[:, i]))),
            )
            found.append((comparison, under_null[:, i], pair.after.metric.higher_is_better))
    return found


def _pair(baseline: RunResult, system: RunResult, name: str, codes: Codes | None, unit: str) -> _Pair:
    before, after = baseline.statistics[name], system.statistics[name]
    keep = np.asarray(~(np.isnan(before.rows).any(1) | np.isnan(after.rows).any(1)))
    n = int(keep.sum()) if codes is None else len(set(codes[keep].tolist()))
    if n < 2:
        raise HarnessError(
            f"{baseline.name} and {system.name} share {n} {unit} with {name} scores; expected at least 2 to compare"
        )
    paired = [Sample(one.metric, one.rows, codes, keep) for one in (before, after)]
    return _Pair(baseline, system, paired[0], paired[1], n, int((~keep).sum()))


def _swaps(pairs: Sequence[_Pair], n: int, resamples: int, seed: int, purpose: str) -> list[Array]:
    """Differences under random swaps, or under all of them where there are no more than `resamples`."""
    parts: list[list[Array]] = [[] for _ in pairs]
    if _enumerable(n, resamples):
        codes = np.arange(resamples) % 2**n  # all ways to swap, over and over
        masks = ((codes[:, None] >> np.arange(n)) & 1).astype(np.float64)
        return [pair.swapped(masks) for pair in pairs]
    for index, size, used in chunks(n, resamples):
        masks = generator(seed, purpose + " swaps", index).integers(0, 2, size=(size, n)).astype(np.float64)[:used]
        for part, pair in zip(parts, pairs, strict=True):
            part.append(pair.swapped(masks))
    return [np.concatenate(part) for part in parts]


def _enumerable(n: int, resamples: int) -> bool:
    return n < 63 and 2**n <= resamples


def _p(null: Array, difference: float, exact: int | None) -> float:
    """Two-sided p-value; `exact`: the first so many draws are all there are, the identity among them."""
    if exact is not None:
        return float(np.count_nonzero(_reaches(np.abs(null[:exact]), abs(difference))) / exact)
    null = null[~np.isnan(null)]
    return float((1 + np.count_nonzero(_reaches(np.abs(null), abs(difference)))) / (1 + len(null)))


def _reaches(values: Array, bound: float) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """values >= bound, rounding errors of equal sums aside."""
    slack = 1e-12 * max(1.0, abs(bound)) if np.isfinite(bound) else 0.0
    return np.asarray(values >= bound - slack)


def max_t(differences: Sequence[float], nulls: Array) -> list[float]:
    """Step-down max-T p-values (Westfall and Young 1993, algorithm 2.8) from null draws (resamples, hypotheses)."""
    nulls = np.nan_to_num(np.abs(nulls))
    spread = np.sqrt((nulls**2).mean(0))
    scale = np.where(spread > 0, spread, 1.0)
    observed = np.where(spread > 0, np.abs(differences) / scale, np.where(np.abs(differences) > 0, np.inf, 0.0))
    scaled = nulls / scale
    order = np.argsort(-observed, kind="stable")
    p_values = np.ones(len(order))
    largest = np.zeros(len(nulls))
    for j in order[::-1]:  # from the smallest statistic up, keeping the running maximum
        largest = np.maximum(largest, scaled[:, j])
        p_values[j] = (1 + np.count_nonzero(_reaches(largest, observed[j]))) / (1 + len(nulls))
    highest = 0.0
    for j in order:
        highest = p_values[j] = max(highest, p_values[j])
    return [float(p) for p in p_values]


def _judged(row: Comparison, p_adjusted: float, higher_is_better: bool, level: float) -> Comparison:
    p_adjusted = max(p_adjusted, row.p_value or 0.0)
    verdict = "not distinguishable"
    if p_adjusted <= 1 - level and row.difference:
        verdict = "better" if (row.difference > 0) == higher_is_better else "worse"
    return replace(row, p_adjusted=p_adjusted, verdict=verdict)
