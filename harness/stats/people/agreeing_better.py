"""Which of two metrics agrees better with people: the tests of exchange.py, corrected over all of them.

What is drawn says what a verdict is about, and its p follows that. With `items`, all that two metrics say of an item
changes places: these systems, on other items. With `systems`, all that they say of a system does: other systems. With
`both`, p is the larger of two: outputs change places one by one (PERM-BOTH of Deutsch, Dror and Roth 2021), and
systems do. The first alone takes the systems as they are: of two metrics that are as good in general, and each misjudge
some systems in all their outputs, it calls one better in 34 to 80 panels of 100 (docs/meta.md has the table).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from harness.stats.corrections import benjamini_hochberg, holm, max_t, share
from harness.stats.fewness import TOO_FEW, fewest
from harness.stats.intervals import number
from harness.stats.people.exchange import Statistic, Swaps, of_segments, of_systems
from harness.stats.people.measured import LEAST, LEVELS, Measured
from harness.stats.people.panel import MetaOptions, Panel
from harness.stats.people.segment_level import SEGMENT, Groups
from harness.stats.people.system_level import ORDERED, SYSTEM
from harness.types import Advance


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
    p_outputs: float | None
    """Where items and systems are drawn: the adjusted p with outputs swapped one by one, which is about these systems
    only."""
    verdict: str
    """`better`, `worse` or `not distinguishable`: the score against the baseline, by the adjusted p; `too few to tell`
    where so few systems cannot tell anything of others."""


@dataclass(frozen=True)
class _Hypothesis:
    """That two metrics agree with people alike."""

    row: Better
    statistic: Statistic


def better(
    panel: Panel,
    groups: Groups | None,
    measured: dict[str, dict[str, Measured]],
    chosen: tuple[MetaOptions, Sequence[str]],
    advance: Advance,
) -> list[Better]:
    """The tests between all pairs of metrics; `chosen`: how, and of which coefficients."""
    options, wanted = chosen
    family = [
        _hypothesis(panel, groups if level == "segment" else None, (name, pair), by_score, options)
        for level, by_score in measured.items()
        for name in tested(panel, level, wanted)
        for pair in combinations(by_score, 2)
    ]
    if not family or not options.resamples:
        return []
    plain, adjusted = _p_values(family, Swaps(panel, options), options.correction, advance)
    by_output: Sequence[float | None] = [None] * len(family)
    if also_by_system(panel, options):
        swaps = Swaps(panel, replace(options, drawn="systems"))
        of_systems_too = _p_values(family, swaps, options.correction, advance)
        by_output = adjusted
        plain, adjusted = (
            [max(p, q) for p, q in zip(ours, theirs, strict=True)]
            for ours, theirs in zip((plain, adjusted), of_systems_too, strict=True)
        )
    too_few = options.drawn != "items" and 1 < len(panel.systems) < fewest(options.level)
    return [
        _judged(part.row, p_values, options.level, too_few)
        for part, p_values in zip(family, zip(plain, adjusted, by_output, strict=True), strict=True)
    ]


def tested(panel: Panel, level: str, wanted: Sequence[str]) -> list[str]:
    """The coefficients of a level whose differences are tested."""
    names: tuple[str, ...]
    if level == "system":
        if len(panel.systems) < LEAST:
            return []
        names, default = (ORDERED, "accuracy") if panel.human is None else (SYSTEM, "spa")
    else:
        names, default = (() if panel.human is None else SEGMENT), "acc_eq" if len(panel.systems) > 1 else "kendall_b"
    return [name for name in names if (name in wanted if wanted else name == default)]


def also_by_system(panel: Panel, options: MetaOptions) -> bool:
    return options.drawn == "both" and len(panel.systems) > 1


def _hypothesis(
    panel: Panel,
    groups: Groups | None,
    what: tuple[str, tuple[str, str]],
    by_score: dict[str, Measured],
    options: MetaOptions,
) -> _Hypothesis:
    name, (a, b) = what
    if groups is None:
        level, statistic = "system", of_systems(panel, a, b, name)
    else:
        level, statistic = "segment", of_segments(groups, panel.segments[a], panel.segments[b], name)
    difference, (low, high) = by_score[b].ahead_of(by_score[a], LEVELS[level].index(name), options.level)
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


def _judged(row: Better, p_values: tuple[float, float, float | None], level: float, too_few: bool) -> Better:
    p_value, p_adjusted, p_outputs = p_values
    verdict = TOO_FEW if too_few else row.verdict
    if p_adjusted <= 1 - level and row.difference:
        verdict = "better" if row.difference > 0 else "worse"
    return replace(row, p_value=p_value, p_adjusted=p_adjusted, p_outputs=p_outputs, verdict=verdict)
