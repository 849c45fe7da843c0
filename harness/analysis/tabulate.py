"""Results tables for papers: a study of stored runs, written as Markdown, LaTeX or CSV."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from harness.analysis.loading import Run, loaded_runs
from harness.analysis.study import study
from harness.report.tables import csv, latex, markdown, notes
from harness.report.tables.cells import INTERVALS, lay_out
from harness.report.terminal.progress import silent
from harness.stats.options import ComparisonOptions
from harness.types import HarnessError, Progress, RunResult, check_choice, nearest

FORMATS = ("markdown", "latex", "csv")


@dataclass(frozen=True)
class Layout:
    """How a table looks."""

    format: str = "markdown"
    """`markdown`, `latex` or `csv`."""
    interval: str = "bounds"
    """`bounds`, `plus-minus` or `none`."""
    digits: int | None = None
    """After the point; by default as many as a score deserves."""
    caption: str | None = None
    """Of a LaTeX table, as LaTeX."""
    label: str | None = None
    """Of a LaTeX table."""

    def check(self) -> None:
        check_choice("format", self.format, FORMATS)
        check_choice("interval", self.interval, INTERVALS)
        if self.digits is not None and not 0 <= self.digits <= 12:
            raise HarnessError(f"digits={self.digits}; expected 0 to 12")
        if self.format != "latex" and (self.caption is not None or self.label is not None):
            raise HarnessError(f"a caption or a label for format={self.format}; expected them with format=latex only")


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
    layout.check()
    loaded, base = loaded_runs([runs] if isinstance(runs, Run) else runs, baseline)
    tested = replace(options, scores=_tested(loaded, base, options.scores))
    compared = study(loaded, base, tested, progress=progress)
    shown = lay_out(compared, options.scores, layout.interval, layout.digits)
    if layout.format == "csv":
        return csv.written(compared, shown, layout.digits)
    note = (notes.sentences(compared, shown), notes.signatures(shown), notes.traces(shown))
    if layout.format == "markdown":
        return markdown.written(shown, *note)
    return latex.written(shown, *note, layout.caption, layout.label)


def _tested(runs: Sequence[RunResult], base: RunResult | None, scores: Sequence[str] | None) -> tuple[str, ...] | None:
    """The chosen scores that can be tested: headline scores that two runs on the same data have; None for all."""
    if scores is None:
        return None
    members = [*runs, base] if base else list(runs)
    known = dict.fromkeys(name for run in members for name in run.scores)
    for score in scores:
        if score not in known:
            raise HarnessError(
                f"no run has the score {score!r}{nearest(score, known)}; expected one of {', '.join(known)}"
            )
    counts = Counter((run.dataset_key, name) for run in members for name in run.scores)
    common = {name for (_, name), count in counts.items() if count > 1}
    return tuple(score for score in scores if "." not in score and score in common)
