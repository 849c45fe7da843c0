"""Where runs are: the folder that they are kept in, the cache that they share, and how one is found by its name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from harness.inputs.project import runs_folder
from harness.store.finished import read_manifest
from harness.store.records import records


def shared_folder() -> Path:
    """Where what runs share is: outputs and arrays, by keys that name everything that decided them."""
    return runs_folder() / ".cache"


def stored_runs(runs: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    """(folder, manifest) of every finished run one or two levels below `runs`."""
    return ((path, manifest) for path, manifest in ended_runs(runs) if manifest is not None)


def ended_runs(runs: Path) -> Iterator[tuple[Path, dict[str, Any] | None]]:
    """The same with the damaged ones, whose manifest is None."""
    for pattern in ("*/manifest.json", "*/*/manifest.json"):
        for path in runs.glob(pattern):
            if (path.parent / "scores.json").exists():
                yield path.parent, read_manifest(path.parent)


def find(runs: Path, name: str) -> Path | None:
    """The newest finished run of that name, or the one with that MLflow run id, below `runs`."""
    known = [(run.manifest["ended"], run.path, run.manifest) for run in records(runs)]
    return _newest(name, known) or _newest(name, ((m["ended"], path, m) for path, m in stored_runs(runs)))


def _newest(name: str, runs: Iterable[tuple[str, Path, Mapping[str, Any]]]) -> Path | None:
    """Of runs as (ended, folder, manifest) the newest that is called so."""
    matches = [
        (ended, path)
        for ended, path, manifest in runs
        if name in (manifest["name"], path.name, *manifest["mlflow_run_ids"])
    ]
    return max(matches)[1] if matches else None
