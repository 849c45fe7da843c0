"""`harness.runs`: the finished runs below a folder that fulfil conditions, sorted. Imports nothing that takes long."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from harness import where as conditions
from harness.store.listing import record, records
from harness.types import HarnessError, RunRecord, RunRecords


def runs(
    where: str | Sequence[str] = (),
    sort: str | None = None,
    below: str | Path = "runs",
    limit: int | None = None,
) -> RunRecords:
    """The finished runs below a folder, the newest first, from the folders themselves.

    `where` holds conditions that must all be true (`"dataset=wmt22"`, `"bleu>30"`, `"since=2d"`; docs/runs.md has all
    of them), `sort` names a field, `-FIELD` from the highest down. The result is a list of records with `.name`,
    `.scores`, `.config`, `.path` and so on; its `.unfinished` holds the folders that cannot be listed.

    >>> runs("bleu>30", sort="-bleu", below="no/such/folder")
    Traceback (most recent call last):
    harness.types.HarnessError: there is no folder no/such/folder; expected one with runs
    """
    if not Path(below).is_dir():
        raise HarnessError(f"there is no folder {below}; expected one with runs")
    if limit is not None and limit < 1:
        raise HarnessError(f"limit={limit}; expected at least 1")
    wanted = [conditions.condition(text) for text in ([where] if isinstance(where, str) else where)]
    found = records(Path(below))
    newest = conditions.ordered(found, "-ended")
    kept = conditions.chosen(newest, wanted, datetime.now(timezone.utc))
    if sort is not None:
        conditions.check_sort(newest, sort)
        kept = conditions.ordered(kept, sort) if kept else kept
    kept = kept[:limit]
    return RunRecords(kept, found.unfinished, len(found) - len(kept))


def told(run: RunRecord, scores: Sequence[str] = ()) -> dict[str, Any]:
    """A run as JSON has it, with these scores or all."""
    names = ("name", "dataset", "system", "experiment", "examples", "failed")
    found = {name: getattr(run, name) for name in names}
    times = {"started": run.manifest["started"], "ended": run.manifest["ended"]}
    values = {name: value for name, value in run.values.items() if not scores or name in scores}
    return {**found, **times, "folder": str(run.path), "mlflow": run.mlflow, "scores": values}


def earlier_on_the_same_data(folder: Path) -> Path | None:
    """The newest other run in the same place that a run can be compared with."""
    key = record(folder).manifest["dataset"]["key"]
    others = [run for run in records(folder.parent) if run.path != folder and run.manifest["dataset"]["key"] == key]
    return max(others, key=lambda run: run.ended).path if others else None
