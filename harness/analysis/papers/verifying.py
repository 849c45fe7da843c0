"""Are the numbers of a paper those of its runs? Every number of every table that `harness table` wrote is made again
from the stored rows and compared digit by digit (verified_tables.py, verified_csv.py); so are marks, signatures,
macros, and numbers of prose that name their run (verified_prose.py).

A table carries a line that says what it was made of (harness/report/tables/traced.py), CSV the same in a column.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from harness.analysis.papers import verified_csv
from harness.analysis.papers.findings import Document, Finding, Verified
from harness.analysis.papers.tabulate import Layout, Tabulated, tabulated
from harness.analysis.papers.traced_runs import TracedRuns, scored_again
from harness.analysis.papers.verified_prose import check_prose
from harness.analysis.papers.verified_tables import check_table, row_of
from harness.analysis.stored.trust import Trusted
from harness.inputs.project import runs_folder
from harness.report.tables import traced
from harness.stats.options import ComparisonOptions
from harness.types import HarnessError, RunResult

__all__ = ["Finding", "Verified", "beside", "verify"]


def verify(files: Sequence[str | Path], runs: str | Path | None = None, trust: Trusted = False) -> Verified:
    """`runs`: where run folders are looked for (default: runs/, and beside each file)."""
    verified = Verified()
    for file in files:
        places = [Path(runs)] if runs else [runs_folder(), Path(file).parent]
        page, named = Document(str(file), _read(Path(file)), verified), TracedRuns(places, trust)
        if Path(file).suffix == ".csv":
            made = _made(page, 2, verified_csv.trace_of(page), named)
            if made is not None:
                verified_csv.compare_csv(page, made)
        else:
            _check(page, named)
    return verified


def beside(name: str, text: str, made: Tabulated) -> Verified:
    """A table of a document beside the same made again of runs that are known, whatever runs the document names."""
    page = Document(name, text, Verified())
    if made.layout.format == "csv":
        verified_csv.compare_csv(page, made)
    else:
        for line, _ in traced.blocks(text)[:1]:
            check_table(page, line, made)
    if not page.verified.numbers:
        page.say(1, 1, "no number of the runs' table")
    return page.verified


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise HarnessError(f"{file}: {reason}; expected a document with a table of harness table") from None


def _check(page: Document, runs: TracedRuns) -> None:
    before = page.verified.tables, page.verified.numbers, len(page.verified.findings)
    for line, trace in traced.blocks(page.text):
        made = _made(page, line, trace, runs)
        if made is not None:
            check_table(page, line, made)
    check_prose(page, runs)
    if before == (page.verified.tables, page.verified.numbers, len(page.verified.findings)):
        raise HarnessError(
            f"{page.file} has nothing that can be traced to a run; expected a table of harness table with its "
            "comments, or numbers marked as docs/verifying.md says"
        )


def _made(page: Document, line: int, trace: Mapping[str, Any], runs: TracedRuns) -> Tabulated | None:
    """The table again, of runs whose rows were scored again; None where that cannot be had."""
    try:
        layout, options = _how(trace)
        parts = [*trace["runs"], *([trace["baseline"]] if trace.get("baseline") else [])]
        names = dict(layout.names)
        labels = [str(names.get(part["run"], names.get(part["system"], part["system"]))) for part in parts]
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        raise HarnessError(
            f"{page.file} line {line} does not say what the table was made of ({error}); expected it as harness table "
            "wrote it"
        ) from None
    ready: list[RunResult] = []
    stale: list[int] = []
    for i, part in enumerate(parts):
        run = runs.traced(part)
        if run is None:
            page.say(line, 1, f"the run {part['run']} ({part.get('folder')}) is missing; expected its folder")
            return None
        stored = str((run.manifest.get("files") or {}).get("scores.json", ""))[:16]
        if part.get("scores") and stored != part["scores"]:
            stale.append(i)
            if i < len(trace["runs"]):
                page.say(line, 1, f"the run {part['run']} was evaluated again since the table was made (stale)")
        again, different = scored_again(run)
        for message in different[:1]:
            page.say(line, 1, f"{run.path}: {message}")
        ready.append(again)
    base = ready.pop() if trace.get("baseline") else None
    others = _other_signatures(ready, stale)
    for i, message in others:
        csv = layout.format == "csv"
        place = verified_csv.row_of(page, labels[i]) if csv else row_of(page, line, layout.format, labels[i])
        page.say(*place, message)
    if others:
        return None
    if base is not None:
        base = next((run for run in ready if run.path and run.path == base.path), base)
    try:
        return tabulated(ready, base, layout, options)
    except HarnessError as error:  # runs that no longer make a table
        page.say(line, 1, f"the table cannot be made again: {error}")
        return None


def _how(trace: Mapping[str, Any]) -> tuple[Layout, ComparisonOptions]:
    known = {each.name for each in fields(Layout)}
    layout = Layout(**{name: value for name, value in trace["layout"].items() if name in known})
    layout = replace(layout, names=tuple((str(run), str(name)) for run, name in layout.names))
    scores = trace["scores"]
    return layout, ComparisonOptions(**trace["options"], scores=None if scores is None else tuple(scores))


def _other_signatures(runs: Sequence[RunResult], stale: Sequence[int]) -> list[tuple[int, str]]:
    """(number of the run, message) where one's scores are defined otherwise than those above it; of two, the one that
    was evaluated again since."""
    order = sorted(range(len(runs)), key=lambda i: (i in stale, i))
    first: dict[tuple[str, str], RunResult] = {}
    messages = []
    for i in order:
        run = runs[i]
        for name, statistics in run.statistics.items():
            other = first.setdefault((run.dataset_key, name), run)
            if other.statistics[name].signature.definition != statistics.signature.definition:
                messages.append(
                    (i, f"{name} of {run.name} has another signature than that of {other.name}: "
                        f"{statistics.signature} and {other.statistics[name].signature}")
                )  # fmt: skip
    return messages
