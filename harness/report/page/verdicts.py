"""Who is best on what: from the tests of all pairs, never from the order of the estimates alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from harness.report.comparisons import listed, sentence
from harness.report.leaders import estimates_of, leaders
from harness.types import Comparison, Group


def verdicts(group: Group, pairs: Sequence[Comparison], labels: Mapping[str, str]) -> list[str]:
    """The answer on one data set in sentences: for two runs that of the comparison, for more the best by each score."""
    named = [replace(row, baseline=labels[row.baseline], system=labels[row.system]) for row in pairs]
    by_score = {
        row.score: {labels[name]: value for name, value in estimates_of(group.runs, row.score).items()} for row in pairs
    }
    return _sentences(named, by_score)


def macro_verdicts(pairs: Sequence[Comparison]) -> list[str]:
    """The answer by the averages over data sets, which name systems."""
    by_score: dict[str, dict[str, float | None]] = {}
    for row in pairs:
        known = by_score.setdefault(row.score, {})
        known.setdefault(row.baseline, row.baseline_estimate)
        known.setdefault(row.system, row.system_estimate)
    return _sentences(pairs, by_score)


def _sentences(pairs: Sequence[Comparison], estimates: Mapping[str, Mapping[str, float | None]]) -> list[str]:
    names = {name for row in pairs for name in (row.baseline, row.system)}
    if len(names) == 2:
        return [sentence(_from_the_best(pairs))]
    by_leaders: dict[tuple[str, ...], list[str]] = {}
    for score, known in estimates.items():
        found = leaders(pairs, score, known)
        if found:
            by_leaders.setdefault((found[0], *sorted(found[1:])), []).append(score)
    return [_best(found, scores, len(names)) for found, scores in by_leaders.items()]


def _best(names: Sequence[str], scores: Sequence[str], of: int) -> str:
    on = listed(scores)
    if len(names) == 1:
        return f"{names[0]} is best on {on}."
    if len(names) == of:
        return f"On {on} no run can be told apart from the best ({names[0]})."
    return f"{names[0]} leads on {on}, but {listed(names[1:])} cannot be told apart from it."


def _from_the_best(rows: Sequence[Comparison]) -> list[Comparison]:
    """The rows as seen from the system that wins more scores."""
    wins = sum({"better": 1, "worse": -1}.get(row.verdict, 0) for row in rows)
    turned = {"better": "worse", "worse": "better"}
    if wins >= 0:
        return list(rows)
    return [
        replace(row, baseline=row.system, system=row.baseline, verdict=turned.get(row.verdict, row.verdict))
        for row in rows
    ]
