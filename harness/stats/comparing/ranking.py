"""Rankings from all pairwise comparisons: for each system the ranks that the tests leave open, and letters for groups
that cannot be told apart.

A system's rank lies between one more than the number of systems significantly better than it, and the number of all
systems less those significantly worse: with p-values adjusted over the family all these ranges hold at once at the
stated level. Two systems share a letter exactly where they are not distinguishable (a compact letter display).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from string import ascii_lowercase

from harness.types import Comparison, Comparisons, HarnessError


@dataclass(frozen=True, slots=True)
class Ranked:
    """One system's place."""

    system: str
    estimate: float | None
    low: int
    high: int
    letters: str


@dataclass(frozen=True, slots=True)
class Ranking:
    """The systems of a data set by one score, the best first."""

    dataset: str
    score: str
    systems: tuple[Ranked, ...]


def rankings(rows: Sequence[Comparison]) -> list[Ranking]:
    """A ranking for each data set and score of which all pairs of three or more systems were compared, by two-sided
    tests: what looks in one direction only says nothing of who is worse."""
    if odd := next((row for row in rows if not isinstance(row, Comparison)), None):
        raise HarnessError(f"rankings of {type(odd).__name__}; expected comparisons, as harness.compare gives them")
    if isinstance(rows, Comparisons) and rows.alternative != "two-sided":
        raise HarnessError(
            f"rankings of comparisons with alternative={rows.alternative!r}, which say nothing of the other direction; "
            "expected those with alternative='two-sided'"
        )
    ranked = []
    ordered = sorted(enumerate(rows), key=lambda item: (item[1].dataset, item[1].score, item[0]))
    for (dataset, score), some in groupby((row for _, row in ordered), key=lambda row: (row.dataset, row.score)):
        pairs = list(some)
        names = list(dict.fromkeys(name for row in pairs for name in (row.baseline, row.system)))
        if len(names) > 2 and len(pairs) == len(names) * (len(names) - 1) // 2:
            ranked.append(Ranking(dataset, score, tuple(_ranked(names, pairs))))
    place = {(row.dataset, row.score): i for i, row in reversed(list(enumerate(rows)))}
    return sorted(ranked, key=lambda ranking: place[ranking.dataset, ranking.score])


def _ranked(names: Sequence[str], pairs: Sequence[Comparison]) -> Iterator[Ranked]:
    estimates: dict[str, float | None] = {}
    for row in pairs:
        estimates.setdefault(row.baseline, row.baseline_estimate)
        estimates.setdefault(row.system, row.system_estimate)
    sign = -1.0 if pairs[0].higher_is_better else 1.0
    order = sorted(names, key=lambda name: (estimates[name] is None, sign * (estimates[name] or 0.0)))
    better: dict[str, set[str]] = {name: set() for name in names}  # the systems that each one beats
    alike: dict[str, set[str]] = {name: set() for name in names}
    for row in pairs:
        if row.verdict not in ("better", "worse"):
            alike[row.system].add(row.baseline)
            alike[row.baseline].add(row.system)
        else:
            winner, loser = (row.system, row.baseline) if row.verdict == "better" else (row.baseline, row.system)
            better[winner].add(loser)
    groups = sorted(_groups(order, alike), key=lambda group: sorted(map(order.index, group)))
    for name in order:
        beaten_by = sum(name in losers for losers in better.values())
        letters = "".join(_letter(i) for i, group in enumerate(groups) if name in group)
        yield Ranked(name, estimates[name], 1 + beaten_by, len(names) - len(better[name]), letters)


def _groups(names: Sequence[str], alike: Mapping[str, set[str]]) -> list[set[str]]:
    """Groups in which all are alike, so that two share one exactly where they are alike.

    All largest groups would do, and may be 2^(k/2). So a group is added for the first pair that shares none yet, and
    takes whoever is alike to all in it, those first that share most new pairs there: some dozens for a hundred systems
    (an edge clique cover, found greedily as by Gramm et al. 2009).
    """
    open_ = {name: set(alike[name]) for name in names}  # with whom it shares no group yet
    groups = [{name} for name in names if not alike[name]]
    for name in names:
        while open_[name]:
            group = {name}
            candidates = [other for other in names if other in alike[name]]
            while candidates:
                chosen = max(candidates, key=lambda other: len(open_[other] & group))  # the first where equal
                group.add(chosen)
                candidates = [other for other in candidates if other in alike[chosen]]
            for member in group:
                open_[member] -= group
            groups.append(group)
    return groups


def _letter(i: int) -> str:
    """a to z, then a1, b1, …"""
    return ascii_lowercase[i % 26] + (str(i // 26) if i >= 26 else "")
