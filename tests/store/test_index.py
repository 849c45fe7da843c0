"""The index of run folders: it never says anything that the folders do not say."""

from __future__ import annotations

import json
import multiprocessing
import os
import shutil
from pathlib import Path

import pytest

from harness.store import index, records, shape
from harness.types import RunRecord
from tests.made_up import write_run

RUNS = 6


@pytest.fixture
def below(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(index, "WORTH", 3)
    for i in range(RUNS):
        write_run(tmp_path / "runs" / f"run-{i}", f"name-{i}", scores={"bleu": (30.0 + i, 28.0, 32.0)})
    return tmp_path / "runs"


def listed(below: Path) -> list[RunRecord]:
    return sorted(records.records(below), key=lambda run: run.path)


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The folders whose files are read."""
    folders: list[str] = []
    whole = records._record

    def record(folder: str, names: set[str]) -> RunRecord:
        folders.append(Path(folder).name)
        return whole(folder, names)

    monkeypatch.setattr(records, "_record", record)
    return folders


def rewrite(path: Path, **fields: object) -> None:
    """As a run writes it: a new file in the place of the old one."""
    new = path.with_suffix(".new")
    new.write_text(json.dumps({**json.loads(path.read_text()), **fields}))
    new.replace(path)


def test_what_did_not_change_is_not_read_again(below: Path, read: list[str]) -> None:
    first = listed(below)
    assert len(read) == RUNS
    assert listed(below) == first  # values and manifests too
    assert len(read) == RUNS


def test_what_changed_is_read_again_and_what_is_gone_is_gone(below: Path, read: list[str]) -> None:
    listed(below)
    read.clear()
    rewrite(below / "run-1" / "scores.json", failed=7)
    rewrite(below / "run-2" / "manifest.json", mlflow={"run_id": "r", "uri": "u", "where": "w"})
    shutil.rmtree(below / "run-3")
    write_run(below / "run-9", "new")
    (below / "run-4" / "examples.parquet").unlink()
    (below / "run-5" / "manifest.json").write_text("{")
    runs = {run.path.name: run for run in listed(below)}
    assert sorted(read) == ["run-1", "run-2", "run-4", "run-5", "run-9"]
    assert sorted(runs) == ["run-0", "run-1", "run-2", "run-9"]
    assert (runs["run-1"].failed, runs["run-2"].mlflow, runs["run-9"].name) == (
        7,
        {"run_id": "r", "uri": "u", "where": "w"},
        "new",
    )
    assert {path.name for path in records.records(below).unfinished} == {"run-4", "run-5"}


def test_an_index_that_came_with_a_folder_says_nothing(below: Path, read: list[str], tmp_path: Path) -> None:
    """Copied with all times: files here are others."""
    listed(below)
    shutil.copytree(below, tmp_path / "copy", symlinks=True)
    read.clear()
    assert [run.name for run in listed(tmp_path / "copy")] == [f"name-{i}" for i in range(RUNS)]
    assert len(read) == RUNS


@pytest.mark.parametrize("damage", [b"", b"no database", b"SQLite format 3\0" + b"\xff" * 5000])
@pytest.mark.filterwarnings("ignore")
def test_a_damaged_index_is_made_anew(below: Path, read: list[str], damage: bytes) -> None:
    first = listed(below)
    (below / ".cache" / "records.sqlite").write_bytes(damage)
    assert listed(below) == first
    read.clear()
    assert listed(below) == first
    assert not read


def test_damaged_entries_are_read_from_the_folders(below: Path, read: list[str]) -> None:
    first = listed(below)
    path = below / ".cache" / "records.sqlite"
    content = path.read_bytes()
    path.write_bytes(content.replace(b"name-1", b"lie--1"))
    read.clear()
    assert listed(below) == first
    assert "run-1" in read


def test_other_rules_other_entries(below: Path, read: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    listed(below)
    read.clear()
    monkeypatch.setattr(index, "RULES", "others")
    listed(below)
    assert len(read) == RUNS


def test_links_are_not_followed(below: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (below / ".cache").symlink_to(tmp_path / "elsewhere")
    assert len(listed(below)) == RUNS
    assert not list((tmp_path / "elsewhere").iterdir())
    (below / ".cache").unlink()
    (below / ".cache").mkdir()
    (below / ".cache" / "records.sqlite").symlink_to(tmp_path / "elsewhere" / "file")
    assert len(listed(below)) == RUNS
    assert not list((tmp_path / "elsewhere").iterdir())


def test_a_link_in_place_of_a_file_is_not_in_the_index(below: Path) -> None:
    listed(below)
    outside = below.parent / "scores.json"
    (below / "run-1" / "scores.json").rename(outside)
    (below / "run-1" / "scores.json").symlink_to(outside)
    unfinished = records.records(below).unfinished
    assert "symbolic link" in unfinished[below / "run-1"]


def test_few_runs_leave_no_index(below: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index, "WORTH", RUNS + 1)
    assert len(listed(below)) == RUNS
    assert not (below / ".cache").exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_is_listed(below: Path, caplog: pytest.LogCaptureFixture) -> None:
    below.chmod(0o555)
    try:
        assert len(listed(below)) == RUNS
    finally:
        below.chmod(0o755)
    assert not caplog.records


def _listed(below: str) -> list[str]:
    index.WORTH = 3
    return [run.name for _ in range(3) for run in listed(Path(below))]


def test_several_processes_at_once(below: Path) -> None:
    with multiprocessing.get_context("spawn").Pool(4) as pool:
        names = pool.map(_listed, [str(below)] * 4)
    assert names == [[f"name-{i}" for i in range(RUNS)] * 3] * 4


def test_entry_holds_the_whole_run(below: Path) -> None:
    run = records.record(below / "run-0")
    again = index.record(str(below / "run-0"), index.entry(run))
    assert again == run
    assert dict(again.manifest) == run.manifest and dict(again.values) == run.values
    assert again.row() == run.row() and again.scores == run.scores
    assert set(shape.FILES) <= set(os.listdir(below / "run-0"))
