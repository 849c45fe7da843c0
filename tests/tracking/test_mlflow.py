"""Runs in a real MLflow: a SQLite store read back after `harness run`, a server on loopback, and no server at all."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import harness
from harness.tracking.filling import ARTIFACTS
from tests.cli.test_main import harness as command
from tests.cli.test_main import imported_by
from tests.conftest import Called
from tests.tracking.servers import client, free_port, served

LEXICAL = (
    "run",
    "dataset=file",
    "dataset.path=dev.jsonl",
    "system=predictions",
    "metrics=lexical",
    "stats.resamples=500",
)
Cli = Callable[..., Called]


def stored_runs(store: Any, experiment: str = "harness") -> list[Any]:
    return list(store.search_runs([store.get_experiment_by_name(experiment).experiment_id]))


@pytest.mark.slow
def test_a_run_as_a_process_is_in_the_store(files: Path) -> None:
    done = command(*LEXICAL, "system.path=good.jsonl", "tracking.experiment=mine", cwd=files)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    store = client(f"sqlite:///{files}/runs/mlflow.db")
    (run,) = stored_runs(store, "mine")
    (scores_path,) = files.glob("runs/mine/*/scores.json")
    scores = json.loads(scores_path.read_text())["scores"]
    for name, score in scores.items():
        if "." not in name:
            logged = [run.data.metrics[key] for key in (name, f"interval/{name}.low", f"interval/{name}.high")]
            assert logged == [score["estimate"], score["low"], score["high"]]
    assert run.data.metrics["run/examples"] == 4
    assert run.data.metrics["run/failed"] == 0
    assert run.data.metrics["health/empty"] == 0
    assert run.data.metrics["health/length_ratio"] == pytest.approx(57 / 55)
    assert "health/cut" not in run.data.metrics  # not known of a file
    assert run.data.metrics["generation/generated"] == 0
    assert run.info.run_name == "dev-good"
    assert run.info.status == "FINISHED"
    assert run.data.params["system"] == "good"
    artifacts = {item.path for item in store.list_artifacts(run.info.run_id)}
    assert artifacts == {*ARTIFACTS, "manifest.json", "keys.json", "eval_results_table.json"} - {
        "outputs.jsonl"
    }  # nothing was generated
    manifest = json.loads((scores_path.parent / "manifest.json").read_text())
    assert manifest["mlflow"]["run_id"] == run.info.run_id
    assert run.info.run_id in done.stdout
    assert not (files / "mlruns").exists()
    compared = command("compare", run.info.run_id, scores_path.parent.name, cwd=files)
    assert "the same run twice" in compared.stderr  # by MLflow id and by folder name it is the same run
    again = [*LEXICAL, "system.path=good.jsonl", "tracking.experiment=mine"]
    code = f"import harness.cli.main\ntry: harness.cli.main.main({again})\nexcept SystemExit: pass"
    assert not imported_by(code, files) & {"mlflow", "pandas", "numba"}  # a finished run is quick to resume
    assert len(stored_runs(store, "mine")) == 1


def test_the_same_result_is_logged_once(files: Path, cli: Cli) -> None:
    for _ in range(2):
        assert cli(*LEXICAL, "system.path=good.jsonl").code == 0
    store = client(f"sqlite:///{files}/runs/mlflow.db")
    assert len(stored_runs(store)) == 1
    (files / "good.jsonl").write_text((files / "bad.jsonl").read_text())
    assert cli(*LEXICAL, "system.path=good.jsonl").code == 0
    assert len(stored_runs(store)) == 2  # same config, other outputs: the earlier result stays in MLflow
    newest, _ = stored_runs(store)
    store.delete_run(newest.info.run_id)
    assert cli(*LEXICAL, "system.path=good.jsonl").code == 0
    assert len(stored_runs(store)) == 2  # what was deleted there is logged again


def test_a_multirun_has_one_parent(files: Path, cli: Cli) -> None:
    (files / "test.jsonl").write_text((files / "dev.jsonl").read_text().replace("snow", "hail"))
    arguments = (*LEXICAL, "--multirun", "dataset.path=dev.jsonl,test.jsonl", "system.path=good.jsonl,bad.jsonl")
    for more in ((), ("progress=false", "retry_failed=true")):  # the same multirun
        called = cli(*arguments, *more)
        assert called.code == 0, called.err
    assert len(list((files / "runs" / "harness").glob("*/scores.json"))) == 4
    runs = stored_runs(client(f"sqlite:///{files}/runs/mlflow.db"))
    parents = [run for run in runs if "harness.group" in run.data.tags]
    children = [run for run in runs if "mlflow.parentRunId" in run.data.tags]
    assert (len(runs), len(parents), len(children)) == (5, 1, 4)
    assert {run.data.tags["mlflow.parentRunId"] for run in children} == {parents[0].info.run_id}
    assert sorted(run.info.run_name for run in children) == ["dev-bad", "dev-good", "test-bad", "test-good"]


def test_the_page_of_a_sweep_says_what_came_out(files: Path, cli: Cli) -> None:
    """At the end of a multirun; and the same again from the run folders alone, once."""
    rows = [json.loads(line) for line in (files / "dev.jsonl").read_text().splitlines()]
    longer = [{**row, "source": f"{row['source']} Nobody knew why."} for row in rows]  # which makes cells differ
    (files / "dev.jsonl").write_text("".join(json.dumps(row) + "\n" for row in longer))
    swept = ("run", "--multirun", "dataset=file", "dataset.path=dev.jsonl", "system=lead", "system.sentences=1,2")
    called = cli(*swept, "metrics=[bleu]", "stats.resamples=50", "tracking.experiment=sweep")
    assert called.code == 0, called.err
    scores = {run.path: run.scores["bleu"].estimate for run in harness.runs()}
    for uri in (f"sqlite:///{files}/runs/mlflow.db", f"sqlite:///{files}/again.db"):
        synced = cli("sync", "--uri", uri)
        assert synced.code == 0, synced.err
        store = client(uri)
        (parent,) = [run for run in stored_runs(store, "sweep") if "harness.group" in run.data.tags]
        assert parent.info.run_name == "2 runs on dev by sentences"
        assert parent.data.tags["varied.system.sentences"] == "1, 2"
        cells = [run for run in stored_runs(store, "sweep") if run.info.run_id != parent.info.run_id]
        assert sorted(cell.data.tags["varied.system.sentences"] for cell in cells) == ["1", "2"]  # by the same name
        assert parent.data.metrics["best/bleu"] == max(scores.values())
        assert parent.data.metrics["best/bleu.corrected"] <= max(scores.values())
        note = parent.data.tags["mlflow.note.content"]
        best = max(harness.runs(), key=lambda run: run.scores["bleu"].estimate)
        sentences = best.config["system"]["sentences"]
        assert f"**BLEU**: the best of 2 is **sentences={sentences}**, {scores[best.path]:.2f}; corrected for" in note
        assert f"Best: sentences={sentences}, BLEU " in note and "| sentences |" in note
        assert "**dev: BLEU by parameter, n = 4 examples**" in note
        artifacts = {item.path for item in store.list_artifacts(parent.info.run_id)}
        assert artifacts >= {"report.html", "forest-dev.png", "sweep-dev.png", "scores.csv", "scores.md"}
    before = (files / "again.db").read_bytes()
    assert cli("sync", "--uri", uri).code == 0
    assert (files / "again.db").read_bytes() == before  # nothing was made again


@pytest.mark.slow
def test_seeds_of_a_system_have_one_parent(files: Path, cli: Cli) -> None:
    """Below that of the multirun: the scores by seed, their mean and standard deviation."""
    swept = ("run", "--multirun", "dataset=file", "dataset.path=dev.jsonl", "system=random", "metrics=[bleu]")
    arguments = (*swept, "system.seed=1,2,3", "group_by=system.seed", "stats.resamples=20")
    for _ in range(2):  # the same again changes nothing
        called = cli(*arguments)
        assert called.code == 0, called.err
    store = client(f"sqlite:///{files}/runs/mlflow.db")
    runs = stored_runs(store)
    (parent,) = [run for run in runs if "harness.seeds" in run.data.tags]
    children = [run for run in runs if run.data.tags.get("mlflow.parentRunId") == parent.info.run_id]
    assert (len(runs), len(children)) == (5, 3)
    assert parent.info.run_name == "dev-random by system.seed"
    points = {point.step: point.value for point in store.get_metric_history(parent.info.run_id, "bleu")}
    assert sorted(points) == [1, 2, 3]
    assert parent.data.metrics["seeds/bleu.mean"] == pytest.approx(np.mean(list(points.values())))
    assert parent.data.metrics["seeds/bleu.sd"] == pytest.approx(np.std(list(points.values()), ddof=1))


@pytest.mark.slow
def test_an_unreachable_server_costs_a_warning_only(files: Path) -> None:
    arguments = (*LEXICAL, "system.path=good.jsonl")
    done = command(*arguments, f"tracking.uri=http://user:pa55word@127.0.0.1:{free_port()}", cwd=files)
    assert done.returncode == 0
    assert "the run was not logged to MLflow: no answer from http://127.0.0.1" in done.stderr
    assert "to log it later: harness sync runs/harness/dev-good-" in done.stderr
    assert "Traceback" not in done.stderr
    (folder,) = files.glob("runs/*/*/")
    assert json.loads((folder / "manifest.json").read_text())["mlflow"] is None
    assert harness.load_run(folder).scores["bleu"].estimate is not None
    for path in folder.iterdir():
        assert b"pa55word" not in path.read_bytes(), path
    again = command(*arguments, cwd=files)  # the store is back
    assert again.returncode == 0
    assert json.loads((folder / "manifest.json").read_text())["mlflow"]["run_id"]


def test_a_store_that_is_no_database(files: Path) -> None:
    (files / "broken.db").write_text("this is not SQLite" * 100)
    done = command(*LEXICAL, "system.path=good.jsonl", f"tracking.uri=sqlite:///{files}/broken.db", cwd=files)
    assert done.returncode == 0
    assert "the run was not logged to MLflow" in done.stderr
    assert "Traceback" not in done.stderr
    assert len(list(files.glob("runs/*/*/scores.json"))) == 1


def test_a_store_that_a_newer_mlflow_has_changed(files: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """MLflow says that it is out of date and to be upgraded, which the older version cannot do."""
    assert cli(*LEXICAL, "system.path=good.jsonl").code == 0
    for name, change in (("newer", "f00f00f00f00"), ("older", "0584bdc529eb")):
        shutil.copy("runs/mlflow.db", f"{name}.db")
        with closing(sqlite3.connect(f"{name}.db")) as store, store:
            store.execute(f"update alembic_version set version_num = '{change}'")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{files}/newer.db")
    said = "the store was last opened by a newer MLflow than 3."
    run = cli(*LEXICAL, "system.path=bad.jsonl")
    assert run.code == 0 and said in run.err and "out-of-date" not in run.err
    for arguments in (("sync",), ("ui", "--no-open"), ("run", "dataset=mlflow", "dataset.path=dev", "system=lead")):
        called = cli(*arguments)
        assert called.code == 1 and said in called.out + called.err, arguments
    assert "mlflow db upgrade" in cli("sync", "--uri", f"sqlite:///{files}/older.db").out  # then MLflow is right


@pytest.mark.slow
def test_ui_serves_the_store_of_the_runs(files: Path, cli: Cli) -> None:
    """Without options it takes the store that the newest run was logged to."""
    other = f"sqlite:///{files}/other.db"
    assert cli(*LEXICAL, "system.path=good.jsonl", f"tracking.uri={other}", "tracking.experiment=shown").code == 0
    port = free_port()
    with served(port, files, "harness", "ui", "--port", str(port)) as uri:
        assert "shown" in {experiment.name for experiment in client(uri).search_experiments()}
        shown = client(uri).get_experiment_by_name("shown")
        page = f"{uri}/#/experiments/{shown.experiment_id}/runs?workflowType=machine_learning&viewStateShareKey=harness"
        assert f"open {page}" in (files / "log").read_text()
        view = json.loads(shown.tags["mlflow.sharedViewState.harness"])
        assert view["selectedColumns"][:2] == ["metrics.`bleu`", "metrics.`rouge1`"]
        assert view["selectedColumns"][-2:] == ["params.`system`", "params.`dataset`"]
        assert [chart["metricKey"] for chart in view["compareRunCharts"]][:2] == ["bleu", "rouge1"]
        assert view["columnOrder"] == ["attributes.`Run Name`"] and view["columnWidths"]["attributes.`Run Name`"] >= 390


@pytest.mark.slow
def test_the_run_id_of_an_earlier_log_still_finds_the_run(files: Path, cli: Cli) -> None:
    assert cli(*LEXICAL, "system.path=good.jsonl").code == 0
    first = harness.load_run("dev-good").manifest["mlflow"]["run_id"]
    assert cli(*LEXICAL, "system.path=good.jsonl", "tracking=none").code == 0
    assert harness.load_run(first).manifest["mlflow"]["run_id"] == first
    assert cli(*LEXICAL, "--multirun", "system.path=good.jsonl,bad.jsonl").code == 0
    run = harness.load_run(first)
    assert run.name == "dev-good"
    assert run.manifest["mlflow"]["run_id"] != first
