"""How well metrics agree with people, with intervals, and which metric agrees better, with a test.

Intervals are expanded percentiles over resamples of items, systems or both (Deutsch, Dror and Roth 2021), the same for
all metrics, so that differences between metrics have intervals too. With items alone, those of whole systems are about
endless items, without the luck of these (attenuation.py). Tests are those of agreeing_better.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from harness.stats.expansion import Expansion
from harness.stats.fewness import TOO_FEW, fewest
from harness.stats.intervals import number
from harness.stats.people.agreeing_better import Better, also_by_system, better, tested
from harness.stats.people.attenuation import noise_of, without_luck_of_items
from harness.stats.people.exchange import Swaps
from harness.stats.people.measured import LEAST, LEVELS, Measured, expansion_of
from harness.stats.people.panel import MetaOptions, Panel, Resampling
from harness.stats.people.segment_level import SEGMENT, Groups, SegmentLevel
from harness.stats.people.system_level import SYSTEM, SoftPairs, drawn_means, drawn_scores, ordered, soft
from harness.types import Advance, Array, HarnessError, nothing
from harness.types.shown import counted

NAMES = tuple(dict.fromkeys((*SEGMENT, *SYSTEM)))


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
class Agreement:
    """The answer about one panel."""

    coefficients: Sequence[Coefficient]
    tests: Sequence[Better]
    sampled: bool
    """Whether ties were calibrated on a sample of the pairs."""
    note: str | None = None
    """Where there are too few systems to tell anything of others."""


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
    resampling, expansion = Resampling(panel, options), expansion_of(panel, options)
    groups = None if panel.human is None else Groups(panel, options.group)
    measured: dict[str, dict[str, Measured]] = {}
    if groups is not None and len(groups):
        measured["segment"] = _segments(panel, groups, resampling, expansion, advance)
    if len(panel.systems) >= LEAST:
        measured["system"] = _systems(panel, resampling, expansion, options)
    rows = [
        _row(level, score, of_score, k, options)
        for level, by_score in measured.items()
        for score, of_score in by_score.items()
        for k, name in enumerate(of_score.names)
        if not wanted or name in wanted
    ]
    compared = better(panel, groups, measured, (options, wanted), advance) if tests else []
    note = None
    if any(row.verdict == TOO_FEW for row in compared):
        note = (
            f"Nothing is told of others by {counted(len(panel.systems), 'system')}: {fewest(options.level)} "
            "are the fewest that could. --resample items asks about these systems."
        )
    return Agreement(rows, compared, groups is not None and groups.sampled, note)


def steps(panel: Panel, options: MetaOptions, wanted: Sequence[str] = ()) -> int:
    """How often `advance` is told of one."""
    metrics = len(panel.corpora)
    coefficients = sum(len(tested(panel, level, wanted)) for level in LEVELS)
    drawn = options.resamples if panel.human is not None else 0
    swaps = Swaps(panel, options).count
    if also_by_system(panel, options):
        swaps += Swaps(panel, replace(options, drawn="systems")).count
    return drawn + coefficients * (metrics * (metrics - 1) // 2) * swaps


def _segments(
    panel: Panel, groups: Groups, resampling: Resampling, expansion: Expansion, advance: Advance
) -> dict[str, Measured]:
    levels = {name: SegmentLevel(groups, values) for name, values in panel.segments.items()}

    def work(of_systems: Array, of_units: Array) -> Array:
        return np.stack([level.coefficients(of_systems, of_units) for level in levels.values()], axis=1)

    drawn = resampling.mapped(work, advance) if resampling.resamples else np.empty((0, len(levels), len(SEGMENT)))
    measured = {}
    for i, (name, level) in enumerate(levels.items()):
        values, counts = level.estimates(len(panel.systems), panel.design.units)
        count = None if groups.kind == "none" else len(groups)
        measured[name] = Measured(SEGMENT, values, drawn[:, i], counts, len(groups.human), count, expansion)
    return measured


def _systems(panel: Panel, resampling: Resampling, expansion: Expansion, options: MetaOptions) -> dict[str, Measured]:
    seed, items_only = options.seed, options.drawn == "items" and options.resamples > 0
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
        sides = means, scores[name]
        if items_only:
            sides = without_luck_of_items(*sides, noise_of(panel, corpus))
        drawn = ordered(sides[1], sides[0], weights)
        if human is not None:
            pairs = SoftPairs(panel, panel.segments[name])
            whole = soft(human[0][None], pairs.p_values(seed)[None], np.ones((1, len(first))))
            estimates = np.append(estimates, whole)
            drawn = np.column_stack([drawn, soft(human[1], _limits(pairs, resampling), of_pairs)])
        names = SYSTEM[: len(estimates)]
        measured[name] = Measured(names, estimates, drawn, np.isfinite(estimates).astype(float), n, None, expansion)
    return measured


def _limits(pairs: SoftPairs, resampling: Resampling) -> Array:
    """(resamples, pairs)"""
    blocks = [pairs.limits(resampling.weights(block)[1]) for block in range(resampling.draws.blocks)]
    return np.concatenate(blocks) if blocks else np.empty((0, pairs.apart.shape[1]))


def _row(level: str, score: str, measured: Measured, k: int, options: MetaOptions) -> Coefficient:
    low, high = measured.bounds(k, options.level)
    groups = measured.groups
    undefined = 0 if groups is None else groups - int(measured.counts[k])
    estimate = number(measured.estimates[k])
    return Coefficient(level, score, measured.names[k], estimate, low, high, measured.n, groups, undefined)
