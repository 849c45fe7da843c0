"""Who is best on what, in sentences: from the tests of all pairs, never from the order of the estimates alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from harness.report.curve_words import answer, outlook, training_run
from harness.report.score_titles import score_titles
from harness.report.terminal.wording import listed, sentence
from harness.types import Comparison, Curve, Group, Study

NAMED = 3
"""Systems that a sentence names; of more it says how many, and letters in the table say which."""


def verdicts(study: Study, group: Group) -> list[str]:
    """The answer on one data set: for two runs that of the comparison, for more the best by each score."""
    labels, titles = study.labels, score_titles(group.runs)
    pairs = [
        replace(row, baseline=labels[row.baseline], system=labels[row.system], score=titles[row.score])
        for row in study.comparisons
        if row.dataset == group.dataset
    ]
    leaders = {
        titles[score]: [labels[name] for name in names]
        for (dataset, score), names in study.leaders.items()
        if dataset == group.dataset
    }
    curves = [replace(curve, score=titles[curve.score]) for curve in study.curves if curve.dataset == group.dataset]
    of_pairs = _sentences(pairs, leaders)
    if curves:  # whose tests are fewer, so that a step may be worse by them and have a letter of the best in the table
        of_pairs = [f"By the tests of all pairs and scores together: {said}" for said in of_pairs]
    return [*(_curve(curve, curves) for curve in curves), *of_pairs]


def _curve(curve: Curve, curves: Sequence[Curve]) -> str:
    """What the steps of checkpoints say by one score."""
    several = len({other.series for other in curves}) > 1
    said = f"{answer(curve)} {outlook(curve)}"
    return f"{training_run(curve.series)}: {said}" if several else said


def macro_verdicts(study: Study) -> list[str]:
    """The answer by the averages over data sets, which name systems."""
    titles = score_titles(study.runs)
    rows = [replace(row, score=titles[row.score]) for row in study.comparisons.macro]
    return _sentences(rows, {titles[score]: names for score, names in study.average_leaders.items()})


def _sentences(pairs: Sequence[Comparison], leaders: Mapping[str, Sequence[str]]) -> list[str]:
    names = {name for row in pairs for name in (row.baseline, row.system)}
    if len(names) == 2:
        return [sentence(_from_the_best(pairs))]
    by_leaders: dict[tuple[str, ...], list[str]] = {}
    for score, leading in leaders.items():
        if leading:
            by_leaders.setdefault((leading[0], *sorted(leading[1:])), []).append(score)
    return [_best(leading, scores, len(names)) for leading, scores in by_leaders.items()]


def _best(names: Sequence[str], scores: Sequence[str], of: int) -> str:
    on = listed(scores)
    if len(names) == 1:
        return f"{names[0]} is best on {on}."
    if len(names) == of:
        return f"On {on} no run can be told apart from the best ({names[0]})."
    others = listed(names[1:]) if len(names) <= NAMED + 1 else f"{len(names) - 1} of the other {of - 1}"
    return f"{names[0]} leads on {on}, but {others} cannot be told apart from it."


def _from_the_best(rows: Sequence[Comparison]) -> list[Comparison]:
    """The rows as seen from the system that wins more scores."""
    wins = sum({"better": 1, "worse": -1}.get(row.verdict, 0) for row in rows)
    return list(rows) if wins >= 0 else [row.turned() for row in rows]
