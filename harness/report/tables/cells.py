"""What stands in which cell of a results table: systems as rows, scores as columns, data sets as groups of rows.

Bold is decided by tests, not by eye: the best of a data set and score, together with all that the adjusted tests of the
study cannot tell apart from it. How a table is written is for markdown.py, latex.py and csv.py.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from harness.report.numbers import digits_of
from harness.types import Group, RunResult, Score, Study

INTERVALS = ("bounds", "plus-minus", "none")


@dataclass(frozen=True)
class Column:
    score: str
    title: str
    """As papers print it."""
    digits: int
    arrow: str
    """↑ where higher is better, ↓ where lower is; empty for sub-scores, which may be neither."""


@dataclass(frozen=True)
class Cell:
    score: Score
    best: bool | None
    """Whether it is the best or cannot be told apart from the best; None where nothing was tested."""
    against: str | None
    """The verdict against the baseline: `better`, `worse` or `not distinguishable`; None where there was no test."""


@dataclass(frozen=True)
class Row:
    label: str
    run: RunResult
    cells: tuple[Cell | None, ...]
    """One for each column; None where the run does not have the score."""


@dataclass(frozen=True)
class Section:
    """The rows of one data set."""

    dataset: str
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class Table:
    columns: tuple[Column, ...]
    sections: tuple[Section, ...]
    interval: str
    """How intervals are shown: one of INTERVALS."""

    @property
    def mixed(self) -> bool:
        """Whether columns need arrows: lower is better in some of them."""
        return any(column.arrow == "↓" for column in self.columns)


def lay_out(
    study: Study, scores: Sequence[str] | None, interval: str, digits: int | str | None, sort: str | None = None
) -> Table:
    """The table of these scores, or of all headline scores. `digits`: None, as many as each metric says; `auto`, so
    many that half of an interval's width has two that count, and at most one fewer. `sort`: the score by which rows of
    a data set are ordered, the best first."""
    known = {name: score for run in reversed(study.runs) for name, score in run.scores.items()}
    order = dict.fromkeys(name for run in study.runs for name in run.scores)
    chosen = scores if scores is not None else [name for name in order if known[name].headline]
    columns = tuple(
        Column(
            name,
            plain(known[name].title),
            _digits(study, name, digits),
            "" if not known[name].headline else "↑" if known[name].higher_is_better else "↓",
        )
        for name in dict.fromkeys(chosen)
    )
    sections = tuple(_section(study, group, columns) for group in study.groups)
    return Table(columns, sections if sort is None else tuple(_sorted(section, sort) for section in sections), interval)


def _digits(study: Study, name: str, digits: int | str | None) -> int:
    if isinstance(digits, int):
        return digits
    halves = [half_width(run.scores[name]) for run in study.runs if name in run.scores]
    known = sorted(half for half in halves if half)
    usual = digits_of(study.runs, name)
    if digits is None or not known:
        return usual
    return min(12, max(0, usual - 1, 1 - math.floor(math.log10(known[len(known) // 2]))))


def _sorted(section: Section, score: str) -> Section:
    def place(row: Row) -> tuple[bool, float]:
        own = row.run.scores.get(score)
        if own is None or own.estimate is None:
            return True, 0.0
        return False, -own.estimate if own.higher_is_better else own.estimate

    return replace(section, rows=tuple(sorted(section.rows, key=place)))


def number(value: float, digits: int) -> str:
    """Rounded, never `-0.00`."""
    return f"{round(value, digits) + 0.0:.{digits}f}"


def half_width(score: Score) -> float | None:
    """Of the interval; 0 where its ends differ in their last bits only."""
    if score.low is None or score.high is None:
        return None
    return 0.0 if math.isclose(score.low, score.high, rel_tol=1e-10) else (score.high - score.low) / 2


def plain(text: str) -> str:
    """A label in one line: white space is a space, what no text should hold (control characters, overrides of the
    direction, halves of a surrogate pair) is U+FFFD."""
    unfit = r"[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
    return " ".join(re.sub(unfit, "\ufffd", text).split())


def _section(study: Study, group: Group, columns: Sequence[Column]) -> Section:
    names = [column.score for column in columns]
    leaders = {name: study.leaders.get((group.dataset, name), ()) for name in names}
    against = {(row.system, row.score): row.verdict for row in study.against if row.dataset == group.dataset}
    order = list(dict.fromkeys(study.labels[run.name] for run in study.runs))  # the same in every group
    rows = []
    for run in sorted(group.runs, key=lambda run: order.index(study.labels[run.name])):
        cells: list[Cell | None] = []
        for name in names:
            if name not in run.scores:
                cells.append(None)
            else:
                score = run.scores[name]
                leads = run.name in leaders[name] if leaders[name] and score.estimate is not None else None
                cells.append(Cell(score, leads, against.get((run.name, name))))
        rows.append(Row(plain(study.labels[run.name]), run, tuple(cells)))
    return Section(plain(group.dataset), tuple(rows))
