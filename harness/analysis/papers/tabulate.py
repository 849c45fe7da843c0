"""Results tables for papers: a study of stored runs, written as Markdown, LaTeX or CSV."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from harness.analysis.comparing.pairing import check_known
from harness.analysis.comparing.study import study
from harness.analysis.stored.loading import Run, loaded_runs
from harness.report.tables import csv, latex, macros, markdown, notes, traced
from harness.report.tables.cells import INTERVALS, Table, lay_out
from harness.report.terminal.progress import silent
from harness.stats.options import ComparisonOptions
from harness.types import HarnessError, Progress, RunResult, Study, check_choice, nearest

FORMATS = ("markdown", "latex", "csv")
NOTES = ("full", "short", "none")
DIGITS = ("auto", "metric")
OPTIONS = ("test", "resamples", "level", "seed", "correction", "sliced_by", "question")
"""Of the tests, those that decide marks."""


@dataclass(frozen=True)
class Layout:
    """How a table looks."""

    format: str = "markdown"
    """`markdown`, `latex` or `csv`."""
    interval: str = "bounds"
    """`bounds`, `plus-minus` or `none`."""
    digits: int | str = "auto"
    """After the point; `auto`: so many that half of an interval's width has two that count, and at most one fewer than
    `metric`, which is as each metric says."""
    caption: str | None = None
    """Of a LaTeX table, as LaTeX."""
    label: str | None = None
    """Of a LaTeX table."""
    wide: bool = False
    """A LaTeX table over both columns of a page."""
    note: str = "full"
    """`full`; `short`: without signatures; `none`."""
    sort: str | None = None
    """The score by which the rows of a data set are ordered, the best first."""
    names: tuple[tuple[str, str], ...] = ()
    """(run or system, what it is called here)"""

    def check(self) -> None:
        check_choice("format", self.format, FORMATS)
        check_choice("interval", self.interval, INTERVALS)
        check_choice("note", self.note, NOTES)
        if isinstance(self.digits, str):
            check_choice("digits", self.digits, DIGITS)
        if isinstance(self.digits, int) and not 0 <= self.digits <= 12:
            raise HarnessError(f"digits={self.digits}; expected 0 to 12")
        if self.format != "latex" and (self.caption is not None or self.label is not None or self.wide):
            raise HarnessError(
                f"a caption, a label or a wide table for format={self.format}; expected them with format=latex only"
            )


@dataclass(frozen=True)
class Tabulated:
    """A table in all that it can be written as."""

    layout: Layout
    study: Study
    shown: Table
    trace: Mapping[str, Any]

    def text(self) -> str:
        layout, shown = self.layout, self.shown
        if layout.format == "csv":
            digits = layout.digits if isinstance(layout.digits, int) else None
            return csv.written(self.study, shown, digits, json.dumps(self.trace))
        note = notes.sentences(self.study, shown) if layout.note != "none" else []
        parts = (note, notes.signatures(shown) if layout.note == "full" else [], self._traces())
        if layout.format == "markdown":
            return markdown.written(shown, *parts)
        return latex.written(shown, *parts, latex.Float(layout.caption, layout.label, layout.wide))

    def macros(self) -> str:
        """The scores as LaTeX macros."""
        return macros.written(self.shown, self._traces())

    def _traces(self) -> list[str]:
        return [*notes.traces(self.shown), traced.line(self.trace)]


def table(
    runs: Sequence[Run] | Run,
    baseline: Run | None,
    layout: Layout,
    options: ComparisonOptions,
    progress: Progress = silent,
) -> str:
    """A results table of stored runs: systems as rows in the order given, scores as columns, data sets as groups.

    `options.scores` may hold sub-scores too, which are shown and not tested.
    """
    return tabulated(runs, baseline, layout, options, progress).text()


def tabulated(
    runs: Sequence[Run] | Run,
    baseline: Run | None,
    layout: Layout,
    options: ComparisonOptions,
    progress: Progress = silent,
) -> Tabulated:
    """The same before it is written."""
    layout.check()
    loaded, base = loaded_runs([runs] if isinstance(runs, Run) else runs, baseline)
    tested = replace(options, scores=_tested(loaded, base, (*(options.scores or ()), *_sorting(layout, options))))
    compared = _named(study(loaded, base, tested, progress=progress), layout.names)
    digits = None if layout.digits == "metric" else layout.digits
    shown = lay_out(compared, options.scores, layout.interval, digits, layout.sort)
    how = {name: value for name, value in asdict(layout).items() if name not in ("caption", "label")}
    trace = {
        "schema": 1,
        "runs": [traced.run(run) for run in loaded],
        "baseline": None if base is None else traced.run(base),
        "scores": None if options.scores is None else list(options.scores),
        "layout": {name: value for name, value in how.items() if name == "digits" or value != getattr(Layout(), name)},
        "options": {
            name: getattr(options, name)
            for name in OPTIONS
            if getattr(options, name) != getattr(ComparisonOptions(), name)
        },
    }
    return Tabulated(layout, compared, shown, trace)


def _sorting(layout: Layout, options: ComparisonOptions) -> tuple[str, ...]:
    """The score to sort by, so that a wrong name is refused; none where all are shown."""
    return () if layout.sort is None or options.scores is None else (layout.sort,)


def _named(study: Study, names: Sequence[tuple[str, str]]) -> Study:
    """With the names that were given to runs, by their name, folder or system."""
    labels = dict(study.labels)
    for which, name in names:
        same = [
            run.name
            for run in study.runs
            if which in (run.name, run.manifest.get("name"), run.system, run.path and run.path.name, str(run.path))
        ]
        if not same:
            known = list(dict.fromkeys(study.labels.values()))
            raise HarnessError(f"no run {which!r} to call {name!r}{nearest(which, known)}; expected one of the table's")
        labels |= dict.fromkeys(same, name)
    return replace(study, labels=labels)


def _tested(runs: Sequence[RunResult], base: RunResult | None, scores: Sequence[str] | None) -> tuple[str, ...] | None:
    """The chosen scores that can be tested: headline scores that two runs on the same data have; None for all."""
    if not scores:
        return None
    members = [*runs, base] if base else list(runs)
    known = dict.fromkeys(name for run in members for name in run.scores)
    check_known(scores, known)
    counts = Counter((run.dataset_key, name) for run in members for name in run.scores)
    common = {name for (_, name), count in counts.items() if count > 1}
    return tuple(score for score in scores if "." not in score and score in common)
