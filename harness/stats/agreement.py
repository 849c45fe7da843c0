"""How well metrics agree with people, with intervals, and which metric agrees better, with a test.

Intervals are percentiles over resamples of items, systems or both (Deutsch, Dror and Roth 2021), the same for all
metrics, so that differences between metrics have intervals too. Tests are those of
exchange.py, corrected over all rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from harness.stats.corrections import benjamini_hochberg, holm, max_t, share
from harness.stats.exchange import Statistic, Swaps, of_segments, of_systems
from harness.stats.intervals import interval, number
from harness.stats.panel import MetaOptions, Panel, Resampling
from harness.stats.segment_level import SEGMENT, Groups, SegmentLevel
from harness.stats.system_level import ORDERED, SYSTEM, SoftPairs, drawn_means, drawn_scores, ordered, soft
from harness.types import Advance, Array, HarnessError, nothing

LEVELS = {"segment": SEGMENT, "system": SYSTEM}
NAMES = tuple(dict.fromkeys((*SEGMENT, *SYSTEM)))
LEAST = 3
"""Systems below which nothing is said of systems: two are one pair."""


@dataclass(frozen=True)
class Coefficient:
    """How well one metric agrees with people."""

    level: str
    """`segment` or `system`"""
    score: str
    coefficient: str
    estimate: float | None
    low: float | None
    high: float | None
    n: int
    """Outputs, or systems."""
    groups: int | None
    """Of outputs that the coefficient is an average over, where it is one."""
    undefined: int
    """Groups without it, because people or the metric say the same of all their outputs."""


@dataclass(frozen=True)
class Better:
    """Whether one metric agrees with people better than another."""

    level: str
    coefficient: str
    baseline: str
    score: str
    difference: float | None
    low: float | None
    high: float | None
    p_value: float
    p_adjusted: float
    p_systems: float | None
    """Where outputs were swapped one by one (both): the adjusted p with all outputs of a system swapped together, which
    is about other systems too. A metric that misjudges one system in all its outputs is told from another one on these
    systems, and not by that in general."""
    verdict: str
    """`better`, `worse` or `not distinguishable`: the score against the baseline, by the adjusted p; `better on these
    systems` where `p_systems` is not as clear."""


@dataclass(frozen=True)
class Agreement:
    """The answer about one panel."""

    coefficients: Sequence[Coefficient]
    tests: Sequence[Better]
    sampled: bool
    """Whether ties were calibrated on a sample of the pairs."""


@dataclass(frozen=True)
class _Measured:
    """The coefficients of one metric at one level."""

    names: tuple[str, ...]
    estimates: Array
    """(k,)"""
    drawn: Array
    """(resamples, k)"""
    counts: Array
    """(k,) groups that have each"""
    n: int
    groups: int | None


def agreement(
    panel: Panel,
    options: MetaOptions,
    wanted: Sequence[str] = (),
    advance: Advance = nothing,
    tests: bool = True,
) -> Agreement:
    """Every coefficient of every metric, and tests between all pairs of metrics.

    `wanted`: coefficients to show and test; by default all are shown, and those of WMT24 (acc_eq and spa) are tested,
    or what stands in for them. `advance` is told of resamples and swaps done, as `steps` counts them.
    """
    options.check()
    for name in wanted:
        if name not in NAMES:
            raise HarnessError(f"coefficient={name}; expected one of {', '.join(NAMES)}")
    resampling = Resampling(panel, options)
    groups = None if panel.human is None else Groups(panel, options.group)
    measured: dict[str, dict[str, _Measured]] = {}
    if groups is not None and len(groups):
        measured["segment"] = _segments(panel, groups, resampling, advance)
    if len(panel.systems) >= LEAST:
        measured["system"] = _systems(panel, resampling, options.seed)
    rows = [
        _row(level, score, of_score, k, options)
        for level, by_score in measured.items()
        for score, of_score in by_score.items()
        for k, name in enumerate(of_score.names)
        if not wanted or name in wanted
    ]
    better = _tests(panel, groups, measured, (options, wanted), advance) if tests else []
    return Agreement(rows, better, groups is not None and groups.sampled)


def steps(panel: Panel, options: MetaOptions, wanted: Sequence[str] = ()) -> int:
    """How often `advance` is told of one."""
    metrics = len(panel.corpora)
    coefficients = sum(len(_tested(panel, level, wanted)) for level in LEVELS)
    drawn = options.resamples if panel.human is not None else 0
    swaps = Swaps(panel, options).count
    if _also_by_system(panel, options):
        swaps += Swaps(panel, replace(options, drawn="systems")).count
    return drawn + coefficients * (metrics * (metrics - 1) // 2) * swaps


def _segments(panel: Panel, groups: Groups, resampling: Resampling, advance: Advance) -> dict[str, _Measured]:
    levels = {name: SegmentLevel(groups, values) for name, values in panel.segments.items()}

    def work(of_systems: Array, of_units: Array) -> Array:
        return np.stack([level.coefficients(of_systems, of_units) for level in levels.values()], axis=1)

    drawn = resampling.mapped(work, advance) if resampling.resamples else np.empty((0, len(levels), len(SEGMENT)))
    measured = {}
    for i, (name, level) in enumerate(levels.items()):
        values, counts = level.estimates(len(panel.systems), panel.design.units)
        count = None if groups.kind == "none" else len(groups)
        measured[name] = _Measured(SEGMENT, values, drawn[:, i], counts, len(groups.human), count)
    return measured


def _systems(panel: Panel, resampling: Resampling, seed: int) -> dict[str, _Measured]:
    n, once = len(panel.systems), np.ones((1, len(panel.systems)))
    first, second = np.triu_indices(n, 1)
    weights = resampling.of_systems
    of_pairs = weights[:, first] * weights[:, second]
    means, scores = drawn_means(panel, resampling, seed), drawn_scores(panel, resampling, seed)
    people = None if panel.human is None else SoftPairs(panel, panel.human)
    human = None if people is None else (people.p_values(seed), _limits(people, resampling))
    measured = {}
    for name, corpus in panel.corpora.items():
        estimates = ordered(corpus.scores[None], panel.means[None], once)[0]
        drawn = ordered(scores[name], means, weights)
        if human is not None:
            pairs = SoftPairs(panel, panel.segments[name])
            whole = soft(human[0][None], pairs.p_values(seed)[None], np.ones((1, len(first))))
            estimates = np.append(estimates, whole)
            drawn = np.column_stack([drawn, soft(human[1], _limits(pairs, resampling), of_pairs)])
        names = SYSTEM[: len(estimates)]
        measured[name] = _Measured(names, estimates, drawn, np.isfinite(estimates).astype(float), n, None)
    return measured


def _limits(pairs: SoftPairs, resampling: Resampling) -> Array:
    """(resamples, pairs)"""
    blocks = [pairs.limits(resampling.weights(block)[1]) for block in range(resampling.draws.blocks)]
    return np.concatenate(blocks) if blocks else np.empty((0, pairs.apart.shape[1]))


def _row(level: str, score: str, measured: _Measured, k: int, options: MetaOptions) -> Coefficient:
    low, high = _bounds(measured.drawn[:, k], measured.estimates[k], options.level)
    groups = measured.groups
    undefined = 0 if groups is None else groups - int(measured.counts[k])
    estimate = number(measured.estimates[k])
    return Coefficient(level, score, measured.names[k], estimate, low, high, measured.n, groups, undefined)


def _bounds(drawn: Array, estimate: float, level: float) -> tuple[float | None, float | None]:
    if not len(drawn) or not np.isfinite(estimate):
        return None, None
    low, high = interval(drawn[:, None], np.array([estimate]), level, "percentile")
    return number(low[0]), number(high[0])


# ---------------------------------------------------------------- tests


def _tested(panel: Panel, level: str, wanted: Sequence[str]) -> list[str]:
    """The coefficients of a level whose differences are tested."""
    names: tuple[str, ...]
    if level == "system":
        if len(panel.systems) < LEAST:
            return []
        names, default = (ORDERED, "accuracy") if panel.human is None else (SYSTEM, "spa")
    else:
        names, default = (() if panel.human is None else SEGMENT), "acc_eq" if len(panel.systems) > 1 else "kendall_b"
    return [name for name in names if (name in wanted if wanted else name == default)]


@dataclass(frozen=True)
class _Hypothesis:
    """That two metrics agree with people alike."""

    row: Better
    statistic: Statistic


def _tests(
    panel: Panel,
    groups: Groups | None,
    measured: dict[str, dict[str, _Measured]],
    chosen: tuple[MetaOptions, Sequence[str]],
    advance: Advance,
) -> list[Better]:
    options, wanted = chosen
    family = [
        _hypothesis(panel, groups if level == "segment" else None, (name, pair), by_score, options)
        for level, by_score in measured.items()
        for name in _tested(panel, level, wanted)
        for pair in combinations(by_score, 2)
    ]
    if not family or not options.resamples:
        return []
    plain, adjusted = _p_values(family, Swaps(panel, options), options.correction, advance)
    by_system: Sequence[float | None] = [None] * len(family)
    if _also_by_system(panel, options):
        swaps = Swaps(panel, replace(options, drawn="systems"))
        by_system = _p_values(family, swaps, options.correction, advance)[1]
    return [
        _judged(part.row, p_values, options.level)
        for part, p_values in zip(family, zip(plain, adjusted, by_system, strict=True), strict=True)
    ]


def _also_by_system(panel: Panel, options: MetaOptions) -> bool:
    return options.drawn == "both" and len(panel.systems) >= LEAST


def _hypothesis(
    panel: Panel,
    groups: Groups | None,
    what: tuple[str, tuple[str, str]],
    by_score: dict[str, _Measured],
    options: MetaOptions,
) -> _Hypothesis:
    name, (a, b) = what
    if groups is None:
        level, statistic = "system", of_systems(panel, a, b, name)
    else:
        level, statistic = "segment", of_segments(groups, panel.segments[a], panel.segments[b], name)
    k = LEVELS[level].index(name)
    difference = float(by_score[b].estimates[k] - by_score[a].estimates[k])
    low, high = _bounds(by_score[b].drawn[:, k] - by_score[a].drawn[:, k], difference, options.level)
    row = Better(level, name, a, b, number(difference), low, high, 1.0, 1.0, None, "not distinguishable")
    return _Hypothesis(row, statistic)


def _p_values(
    family: Sequence[_Hypothesis], swaps: Swaps, correction: str, advance: Advance
) -> tuple[Sequence[float], Sequence[float]]:
    """(as they are, adjusted over the family)."""
    seen = [abs(swaps.seen(part.statistic)) for part in family]
    nulls = [np.abs(swaps.nulls(part.statistic, advance)) for part in family]
    plain = [share(null, gap, swaps.exact) for null, gap in zip(nulls, seen, strict=True)]
    if correction == "none":
        return plain, plain
    if correction == "max-t":
        return plain, [max(p, q) for p, q in zip(max_t(seen, nulls, swaps.exact), plain, strict=True)]
    return plain, (holm if correction == "holm" else benjamini_hochberg)(plain)


def _judged(row: Better, p_values: tuple[float, float, float | None], level: float) -> Better:
    p_value, p_adjusted, p_systems = p_values
    verdict, most = row.verdict, 1 - level
    if p_adjusted <= most and row.difference:
        verdict = "better" if row.difference > 0 else "worse"
        if p_systems is not None and p_systems > most:
            verdict += " on these systems"
    return replace(row, p_value=p_value, p_adjusted=p_adjusted, p_systems=p_systems, verdict=verdict)
