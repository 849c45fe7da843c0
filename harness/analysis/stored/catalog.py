"""`harness.runs`: the finished runs below a folder that fulfil conditions, sorted; and which of several runs can be
compared, from their records alone. Imports nothing that takes long."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from harness.analysis.stored import query as conditions
from harness.inputs.project import runs_folder
from harness.store.records import record, records
from harness.types import HarnessError, RunRecord, RunRecords, check_least

DAY = 24 * 3600
RECENT = 20
"""Folders that are looked at for a hint, however many there are."""


def runs(
    where: str | Sequence[str] = (),
    sort: str | None = None,
    below: str | Path | None = None,
    limit: int | None = None,
) -> RunRecords:
    """The finished runs below a folder, the newest first, from the folders themselves.

    `where` holds conditions that must all be true (`"dataset=wmt22"`, `"bleu>30"`, `"since=2d"`; docs/runs.md has all
    of them), `sort` names a field, `-FIELD` from the highest down. The result is a list of records with `.name`,
    `.scores`, `.config`, `.path` and so on; its `.unfinished` holds the folders that cannot be listed.

    >>> runs("bleu>30", sort="-bleu", below="no/such/folder")
    Traceback (most recent call last):
    harness.types.errors.HarnessError: there is no folder no/such/folder; expected one with runs
    """
    below = runs_folder() if below is None else below
    if not Path(below).is_dir():
        raise HarnessError(f"there is no folder {below}; expected one with runs")
    check_least("limit", limit)
    wanted = [conditions.condition(text) for text in ([where] if isinstance(where, str) else where)]
    finished = records(Path(below))
    newest = conditions.ordered(finished, "-ended")
    kept = conditions.chosen(newest, wanted, datetime.now(timezone.utc))
    if sort is not None:
        conditions.check_sort(newest, sort)
        kept = conditions.ordered(kept, sort) if kept else kept
    kept = kept[:limit]
    return RunRecords(kept, finished.unfinished, len(finished) - len(kept))


def json_of(run: RunRecord, scores: Sequence[str] = (), fields: Sequence[str] = ()) -> dict[str, Any]:
    """A run as JSON has it, with these scores or all, and with these fields of its config or its manifest."""
    names = ("name", "dataset", "system", "experiment", "examples", "failed")
    facts = {name: getattr(run, name) for name in names}
    times = {"started": run.manifest["started"], "ended": run.manifest["ended"]}
    values = {name: value for name, value in run.values.items() if not scores or name in scores}
    raced = {"raced": run.manifest["raced"]} if run.manifest.get("raced") else {}
    place = {"folder": str(run.path), "mlflow": run.mlflow}
    more = {name: conditions.plain_value(run, name) for name in fields}
    facts |= {"shown": more} if fields else {}
    return {**facts, **times, "cell": run.manifest.get("cell"), **raced, **place, "scores": values}


@dataclass(frozen=True)
class _Profile:
    """What a run's record tells of whether it can be compared with another."""

    data: tuple[Any, ...]
    """What must be the same: the data, its clusters and strata."""
    metrics: Mapping[str, tuple[str, frozenset[str]]]
    """The signature and the scores of each."""

    @classmethod
    def of(cls, run: RunRecord) -> _Profile:
        dataset = run.manifest["dataset"]
        data = (run.dataset_key, dataset["cluster"], dataset.get("strata"))
        signatures = {name: str(metric["signature"]) for name, metric in run.manifest["metrics"].items()}
        scores: dict[str, set[str]] = {}
        for name, value in run.values.items():
            scores.setdefault(value["signature"], set()).add(name)
        return cls(data, {name: (sign, frozenset(scores.get(sign, ()))) for name, sign in signatures.items()})

    def fits(self, other: _Profile) -> bool:
        """Whether the two can be compared: they share metrics, and each that they share is the same in both."""
        shared = self.metrics.keys() & other.metrics.keys()
        same = all(self.metrics[name] == other.metrics[name] for name in shared)
        return self.data == other.data and bool(shared) and same


def side_by_side(runs: Sequence[RunRecord]) -> list[RunRecord]:
    """Those of the runs that can be shown together: on each data set the first, and all that can be compared with
    every one before."""
    kept: list[RunRecord] = []
    profiles: dict[str, list[_Profile]] = {}  # by data, each different one once
    for run in runs:
        profile, others = _Profile.of(run), profiles.setdefault(run.dataset_key, [])
        if all(profile.fits(other) for other in others):
            kept.append(run)
            if profile not in others:
                others.append(profile)
    return kept


def newest_comparable(folder: Path) -> Path | None:
    """The newest other run beside this one that it can be compared with, among the few whose folders changed last and
    that ended within a day of it; of a checkpoint none, as the other would be another step."""
    try:
        with os.scandir(folder.parent) as entries:
            beside = [(entry.stat().st_mtime, entry.path) for entry in entries if entry.is_dir()]
    except OSError:
        return None
    own = record(folder)
    if own.manifest["system"].get("series"):
        return None
    profile = _Profile.of(own)
    candidates = []
    for _, path in sorted(beside, reverse=True)[: RECENT + 1]:
        with suppress(HarnessError, OSError, KeyError, TypeError):  # unfinished, or damaged: not for a hint to say
            run = record(Path(path))
            near = abs((own.ended - run.ended).total_seconds()) <= DAY
            scored = any(value["estimate"] is not None for value in run.values.values())
            if run.path != folder and near and scored and not run.manifest["system"].get("series"):
                candidates += [run] if profile.fits(_Profile.of(run)) else []
    return max(candidates, key=lambda run: run.ended).path if candidates else None
