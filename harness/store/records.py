"""Every finished run below a folder, from the folders themselves: of each its names, scores.json and manifest.json."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from harness.inputs import regular
from harness.inputs.garbage import left_alone
from harness.store import index, shape
from harness.types import HarnessError, RunRecord, RunRecords

STARTED = {"scores.json", "manifest.json", "outputs.jsonl", ".lock"}
"""A folder with one of these is a run's, finished or not."""
Folder = tuple[str, set[str]]
"""(a run's folder, the names in it)."""


def records(below: Path) -> RunRecords:
    """The finished runs in `below` and one or two levels below it, in no order; those that cannot be read are named."""
    try:
        folders = sorted(run_folders(str(below), 2))
    except OSError as error:
        raise HarnessError(f"{below} cannot be read ({error.strerror}); expected a folder with runs") from None
    with left_alone():
        return _all(folders, index.Index(below))


def _all(folders: Sequence[Folder], known: index.Index) -> RunRecords:
    """The runs in these folders, from the index what did not change."""
    finished, fresh = RunRecords(), {}
    stamps = {folder: stamp for folder, names in folders if (stamp := _stamp(folder, names)) is not None}
    entries = known.get(list(stamps.values()))
    for folder, names in folders:
        stamp = stamps.get(folder)
        try:
            if stamp in entries:
                finished.append(index.record(folder, entries[stamp]))
                continue
            run = _record(folder, names)
            finished.append(run)
            if stamp is not None and stamp == _stamp(folder, names):  # nobody wrote meanwhile
                fresh[stamp] = index.entry(run)
        except HarnessError as error:
            finished.unfinished[Path(folder)] = str(error)
    known.put(fresh, len(stamps))
    return finished


def _stamp(folder: str, names: set[str]) -> str | None:
    """The identity of a run's files; None where not all of them are there."""
    if not names.issuperset(shape.FILES):
        return None
    try:
        return index.stamp(os.lstat(f"{folder}/scores.json"), os.lstat(f"{folder}/manifest.json"))
    except OSError:
        return None


def record(folder: Path) -> RunRecord:
    """One finished run."""
    return _record(str(folder), set(os.listdir(folder)))


def run_folders(folder: str, levels: int) -> Iterator[Folder]:
    """(folder, names in it) of every folder that is a run's, at most so many levels below; in a run's folder none is
    looked for."""
    with os.scandir(folder) as entries:
        inside = list(entries)
    names = {entry.name for entry in inside}
    if names & STARTED:
        yield folder, names
    elif levels:
        for entry in inside:
            if not entry.name.startswith(".") and entry.is_dir():
                yield from run_folders(entry.path, levels - 1)


def _record(folder: str, names: set[str]) -> RunRecord:
    for name in ("scores.json", "manifest.json"):
        if name not in names:
            raise HarnessError(f"no {name}: not finished")
    if missing := [name for name in shape.FILES if name not in names]:
        raise HarnessError(f"no {', '.join(missing)}: incomplete")
    scores, manifest = (_json(folder, name) for name in ("scores.json", "manifest.json"))
    try:
        shape.check_manifest(manifest)
        shape.check_scores(scores)
        return RunRecord(
            path=Path(folder),
            name=scores["name"],
            dataset=manifest["dataset"]["name"],
            system=manifest["system"]["name"],
            experiment=shape.experiment(manifest),
            examples=scores["examples"],
            failed=scores["failed"],
            started=shape.time_of(manifest["started"]),
            ended=shape.time_of(manifest["ended"]),
            mlflow=manifest["mlflow"],
            values=scores["scores"],
            manifest=manifest,
        )
    except shape.OtherSchema as error:
        raise HarnessError(str(error)) from None
    except ValueError as error:
        raise HarnessError(f"not as this harness writes it: {error}") from None


def _json(folder: str, name: str) -> Any:
    try:
        return shape.parsed(regular.read(Path(folder, name)))
    except OSError as error:
        raise HarnessError(f"{name} cannot be read ({error.strerror})") from None
    except shape.WrongShape as error:
        raise HarnessError(f"{name} is not as this harness writes it: {error}") from None
    except ValueError:
        raise HarnessError(f"{name} is not JSON") from None
