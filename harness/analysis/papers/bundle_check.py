"""A bundle that was unpacked, beside what is computed again from its runs: files, comparisons and their p-values, and
tables with their marks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson

from harness.analysis.papers.bundling import COMPARISONS, OPTIONS, SUFFIXES, comparisons
from harness.analysis.papers.reproducing import MOST_RESAMPLES
from harness.analysis.papers.sameness import Checked
from harness.analysis.papers.tabulate import Layout, tabulated
from harness.analysis.papers.verifying import beside
from harness.inputs import regular
from harness.stats.options import ComparisonOptions
from harness.store import zipped
from harness.types import HarnessError, Progress, RunResult
from harness.types.reproductions import Difference

SHOWN = ("digits", "title", "note", "caution", "stage")
"""Fields that say how a row is written, in words that may be others in another version."""


def changed_members(place: Path) -> list[Difference]:
    """The files that are not those that were packed."""
    if not (place / zipped.SUMS).exists():
        return [Difference(zipped.SUMS, "file", "a list of all files", None)]
    return [Difference(name, "SHA-256", listed, here) for name, listed, here in zipped.changed(place)]


def compare_comparisons(place: Path, runs: Sequence[RunResult], checked: Checked, progress: Progress) -> None:
    """Every number and verdict of comparisons.json, tested again."""
    if not (place / COMPARISONS).exists():
        return  # whether it should be there, bundle_facts says
    try:
        _compare_tests(place / COMPARISONS, runs, checked, progress)
    except HarnessError as error:
        checked.differences.append(Difference(COMPARISONS, f"cannot be tested again: {error}", None, None))


def _compare_tests(file: Path, runs: Sequence[RunResult], checked: Checked, progress: Progress) -> None:
    try:
        stored = orjson.loads(regular.read(file))
        options = ComparisonOptions(**{name: stored[name] for name in OPTIONS})
        options.check()
        rows = {kind: list(map(dict, stored[kind])) for kind in ("comparisons", "macro_average")}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise HarnessError(f"it cannot be read ({error}); expected that of a bundle") from None
    if options.resamples > MOST_RESAMPLES:
        raise HarnessError(f"it has resamples={options.resamples:,}; expected at most {MOST_RESAMPLES:,}")
    again = comparisons(runs, options, progress) or {"comparisons": [], "macro_average": []}
    for kind, before in rows.items():
        mine = {_name(row): row for row in again[kind]}
        for row in before:
            name = _name(row)
            other = mine.pop(name, None)
            if other is None:
                checked.value(COMPARISONS, name, row.get("p_value"), None)
                continue
            for field in other:
                if field not in SHOWN:
                    _compare_field(f"{name}, {field}", row.get(field), other[field], checked)
        for name in mine:
            checked.value(COMPARISONS, name, None, mine[name]["p_value"])


def compare_tables(
    place: Path, stored: Sequence[RunResult], runs: Sequence[RunResult], checked: Checked, progress: Progress
) -> None:
    """Every number and mark of the tables, made again of the stored runs with the scores that they have here."""
    again = [replace(run, scores=here.scores) for run, here in zip(stored, runs, strict=True)]
    try:
        made = tabulated(again, None, Layout(), ComparisonOptions(), progress)
    except HarnessError as error:
        checked.differences.append(Difference("tables", f"cannot be made again: {error}", None, None))
        return
    for form, suffix in SUFFIXES.items():
        path = place / "tables" / f"scores.{suffix}"
        if not path.exists():
            continue  # that it is missing, bundle_facts says
        try:
            text = regular.read(path).decode()
        except (OSError, ValueError) as error:
            checked.differences.append(Difference(f"tables/{path.name}", f"cannot be read ({error})", None, None))
            continue
        here = replace(made, layout=Layout(form))
        verified, whole = (beside(f"tables/{path.name}", each, here) for each in (text, here.text()))
        checked.compared += verified.numbers
        if verified.numbers < whole.numbers:  # a system that lost may have been taken out
            checked.value(f"tables/{path.name}", "numbers in it", verified.numbers, whole.numbers)
        for finding in verified.findings:
            at = f"{finding.file}:{finding.line}:{finding.column}"
            checked.differences.append(Difference(at, finding.message, None, None))


def _compare_field(what: str, stored: Any, here: Any, checked: Checked) -> None:
    if isinstance(stored, Mapping) and isinstance(here, Mapping):
        for name in dict.fromkeys((*stored, *here)):
            _compare_field(f"{what}.{name}", stored.get(name), here.get(name), checked)
    elif isinstance(stored, list) and isinstance(here, list | tuple) and len(stored) == len(here):
        for i, (before, after) in enumerate(zip(stored, here, strict=True)):
            _compare_field(f"{what}[{i}]", before, after, checked)
    elif _is_number(stored) and _is_number(here):
        checked.number(COMPARISONS, what, stored, here)
    else:
        checked.value(COMPARISONS, what, stored, here)


def _is_number(value: Any) -> bool:
    return isinstance(value, float | int) and not isinstance(value, bool)


def _name(row: Mapping[str, Any]) -> str:
    return f"{row.get('system')} against {row.get('baseline')} on {row.get('dataset')}, {row.get('score')}"
