"""What stands below a results table: what was tested and how, what the marks mean, the signatures of the scores; and
the lines by which each row can be traced to its run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from harness import __version__
from harness.inputs import arrow
from harness.inputs.choices import CORRECTIONS, INTERVALS, OVER_SEEDS
from harness.report.tables.cells import Column, Row, Section, Table, plain
from harness.types import RunResult, Score, Study
from harness.types.shown import counted

BETTER, WORSE, MISSING = "†", "‡", "n/a"


def sentences(study: Study, table: Table) -> list[str]:
    """The note, as plain text."""
    return [*_data(table), *_intervals(table), *_bold(study, table), *_daggers(study), *_gaps(table)]


def _data(table: Table) -> Iterator[str]:
    for section in table.sections:
        runs = [row.run for row in section.rows]
        first = runs[0]
        rows = first.columns("id", *([first.cluster] if first.cluster else []))
        n = arrow.distinct(rows.column("id"))
        units = f"{counted(n, 'example')} of {section.dataset}"
        if first.cluster:
            units += f" in {counted(arrow.distinct(rows.column(first.cluster)), 'cluster')} by {plain(first.cluster)}"
        if rows.num_rows > n and not _seeds(first):
            units += f", {rows.num_rows // n} outputs each"
        if seeds := [f"{row.label} {row.run.manifest['system']['seeds']}" for row in section.rows if _seeds(row.run)]:
            units += f"; seeds: {_list(seeds)}"
        failed = [f"{row.label} {row.run.failed:,}" for row in section.rows if row.run.failed]
        yield f"n = {units}{f'; failed: {_list(failed)}' if failed else ''}."


def _seeds(run: RunResult) -> bool:
    """Whether it is of several seeds."""
    return (run.manifest.get("system", {}).get("seeds") or 1) > 1 if run.manifest else False


def _intervals(table: Table) -> Iterator[str]:
    cells = [(row.run, cell.score) for _, row, _, cell in _cells(table) if cell and cell.score.low is not None]
    if not cells or table.interval == "none":
        return
    levels = _list(dict.fromkeys(f"{score.level * 100:g}%" for _, score in cells))
    methods = dict.fromkeys(
        score.method if score.method == OVER_SEEDS else f"{_method(score)}, {score.resamples:,} resamples{_seed(run)}"
        for run, score in cells
    )
    if table.interval == "bounds":
        yield f"In brackets: {levels} intervals ({'; '.join(methods)})."
    else:
        yield f"±: half of the {levels} interval ({'; '.join(methods)}), which need not lie evenly around the score."


def _method(score: Score) -> str:
    return INTERVALS.get(score.method, score.method)


def _seed(run: RunResult) -> str:
    return f", seed {run.manifest['seed']}" if "seed" in run.manifest else ""


def _bold(study: Study, table: Table) -> Iterator[str]:
    scores = {column.score for column in table.columns}
    tests = [row for row in study.comparisons if row.score in scores]
    if tests:
        adjusted = _adjusted(study, len(study.comparisons))
        tests_of = "t-tests for new seeds" if study.of_seeds else f"{study.tested_by} tests"
        yield (
            "Bold: the best, with all that cannot be told apart from it "
            f"({tests_of} of all pairs, {study.resamples:,} resamples, seed {study.seed}; {adjusted})."
        )
        left_out = max(row.excluded for row in tests)
        if left_out:
            yield f"Each test leaves out the outputs that either system failed on, up to {left_out:,}."
    alone = [section.dataset for section in table.sections if len(section.rows) == 1]
    if alone:
        yield f"One run only on {_list(alone)}: nothing to test there, nothing is bold."
    parts = [column.title for column in table.columns if "." in column.score]
    if parts:
        yield f"Not tested, so never marked: {_list(parts)}."


def _adjusted(study: Study, count: int) -> str:
    tests = counted(count, "test")
    if study.correction == "none":
        return f"p ≤ {1 - study.level:.2g}, not adjusted for {tests}"
    return f"p ≤ {1 - study.level:.2g}, adjusted over {tests} by {CORRECTIONS[study.correction]}"


def _daggers(study: Study) -> Iterator[str]:
    if study.against:
        names = dict.fromkeys(study.labels[row.baseline] for row in study.against)
        yield (
            f"{BETTER} better, {WORSE} worse than {plain(_list(names))}: tests of each system against it, "
            f"{_adjusted(study, len(study.against))}."
        )


def _gaps(table: Table) -> Iterator[str]:
    """Why a value is missing or deserves no trust, and what an empty cell means."""
    reasons: dict[str, dict[str, list[str]]] = {}  # reason -> score and data set -> systems
    for section, row, column, cell in _cells(table):
        reason = cell.score.note if cell else None
        if cell and cell.score.estimate is None:
            reason = f"{MISSING}, {reason or 'no value'}"
        if reason:
            where = column.title + (f" on {section.dataset}" if len(table.sections) > 1 else "")
            reasons.setdefault(plain(reason), {}).setdefault(where, []).append(row.label)
    for reason, places in reasons.items():
        yield f"{'; '.join(f'{where} ({_list(labels)})' for where, labels in places.items())}: {reason}."
    if any(cell is None for *_, cell in _cells(table)):
        yield "Empty: not evaluated."
    if table.mixed:
        yield "↓: lower is better."


def _cells(table: Table) -> Iterator[tuple[Section, Row, Column, Any]]:
    for section in table.sections:
        for row in section.rows:
            for column, cell in zip(table.columns, row.cells, strict=True):
                yield section, row, column, cell


def signatures(table: Table) -> list[tuple[str, str]]:
    """(which scores of which runs, their signature), each signature once; at last this program's version."""
    several = len(table.sections) > 1
    by_signature: dict[str, dict[str, dict[str, None]]] = {}  # signature -> titles -> places
    everywhere: dict[str, set[str]] = {}
    for section, row, column, cell in _cells(table):
        if cell is not None:
            place = f"{row.label} on {section.dataset}" if several else row.label
            everywhere.setdefault(column.title, set()).add(cell.score.signature)
            by_signature.setdefault(cell.score.signature, {}).setdefault(column.title, {})[place] = None
    rows = []
    for signature, titles in by_signature.items():
        groups: dict[tuple[str, ...], list[str]] = {}
        for name, places in titles.items():
            groups.setdefault(tuple(places) if len(everywhere[name]) > 1 else (), []).append(name)
        for where, names in groups.items():
            rows.append((_list(names) + (f" ({_list(where)})" if where else ""), plain(signature)))
    return [*rows, ("harness", __version__)]


def traces(table: Table) -> list[str]:
    """Where each row comes from, in a line; no folder above that of the run's experiment."""
    lines = []
    for section in table.sections:
        for row in section.rows:
            places = ", ".join(f"{name} {value}" for name, value in origin(row.run).items() if value)
            lines.append(f"{section.dataset}, {row.label}: {plain(places)}")
    return lines


def origin(run: RunResult) -> dict[str, str]:
    """What leads back to a run."""
    made = run.manifest
    git = made.get("git") or {}
    commit = git.get("commit", "") + (" (changed)" if git.get("dirty") else "")
    return {
        "run": made.get("name", run.name),
        "folder": "/".join(run.path.absolute().parts[-2:]) if run.path else ", ".join(made.get("runs", ())),
        "key": made.get("key", "")[:16],
        "dataset_key": run.dataset_key[:16],
        "mlflow_run_id": (made.get("mlflow") or {}).get("run_id", ""),
        "git_commit": commit,
    }


def _list(items: Sequence[str] | dict[str, None]) -> str:
    return ", ".join(items)
