"""Runs are found by their name, their folder's name and the ids that they have in MLflow; the newest of a name counts."""

from __future__ import annotations

import json
from pathlib import Path

from harness.store.places import ended_runs, find, stored_runs


def write_run(folder: Path, name: str, ended: str, ids: list[str]) -> Path:
    manifest = {
        "dataset": {"name": "dev", "key": "k", "cluster": None, "examples": 1},
        "system": {"name": "lead", "key": None, "repeats": 1},
        "name": name,
        "key": "k",
        "group": None,
        "config": {},
        "files": {},
        "metrics": {},
        "generation": {},
        "seed": 1,
        "harness": "0",
        "mlflow": None,
        "mlflow_run_ids": ids,
        "started": ended,
        "ended": ended,
    }
    folder.mkdir(parents=True)
    (folder / "manifest.json").write_text(json.dumps(manifest))
    (folder / "scores.json").write_text("{}")
    return folder


def test_runs_are_found_below_a_folder(tmp_path: Path) -> None:
    old = write_run(tmp_path / "harness" / "dev-lead-1", "dev-lead", "2026-01-01T00:00:00+00:00", ["a", "b"])
    new = write_run(tmp_path / "harness" / "dev-lead-2", "dev-lead", "2026-01-02T00:00:00+00:00", [])
    alone = write_run(tmp_path / "alone", "mine", "2026-01-03T00:00:00+00:00", ["c"])
    damaged = write_run(tmp_path / "harness" / "damaged", "dev-lead", "2026-01-04T00:00:00+00:00", [])
    (damaged / "manifest.json").write_text("{")
    unfinished = write_run(tmp_path / "harness" / "unfinished", "dev-lead", "2026-01-05T00:00:00+00:00", [])
    (unfinished / "scores.json").unlink()
    write_run(tmp_path / "one" / "two" / "three", "deep", "2026-01-06T00:00:00+00:00", [])

    names = {"dev-lead": new, "dev-lead-1": old, "b": old, "mine": alone, "c": alone, "damaged": None, "deep": None}
    assert {name: find(tmp_path, name) for name in names} == names
    assert {path for path, _ in stored_runs(tmp_path)} == {old, new, alone}
    assert {path for path, manifest in ended_runs(tmp_path) if manifest is None} == {damaged}
