"""Who leads by a score, as tests decide it: what tables set in bold, figures mark and pages say in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from harness.types import Comparison, Group, RunResult

DECIDED = ("better", "worse")


def leaders(pairs: Sequence[Comparison], score: str, estimates: Mapping[str, float | None]) -> list[str]:
    """Names of the best run, first, and of all that no test tells apart from it; none where fewer than two runs were
    compared by this score.

    The best has the best estimate among the runs that no test calls worse than another: a run that failed on hard
    examples may have the best estimate of all, and lose on the examples that others share with it.
    """
    tested = [row for row in pairs if row.score == score and row.difference is not None]
    names = {name for row in tested for name in (row.baseline, row.system)}
    known = {name: value for name, value in estimates.items() if name in names and value is not None}
    if len(known) < 2:
        return []
    sign = 1 if tested[0].higher_is_better else -1
    beaten = {row.system if row.verdict == "worse" else row.baseline for row in tested if row.verdict in DECIDED}
    candidates = known.keys() - beaten or known.keys()  # all of them where each is beaten by another
    best = max((name for name in known if name in candidates), key=lambda name: sign * known[name])
    alike = {
        other
        for row in tested
        for other, name in ((row.baseline, row.system), (row.system, row.baseline))
        if name == best and row.verdict not in DECIDED
    }
    return [best, *sorted((name for name in known if name in alike), key=lambda name: -sign * known[name])]


def leaders_of(groups: Sequence[Group], rows: Sequence[Comparison]) -> dict[tuple[str, str], list[str]]:
    """The leaders by data set and score."""
    by_score: dict[tuple[str, str], list[str]] = {}
    for group in groups:
        pairs = [row for row in rows if row.dataset == group.dataset]
        for score in dict.fromkeys(row.score for row in pairs):
            by_score[group.dataset, score] = leaders(pairs, score, _estimates(group.runs, score))
    return by_score


def average_leaders(rows: Sequence[Comparison]) -> dict[str, list[str]]:
    """The leaders by score, from comparisons of the averages over data sets."""
    estimates: dict[str, dict[str, float | None]] = {}
    for row in rows:
        known = estimates.setdefault(row.score, {})
        known.setdefault(row.baseline, row.baseline_estimate)
        known.setdefault(row.system, row.system_estimate)
    return {score: leaders(rows, score, known) for score, known in estimates.items()}


def _estimates(runs: Sequence[RunResult], score: str) -> dict[str, float | None]:
    """By run name, for those that have the score."""
    return {run.name: run.scores[score].estimate for run in runs if score in run.scores}
