"""The score table of each data set, and what a reader must know before believing it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from harness.inputs import arrow
from harness.report.numbers import bounds, counted, digits_of, number, signed
from harness.report.page import differences_from, paper
from harness.report.page.verdicts import macro_verdicts, verdicts
from harness.report.score_titles import score_titles
from harness.types import Comparison, Group, RunResult, Study

LETTERS = 5
"""Of a score of which a run has more, no letters are shown: nobody reads them."""


@dataclass(frozen=True, slots=True)
class Cell:
    estimate: str
    interval: str
    value: float | None
    """To sort by."""
    best: bool = False
    """The best, or not to be told apart from it."""
    mark: str = ""
    """`better` or `worse` than the baseline."""
    title: str = ""
    letters: str = ""
    """Shared with those that it cannot be told apart from."""


@dataclass(frozen=True, slots=True)
class Table:
    """The scores of one data set: one column per score, one row per run, the best by the first score on top."""

    dataset: str
    about: str
    verdicts: list[dict[str, str]]
    """Sentences as `name`, that of the system they begin with, and `rest`."""
    columns: list[dict[str, Any]]
    rows: list[dict[str, Any]]
    differences: dict[str, Any] | None
    """From the baseline or the best, in the same columns."""
    paper: str
    """The answer as a sentence to be copied."""
    more: list[str]
    """Names of the columns that are sub-scores, shown on demand."""
    warnings: list[str] = field(default_factory=list)


def tables(study: Study) -> list[Table]:
    return [_table(study, group) for group in study.groups]


def average(study: Study) -> dict[str, Any] | None:
    """The answer over several data sets, where all systems ran on all of them."""
    rows = study.comparisons.macro
    if not rows:
        return None
    names = [name for row in rows for name in (row.baseline, row.system)]
    return {"of": rows[0].dataset, "verdicts": [_led(verdict, names) for verdict in macro_verdicts(study)]}


def score_names(group: Group) -> list[str]:
    return list(dict.fromkeys(name for run in group.runs for name in run.scores))


def lower_is_better(group: Group, name: str) -> bool:
    return any(not run.scores[name].higher_is_better for run in group.runs if name in run.scores)


def _table(study: Study, group: Group) -> Table:
    pairs = [row for row in study.comparisons if row.dataset == group.dataset]
    against = {(row.system, row.score): row for row in study.against if row.dataset == group.dataset}
    names, titles = score_names(group), score_titles(group.runs)
    columns = [
        {
            "title": titles[name],
            "headline": "." not in name,
            "lower": lower_is_better(group, name) and "." not in name,
        }
        for name in names
    ]
    order = ordered(study, group)
    rows = [
        {
            "label": study.labels[run.name],
            "baseline": group.baseline is run,
            "failed": run.failed,
            "cells": [_cell(study, group, run, name, against.get((run.name, name))) for name in names],
        }
        for run in order
    ]
    return Table(
        dataset=group.dataset,
        about=_about(group, pairs),
        verdicts=[_led(verdict, list(study.labels.values())) for verdict in verdicts(study, group)],
        columns=columns,
        rows=rows,
        differences=differences_from.part(study, group, order, names),
        paper=paper.sentences(study, group),
        more=[name for name in names if "." in name],
        warnings=_warnings(study, group),
    )


def ordered(study: Study, group: Group) -> list[RunResult]:
    """The runs by their first headline score: whom the tests call the best on top, those without a score last."""
    first = next((name for name in score_names(group) if "." not in name), None)
    if first is None:
        return list(group.runs)
    winner = next(iter(study.leaders.get((group.dataset, first), ())), None)
    sign = 1.0 if lower_is_better(group, first) else -1.0

    def place(run: RunResult) -> tuple[bool, bool, float]:
        estimate = run.scores[first].estimate if first in run.scores else None
        return run.name != winner, estimate is None, sign * (estimate or 0.0)

    return sorted(group.runs, key=place)


def _led(verdict: str, labels: Sequence[str]) -> dict[str, str]:
    """The sentence as the name that it begins with and the rest."""
    name = max((label for label in labels if verdict.startswith(f"{label} ")), key=len, default="")
    return {"name": name, "rest": verdict[len(name) :].strip()}


def _cell(study: Study, group: Group, run: RunResult, name: str, row: Comparison | None) -> Cell:
    """`row`: the run against the baseline by this score, where that was tested."""
    score = run.scores.get(name)
    if score is None:
        return Cell("", "", None)
    digits = digits_of(group.runs, name)
    known = score.low is not None and score.high is not None
    interval = bounds(score.low, score.high, digits) if known else "no interval"
    mark = row.verdict if row is not None and row.verdict in ("better", "worse") else ""
    title = ""
    if row is not None and row.difference is not None:
        ends = bounds(row.low, row.high, digits)
        title = f"{signed(row.difference, digits)} against the baseline, {ends}; {row.verdict}"
    best = run.name in study.leaders.get((group.dataset, name), ())
    letters = study.letters.get((group.dataset, name), {})
    own = letters.get(run.name, "") if max(map(len, letters.values()), default=0) <= LETTERS else ""
    return Cell(number(score.estimate, digits), interval, score.estimate, best, mark, title, own)


def count(group: Group) -> tuple[int, int]:
    """(examples, outputs of each)"""
    repeats = arrow.integers(group.runs[0].table.column("repeat"))
    examples = len(repeats) - int(np.count_nonzero(repeats))
    return examples, len(repeats) // max(examples, 1)


def _about(group: Group, pairs: Sequence[Comparison]) -> str:
    examples, repeats = count(group)
    parts = [counted(examples, "example")]
    if repeats > 1:
        parts.append(f"{repeats} outputs each")
    if group.runs[0].cluster:
        clusters = arrow.distinct(group.runs[0].table.column(group.runs[0].cluster))
        parts.append(f"{counted(clusters, 'cluster')} by {group.runs[0].cluster}")
    excluded = max((row.excluded for row in pairs), default=0)
    if excluded and repeats > 1:
        parts.append(
            f"up to {counted(excluded, 'output')} of each system left out of a comparison because one has "
            "no score for them"
        )
    elif excluded:
        parts.append(f"up to {excluded:,} left out of a comparison because a system has no score for them")
    return ", ".join(parts)


def _warnings(study: Study, group: Group) -> list[str]:
    """What is odd about the runs, each line once: the health of outputs, failures, scores that deserve no trust."""
    by_line: dict[str, list[str]] = {}
    rows = "outputs" if count(group)[1] > 1 else "examples"
    for run in group.runs:
        lines = list(run.health.get("warnings", ()))
        if run.failed:
            lines.append(f"{run.failed:,} of {run.table.num_rows:,} {rows} failed; scores are of the others")
        notes: dict[str, list[str]] = {}
        for score in run.scores.values():
            if score.note and score.headline:
                notes.setdefault(score.note, []).append(score.title)
        lines += [f"{', '.join(titles)}: {note}" for note, titles in notes.items()]
        for line in lines:
            by_line.setdefault(line, []).append(study.labels[run.name])
    return [f"{', '.join(names)}: {line}" for line, names in by_line.items()]
