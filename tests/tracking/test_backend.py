"""A new SQLite store: as MLflow makes it, whether it makes the tables itself or finds those of an earlier store."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from harness.compiled import made_once
from harness.tracking import backend


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where tables are kept; nothing is there yet."""
    monkeypatch.setattr(made_once, "folders", lambda module: (tmp_path / "kept",))
    return tmp_path / "kept"


def made(folder: Path) -> dict[str, Any]:
    """What is in a new store: its schema, and its rows but for times."""
    folder.mkdir()
    backend.opened(f"sqlite:///{folder}/mlflow.db")
    with closing(sqlite3.connect(folder / "mlflow.db")) as store:
        schema = store.execute("select type, name, sql from sqlite_master order by 1, 2").fetchall()
        tables = [name for kind, name, _ in schema if kind == "table" and name != "experiments"]
        rows = {name: store.execute(f"select * from {name}").fetchall() for name in tables}
        experiments = store.execute("select experiment_id, name, lifecycle_stage, artifact_location from experiments")
        return {"schema": schema, **rows, "experiments": experiments.fetchall()}


def test_a_store_from_kept_tables_is_the_one_that_mlflow_makes(
    tmp_path: Path, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = made(tmp_path / "first")
    (file,) = kept.iterdir()
    monkeypatch.setattr(backend, "_tables", lambda store: pytest.fail("the tables are there"))
    monkeypatch.chdir(kept)  # which the place of the first experiment's artifacts depends on
    second = made(tmp_path / "second")
    (*_, before), (*_, after) = first.pop("experiments")[0], second.pop("experiments")[0]
    assert first == second
    assert (str(kept) in before, str(kept) in after) == (False, True)
    assert file.stat().st_size > 100_000
    assert sorted(path.name for path in (tmp_path / "second").iterdir()) == ["mlflow.db"]


@pytest.mark.slow
def test_damaged_tables_are_made_again(tmp_path: Path, kept: Path) -> None:
    first = made(tmp_path / "first")
    (file,) = kept.iterdir()
    whole = file.read_bytes()
    file.write_bytes(whole[:5000])
    second = made(tmp_path / "second")
    for store in (first, second):  # MLflow writes the parts of a table's definition in no fixed order
        store["schema"] = [(kind, name) for kind, name, _ in store["schema"]]
    assert second == first
    assert len(file.read_bytes()) == len(whole)
