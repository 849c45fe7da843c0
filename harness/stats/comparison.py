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
from threadpoolctl import threadpool_limits

from harness.stats.intervals import check_options, interval
from harness.stats.resampling import by_cluster, chunks, cluster_codes, draws, generator
from harness.types import Advance, Array, Comparison, HarnessError, Metric, RunResult, nothing

TESTS = ("bootstrap", "randomization")
POWER = 0.8


@dataclass
class _Pair:
    """Two systems' rows of one metric on shared units; rows of excluded examples are zero in both."""

    metric: Metric
    baseline: Array
    system: Array

    def difference(self, weights: Array) -> Array:
        """(r, s) from weights (r, n)."""
        score = self.metric.score_weighted
        return np.asarray(score(weights, self.system) - score(weights, self.baseline))

    def swapped(self, swaps: Array) -> Array:
        """Differences (r, s) after exchanging the rows of the units marked in swaps (r, n)."""
        if type(self.metric).score_weighted is Metric.score_weighted:
            moved = swaps @ (self.baseline - self.system)
            score = self.metric.score
            return np.asarray(score(self.system.sum(0) + moved) - score(self.baseline.sum(0) - moved))
        one = np.ones((1, len(self.system)))
        found = []
        for swap in swaps.astype(bool):
            a = np.where(swap[:, None], self.baseline, self.system)
            b = np.where(swap[:, None], self.system, self.baseline)
            found.append((self.metric.score_weighted(one, a) - self.metric.score_weighted(one, b))[0])
        return np.array(found)


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
    clusters = first.examples[first.cluster].tolist() if first.cluster else None
    codes = cluster_codes(clusters)
    pairs: list[tuple[RunResult, RunResult, _Pair, int, int]] = []
    for baseline, system in group:
        for name, mine in system.statistics.items():
            theirs = baseline.statistics[name]
            keep = np.asarray(~(np.isnan(mine.rows).any(1) | np.isnan(theirs.rows).any(1)))
            pair = _Pair(
                mine.metric,
                by_cluster(np.where(keep[:, None], theirs.rows, 0.0), codes),
                by_cluster(np.where(keep[:, None], mine.rows, 0.0), codes),
            )
            units = int(keep.sum()) if codes is None else len(set(codes[keep].tolist()))
            if units < 2:
                what = "clusters" if codes is not None else "examples"
                raise HarnessError(
                    f"{baseline.name} and {system.name} share {units} {what} with {name} scores; "
                    "expected at least 2 for a comparison"
                )
            pairs.append((baseline, system, pair, units, int((~keep).sum())))
    n = len(pairs[0][2].system)
    purpose = f"comparison {first.dataset_key}"
    drawn: list[list[Array]] = [[] for _ in pairs]
    with threadpool_limits(limits=1, user_api="blas"), np.errstate(divide="ignore", invalid="ignore"):
        for counts in draws(n, resamples, seed, purpose):
            for part, (_, _, pair, _, _) in zip(drawn, pairs, strict=True):
                part.append(pair.difference(counts))
            advance(len(counts))
        observed = [pair.difference(np.ones((1, n)))[0] for _, _, pair, _, _ in pairs]
        if test == "randomization":
            null = _swaps([pair for _, _, pair, _, _ in pairs], n, resamples, seed, purpose)
        else:
            null = [np.concatenate(part) - seen for part, seen in zip(drawn, observed, strict=True)]
    exact = 2**n if test == "randomization" and _enumerable(n, resamples) else None
    found: list[tuple[Comparison, Array, bool]] = []
    for (baseline, system, pair, units, excluded), part, seen, shuffled in zip(
        pairs, drawn, observed, null, strict=True
    ):
        replicate = np.concatenate(part)
        lows, highs = interval(replicate, seen, level, "percentile")
        for i, score in enumerate(pair.metric.score_names):
            if "." in score:
                continue
            difference = float(seen[i])
            spread = float(np.nanstd(replicate[:, i]))
            reach = NormalDist().inv_cdf((1 + level) / 2) + NormalDist().inv_cdf(POWER)
            found.append(
                (
                    Comparison(
                        dataset=first.dataset,
                        baseline=baseline.name,
                        system=system.name,
                        score=score,
                        n=units,
                        unit="examples" if codes is None else f"clusters by {first.cluster}",
                        excluded=excluded,
                        baseline_estimate=baseline.scores[score].estimate,
                        system_estimate=system.scores[score].estimate,
                        difference=difference,
                        low=float(lows[i]),
                        high=float(highs[i]),
                        p_value=_p(shuffled[:, i], difference, exact),
                        p_adjusted=None,
                        verdict="not distinguishable",
                        smallest_detectable=reach * spread,
                    ),
                    shuffled[:, i],
                    pair.metric.higher_is_better,
                )
            )
    return found


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
    return np.asarray(values >= bound - 1e-12 * max(1.0, abs(bound)))


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
