"""Several processes with one run folder or one store: they wait for each other, and nobody undoes what another did."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from threading import Timer
from types import SimpleNamespace

import pytest

from harness.inputs import locks
from harness.store import folder as store
from tests.conftest import Called
from tests.tracking.servers import client
from tests.tracking.test_mlflow import LEXICAL, stored_runs

Cli = Callable[..., Called]


@pytest.fixture
def folder(files: Path, cli: Cli) -> Path:
    """A finished run that is not in MLflow."""
    assert cli(*LEXICAL, "system.path=good.jsonl", "tracking=none").code == 0
    (path,) = files.glob("runs/harness/*/")
    return path


@pytest.mark.slow
def test_two_processes_sync_one_folder_at_once(files: Path, folder: Path) -> None:
    arguments = [sys.executable, "-m", "harness", "sync", str(folder), "--json"]
    started = [
        subprocess.Popen(arguments, cwd=files, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    ended = [(*process.communicate(timeout=300), process.returncode) for process in started]
    assert [(error, code) for _, error, code in ended] == [("", 0), ("", 0)], ended
    logged = [json.loads(out)["runs"][0] for out, _, _ in ended]
    assert sorted(entry["status"] for entry in logged) == ["already there", "logged"]
    (run,) = stored_runs(client(f"sqlite:///{files}/runs/mlflow.db"))
    assert {entry["run_id"] for entry in logged} == {run.info.run_id}
    manifest = json.loads((folder / "manifest.json").read_text())
    assert (manifest["mlflow"]["run_id"], manifest["mlflow_run_ids"]) == (run.info.run_id, [run.info.run_id])


def test_what_another_process_wrote_meanwhile_stays(
    files: Path, folder: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ExitStack() as other:
        other.enter_context(store.opened(folder))

        def other_ends() -> None:
            manifest = json.loads((folder / "manifest.json").read_text())
            store.write_manifest(folder, {**manifest, "mlflow_run_ids": ["elsewhere"]})
            other.close()

        def held(path: Path, patience: float) -> AbstractContextManager[None]:
            Timer(0.2, other_ends).start()
            return locks.held(path, patience)

        monkeypatch.setattr("harness.store.folder.held", held)
        called = cli("sync", str(folder))
    assert (called.code, called.out.split()[0]) == (0, "logged"), called.out
    (run,) = stored_runs(client(f"sqlite:///{files}/runs/mlflow.db"))
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["mlflow_run_ids"] == ["elsewhere", run.info.run_id]


def test_a_folder_that_is_written_all_the_time_is_given_up(
    folder: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harness.run.logging.PATIENCE", 0.1)
    with store.opened(folder):
        called = cli("sync", str(folder))
    assert called.code == 1
    assert "failed " in called.out and f"another process is writing the run folder {folder}" in called.out


def test_waiting_for_others_does_not_count_as_a_slow_store(
    files: Path, folder: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = SimpleNamespace(now=0.0)

    @contextmanager
    def alone(uri: str) -> Iterator[None]:
        clock.now += 600  # so long the lock of the store was another's
        yield

    for module in ("mlflow", "filling"):
        monkeypatch.setattr(f"harness.tracking.{module}.time", SimpleNamespace(monotonic=lambda: clock.now))
    monkeypatch.setattr("harness.tracking.mlflow.backend.alone", alone)
    called = cli("sync", str(folder))
    assert (called.code, called.out.split()[0]) == (0, "logged"), called.out
    assert [run.info.status for run in stored_runs(client(f"sqlite:///{files}/runs/mlflow.db"))] == ["FINISHED"]
