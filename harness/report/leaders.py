"""Who leads by a score, as tests decide it: what tables set in bold, figures mark and pages say in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from harness.types import Comparison, RunResult

DECIDED = ("better", "worse")


def leaders(pairs: Sequence[Comparison], score: str, estimates: Mapping[str, float | None]) -> list[str]:
    """Names of the best run, first, and of all that no test tells apart from it; none where fewer than two runs were
    compared by this score.

    The best has the best estimate among the runs that no test calls worse than another: a run that failed on hard
    examples may have the best estimate of all, and lose on the examples that others share with it.
    """
    tested = [row for row in pairs if row.score == score and row.difference is not None]
    names = {name for row in tested for name in (row.baseline, row.system)}
    found = {name: value for name, value in estimates.items() if name in names and value is not None}
    if len(found) < 2:
        return []
    sign = 1 if tested[0].higher_is_better else -1
    beaten = {row.system if row.verdict == "worse" else row.baseline for row in tested if row.verdict in DECIDED}
    candidates = found.keys() - beaten or found.keys()  # all of them where each is beaten by another
    best = max((name for name in found if name in candidates), key=lambda name: sign * found[name])
    alike = {
        other
        for row in tested
        for other, one in ((row.baseline, row.system), (row.system, row.baseline))
        if one == best and row.verdict == "not distinguishable"
    }
    return [best, *sorted((name for name in found if name in alike), key=lambda name: -sign * found[name])]


def estimates_of(runs: Sequence[RunResult], score: str) -> dict[str, float | None]:
    """By run name, for those that have the score."""
    return {run.name: run.scores[score].estimate for run in runs if score in run.scores}
