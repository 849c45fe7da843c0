"""Results tables for papers: a study of stored runs, written as Markdown, LaTeX or CSV."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from harness.api import Run, loaded_runs
from harness.config import nearest
from harness.report import table_csv, table_latex, table_markdown, table_notes
from harness.report.progress import silent
from harness.report.table import INTERVALS, lay_out
from harness.study import study
from harness.types import HarnessError, Progress, RunResult

FORMATS = ("markdown", "latex", "csv")


def table(
    runs: Sequence[Run] | Run,
    format: str = "markdown",
    baseline: Run | None = None,
    scores: Sequence[str] | None = None,
    interval: str = "bounds",
    digits: int | None = None,
    caption: str | None = None,
    label: str | None = None,
    test: str = "bootstrap",
    correction: str = "max-t",
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 12345,
    progress: Progress = silent,
) -> str:
    """A results table of stored runs: systems as rows in the order given, scores as columns, data sets as groups.

    Bold is the best together with all that the adjusted tests cannot tell apart from it; with a baseline, † and ‡ are
    significantly better and worse than it. `format` is `markdown`, `latex` (with `caption`, as LaTeX, and `label`) or
    `csv`; `scores` are headline scores, which are tested, or sub-scores, which are not; `interval` is `bounds`,
    `plus-minus` or `none`. Intervals are those of the runs, computed anew where they are of another level.
    """
    for name, value, known in (("format", format, FORMATS), ("interval", interval, INTERVALS)):
        if value not in known:
            raise HarnessError(f"{name}={value}; expected one of {', '.join(known)}")
    if digits is not None and not 0 <= digits <= 12:
        raise HarnessError(f"digits={digits}; expected 0 to 12")
    if format != "latex" and (caption is not None or label is not None):
        raise HarnessError(f"a caption or a label for format={format}; expected them with format=latex only")
    given = [runs] if isinstance(runs, Run) else runs
    loaded, base = loaded_runs(given, baseline)
    tested = _tested(loaded, base, scores)
    found = study(
        loaded,
        base,
        test=test, resamples=resamples, level=level, seed=seed, correction=correction, scores=tested, progress=progress,
    )  # fmt: skip
    shown = lay_out(found, scores, interval, digits)
    if format == "csv":
        return table_csv.written(found, shown, digits)
    note = (table_notes.sentences(found, shown), table_notes.signatures(shown), table_notes.traces(shown))
    return (
        table_markdown.written(shown, *note)
        if format == "markdown"
        else table_latex.written(shown, *note, caption, label)
    )


def _tested(runs: Sequence[RunResult], base: RunResult | None, scores: Sequence[str] | None) -> list[str] | None:
    """The chosen scores that can be tested: headline scores that two runs on the same data have; None for all."""
    if scores is None:
        return None
    some = [*runs, base] if base else list(runs)
    known = dict.fromkeys(name for run in some for name in run.scores)
    for score in scores:
        if score not in known:
            raise HarnessError(
                f"no run has the score {score!r}{nearest(score, known)}; expected one of {', '.join(known)}"
            )
    counts = Counter((run.dataset_key, name) for run in some for name in run.scores)
    common = {name for (_, name), count in counts.items() if count > 1}
    return [score for score in scores if "." not in score and score in common]
