"""Every finished run below a folder, from the folders themselves: of each its names, scores.json and manifest.json."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from harness.store import shape
from harness.types import HarnessError, RunRecord, RunRecords

STARTED = {"scores.json", "manifest.json", "outputs.jsonl", ".lock"}
"""A folder with one of these is a run's, finished or not."""


def records(below: Path) -> RunRecords:
    """The finished runs in `below` and one or two levels below it, in no order; those that cannot be read are named."""
    found = RunRecords()
    try:
        for folder, names in sorted(_run_folders(str(below), 2)):
            try:
                found.append(_record(folder, names))
            except HarnessError as error:
                found.unfinished[Path(folder)] = str(error)
    except OSError as error:
        raise HarnessError(f"{below} cannot be read ({error.strerror}); expected a folder with runs") from None
    return found


def record(folder: Path) -> RunRecord:
    """One finished run."""
    return _record(str(folder), set(os.listdir(folder)))


def _run_folders(folder: str, levels: int) -> Iterator[tuple[str, set[str]]]:
    """(folder, names in it) of every folder that is a run's; in a run's folder none is looked for."""
    with os.scandir(folder) as entries:
        inside = list(entries)
    names = {entry.name for entry in inside}
    if names & STARTED:
        yield folder, names
    elif levels:
        for entry in inside:
            if not entry.name.startswith(".") and entry.is_dir():
                yield from _run_folders(entry.path, levels - 1)


def _record(folder: str, names: set[str]) -> RunRecord:
    for name in ("scores.json", "manifest.json"):
        if name not in names:
            raise HarnessError(f"no {name}: not finished")
    if missing := [name for name in shape.FILES if name not in names]:
        raise HarnessError(f"no {', '.join(missing)}: not whole")
    told, manifest = (_json(folder, name) for name in ("scores.json", "manifest.json"))
    try:
        shape.check_manifest(manifest)
        shape.check_scores(told)
        return RunRecord(
            path=Path(folder),
            name=told["name"],
            dataset=manifest["dataset"]["name"],
            system=manifest["system"]["name"],
            experiment=shape.experiment(manifest),
            examples=told["examples"],
            failed=told["failed"],
            started=shape.time_of(manifest["started"]),
            ended=shape.time_of(manifest["ended"]),
            mlflow=manifest["mlflow"],
            values=told["scores"],
            manifest=manifest,
        )
    except shape.NewerSchema as error:
        raise HarnessError(str(error)) from None
    except ValueError as error:
        raise HarnessError(f"not as this harness writes it: {error}") from None


def _json(folder: str, name: str) -> Any:
    try:
        with open(f"{folder}/{name}", "rb") as file:
            return orjson.loads(file.read())
    except OSError as error:
        raise HarnessError(f"{name} cannot be read ({error.strerror})") from None
    except ValueError:
        raise HarnessError(f"{name} is not JSON") from None
