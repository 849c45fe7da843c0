"""MLFLOW_EXPERIMENT_NAME and MLFLOW_RUN_ID of a surrounding run, on SQLite and on a server."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Called
from tests.tracking.servers import client

Cli = Callable[..., Called]
RUN = ("run", "dataset=file", "dataset.path=dev.jsonl", "metrics=[bleu]", "stats.resamples=20", "progress=false")
GOOD = (*RUN, "system=predictions", "system.path=good.jsonl")
SWEPT = (*RUN, "--multirun", "system=lead", "system.sentences=1,2")


@pytest.fixture(params=["sqlite", "server"])
def uri(files: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The store of the environment."""
    kind = request.param
    place = f"sqlite:///{files}/other.db" if kind == "sqlite" else str(request.getfixturevalue("server"))
    monkeypatch.setenv("MLFLOW_TRACKING_URI", place)
    return place


def surrounding(uri: str, name: str) -> tuple[Any, str, str]:
    """(client, experiment, run): a run that somebody else began."""
    store = client(uri)
    known = store.get_experiment_by_name(name)
    experiment = known.experiment_id if known else store.create_experiment(name)
    return store, experiment, store.create_run(experiment, run_name="pipeline").info.run_id


def below(store: Any, experiment: str, run_id: str) -> list[Any]:
    return list(store.search_runs([experiment], f"tags.`mlflow.parentRunId` = '{run_id}'"))


@pytest.mark.slow
def test_the_experiment_of_the_environment(files: Path, cli: Cli, uri: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It counts where none is given, names the folder too, and is kept for `harness sync`."""
    monkeypatch.setenv("MLFLOW_EXPERIMENT_NAME", "from outside")
    assert cli(*GOOD).code == 0
    (folder,) = files.glob("runs/from*outside/*")
    assert cli(*GOOD, "tracking.experiment=given", "name=given").code == 0
    assert cli(*GOOD, "tracking=none", "name=later").code == 0
    monkeypatch.delenv("MLFLOW_EXPERIMENT_NAME")
    store = client(uri)
    ids = {name: store.get_experiment_by_name(name).experiment_id for name in ("from outside", "given")}
    assert {run.info.run_name for run in store.search_runs([ids["given"]])} >= {"given"}
    assert cli("sync", str(folder.parent)).code == 0
    names = {run.info.run_name for run in store.search_runs([ids["from outside"]])}
    assert names == {"dev-good", "later"}


def test_runs_and_sweeps_are_nested_under_a_surrounding_run(
    files: Path, cli: Cli, uri: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In its experiment; the cells of a sweep under the sweep's parent; once, however often they are logged."""
    store, experiment, outer = surrounding(uri, "pipelines")
    monkeypatch.setenv("MLFLOW_RUN_ID", outer)
    for _ in range(2):
        called = cli(*GOOD)
        assert (called.code, called.err) == (0, "")
        called = cli(*SWEPT, "group=nightly", "tracking.parents=false")
        assert called.code == 0, called.err
    monkeypatch.delenv("MLFLOW_RUN_ID")
    assert cli("sync").code == 0
    plain, sweep = sorted(below(store, experiment, outer), key=lambda run: run.info.run_name != "dev-good")
    assert (plain.info.run_name, sweep.info.run_name) == ("dev-good", "multirun nightly")
    assert [run.data.params["system"] for run in below(store, experiment, sweep.info.run_id)] == ["lead", "lead"]
    assert len(store.search_runs([experiment], f"tags.harness.folder = '{plain.data.tags['harness.folder']}'")) == 1
    assert store.get_run(outer).info.status == "RUNNING"  # it is not ours
    assert list((files / "runs").glob("pipelines/*/scores.json"))


@pytest.mark.slow
def test_another_surrounding_run_has_the_result_too(
    files: Path, cli: Cli, uri: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, experiment, first = surrounding(uri, "twice")
    second = surrounding(uri, "twice")[2]
    for outer in (first, second):
        called = cli(*GOOD, f"tracking.under={outer}")
        assert (called.code, called.err) == (0, "")
    assert [len(below(store, experiment, outer)) for outer in (first, second)] == [1, 1]


def test_a_surrounding_run_that_is_not_there(files: Path, cli: Cli, uri: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It costs a warning, never the run."""
    monkeypatch.setenv("MLFLOW_RUN_ID", "0123456789abcdef0123456789abcdef")
    called = cli(*GOOD, "tracking.experiment=alone")
    assert called.code == 0
    assert "the surrounding run 0123456789abcdef0123456789abcdef is not in" in called.err
    store = client(uri)
    (run,) = store.search_runs([store.get_experiment_by_name("alone").experiment_id])
    assert "mlflow.parentRunId" not in run.data.tags


def test_what_is_no_id_is_refused(files: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_RUN_ID", "a' or 1=1")
    called = cli(*GOOD, "tracking=none")
    assert called.code == 1
    assert "MLFLOW_RUN_ID=a' or 1=1 is no id of a run; expected" in called.err
