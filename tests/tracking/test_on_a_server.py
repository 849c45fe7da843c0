"""Runs on a real `mlflow server` with a real PostgreSQL, on a SQLite store, and behind a proxy that makes faults."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import harness
from tests.conftest import Called
from tests.tracking.servers import client, faulty, free_port

Cli = Callable[..., Called]
RUN = ("run", "dataset=file", "dataset.path=dev.jsonl", "system=predictions", "metrics=lexical", "stats.resamples=100")
GOOD = (*RUN, "system.path=good.jsonl")


def runs_of(uri: str, experiment: str) -> list[Any]:
    store = client(uri)
    known = store.get_experiment_by_name(experiment)
    return [] if known is None else list(store.search_runs([known.experiment_id]))


def only_folder() -> Path:
    (scores,) = Path("runs").glob("*/*/scores.json")
    return scores.parent


def mlflow_of(folder: Path) -> Any:
    return json.loads((folder / "manifest.json").read_text())["mlflow"]


@pytest.mark.parametrize("kind", ["sqlite", "server"])
def test_what_a_parent_says_is_not_made_again(
    files: Path, cli: Cli, kind: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its figures and its report take seconds, which syncing what is there would cost each time."""
    uri = f"sqlite:///{files}/runs/mlflow.db" if kind == "sqlite" else request.getfixturevalue("server")
    named = (f"tracking.uri={uri}", "tracking.experiment=said")
    called = cli(*RUN, "--multirun", "system.path=good.jsonl,bad.jsonl", *named)
    assert (called.code, called.err) == (0, "")
    made: list[Any] = []
    monkeypatch.setattr("harness.analysis.sweeps.outcomes.outcome", made.append)
    called = cli("sync", "--uri", uri)
    assert (called.code, called.err, made) == (0, "", [])
    assert "2 already there" in called.out


@pytest.mark.parametrize("kind", ["sqlite", "server"])
def test_what_is_in_a_run(files: Path, cli: Cli, kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    uri = f"sqlite:///{files}/runs/mlflow.db" if kind == "sqlite" else request.getfixturevalue("server")
    subprocess.run("git init -q . && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x && git add dev.jsonl", shell=True, check=True, cwd=files)  # fmt: skip
    called = cli(*GOOD, f"tracking.uri={uri}", "tracking.experiment=whole")
    assert (called.code, called.err) == (0, "")
    folder = only_folder()
    manifest = json.loads((folder / "manifest.json").read_text())
    scores = json.loads((folder / "scores.json").read_text())["scores"]
    store = client(uri)
    (entry,) = runs_of(uri, "whole")
    run = store.get_run(entry.info.run_id)
    assert manifest["mlflow"]["run_id"] == run.info.run_id
    assert (run.info.status, run.info.run_name) == ("FINISHED", "dev-good")

    for name, score in scores.items():
        names = (name, f"interval/{name}.low", f"interval/{name}.high")
        bounds = [run.data.metrics.get(key) for key in names]
        headline = "." not in name
        assert bounds == ([score["estimate"], score["low"], score["high"]] if headline else [None] * 3)
    assert {name: run.data.metrics[f"run/{name}"] for name in ("examples", "failed")} == {"examples": 4, "failed": 0}
    assert run.data.metrics["run/seconds"] > 0
    top = [name for name in run.data.metrics if "/" not in name]
    assert top == [name for name in scores if "." not in name]  # headline scores alone
    assert {name: run.data.params.get(name) for name in ("system", "dataset", "stats.resamples")} == {
        "system": "good", "dataset": "dev", "stats.resamples": "100",
    }  # fmt: skip
    assert "_target_" not in " ".join(run.data.params) and len(run.data.params) < 10
    tags = run.data.tags
    assert manifest["key"].startswith(tags["harness.key"])
    assert tags["harness.seed"] == "12345" and tags["mlflow.user"]
    assert all(len(value) < 60 for name, value in tags.items() if name.startswith("harness.") and name != "harness.folder")  # fmt: skip
    assert (tags["mlflow.source.git.commit"], tags["harness.git.dirty"]) == (manifest["git"]["commit"], "true")

    (data,) = run.inputs.dataset_inputs
    assert {tag.key: tag.value for tag in data.tags} == {"mlflow.data.context": "evaluation"}
    assert data.dataset.name == "dev"
    assert manifest["dataset"]["key"].startswith(data.dataset.digest) and len(data.dataset.digest) == 16
    assert json.loads(data.dataset.profile)["key"] == json.loads(data.dataset.source)["key"] == manifest["dataset"]["key"]  # fmt: skip
    assert json.loads(data.dataset.profile)["num_rows"] == 4
    fields = {field["name"]: field["type"] for field in json.loads(data.dataset.schema)["mlflow_colspec"]}
    assert fields == {"id": "string", "source": "string", "references": "list of string", "topic": "string"}
    again = cli("run", "dataset=mlflow", f"dataset.path=runs:/{run.info.run_id}", f"dataset.uri={uri}", *GOOD[3:], "tracking=none")  # fmt: skip
    assert again.code == 0, again.err  # the logged input leads back to the data

    note = tags["mlflow.note.content"]
    bleu = scores["bleu"]
    shown = f"{bleu['estimate']:.2f} [{bleu['low']:.2f},\N{NO-BREAK SPACE}{bleu['high']:.2f}]"
    assert note.startswith(f"**bleu** {shown} · **rouge1** ")
    assert f"| **bleu** | {shown.replace(' [', ' | [')} |" in note
    assert "good on dev: 4 examples, none failed" in note
    assert json.loads(tags["mlflow.loggedArtifacts"]) == [{"path": "eval_results_table.json", "type": "table"}]

    there = Path(store.download_artifacts(run.info.run_id, "", dst_path=str(tmp_path)))
    for name in ("scores.json", "config.yaml", "examples.parquet", "statistics.parquet"):
        assert (there / name).read_bytes() == (folder / name).read_bytes()
    assert harness.load_run(there).scores["bleu"].estimate == bleu["estimate"]  # the artifacts are a run folder
    keys = json.loads((there / "keys.json").read_text())
    assert (keys["key"], keys["dataset"]["key"]) == (manifest["key"], manifest["dataset"]["key"])
    assert keys["system"]["key"] == manifest["system"]["key"]
    assert keys["metrics"]["bleu"]["signature"] == scores["bleu"]["signature"]
    table = json.loads((there / "eval_results_table.json").read_text())
    kept = pd.read_parquet(folder / "examples.parquet")
    assert table["columns"][:4] == ["id", "source", "references", "output"]
    assert [row[3] for row in table["data"]] == kept["output"].tolist()
    assert [row[table["columns"].index("bleu")] for row in table["data"]] == pytest.approx(kept["bleu"].tolist())
    assert table["data"][0][2] == "the cat sat down\na cat was sitting"


def test_one_call_for_all_numbers(files: Path, cli: Cli, server: str) -> None:
    with faulty(server, lambda method, path: None) as proxy:
        assert cli(*GOOD, f"tracking.uri={proxy.uri}", "tracking.experiment=calls").code == 0
        paths = [path.rpartition("/")[2] for method, path in proxy.seen if method == "POST"]
    assert paths.count("log-batch") == 1
    assert "log-metric" not in paths and "log-parameter" not in paths and paths.count("create") == 2


FORKED = """
import os, sys, traceback
from pathlib import Path
from harness.tracking.mlflow import MlflowTracker
from harness.store import finished
import mlflow
uri, experiment, group = sys.argv[1:4]
runs = [finished.read(Path(name), None) for name in sys.argv[4:]]
start, go = os.pipe()
children = []
for run in runs:
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.close(go)
            os.read(start, 1)  # all at once
            MlflowTracker(experiment, uri).log(run, group or None)
            code = 0
        except Exception:
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(code)
    children.append(child)
os.close(go)
sys.exit(any(os.waitpid(child, 0)[1] for child in children))
"""


def at_once(uri: str, experiment: str, group: str, folders: list[Path]) -> None:
    """Each folder logged by a process of its own, all at the same moment."""
    command = [sys.executable, "-c", FORKED, uri, experiment, group, *map(str, folders)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr


def copies(folder: Path, n: int, same: bool) -> list[Path]:
    """Copies of a run folder: of the same run, or each of another config."""
    made = []
    for i in range(n):
        copied = Path("copies") / f"{folder.name}-{i}"
        shutil.copytree(folder, copied)
        manifest = json.loads((copied / "manifest.json").read_text())
        manifest["key"] = manifest["key"] if same else f"{i:x}".ljust(64, "0")
        (copied / "manifest.json").write_text(json.dumps(manifest))
        made.append(copied)
    return made


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sqlite", "server"])
def test_eight_processes_on_a_store_or_experiment_that_does_not_exist(
    files: Path, cli: Cli, kind: str, request: pytest.FixtureRequest
) -> None:
    uri = f"sqlite:///{files}/new/mlflow.db" if kind == "sqlite" else request.getfixturevalue("server")
    assert cli(*GOOD, "tracking=none").code == 0
    at_once(uri, "eight", "g1", copies(only_folder(), 8, same=False))
    runs = runs_of(uri, "eight")
    (parent,) = [run for run in runs if "harness.group" in run.data.tags]
    children = [run for run in runs if "mlflow.parentRunId" in run.data.tags]
    assert len(runs) == 9 and len(children) == 8
    assert {run.data.tags["mlflow.parentRunId"] for run in children} == {parent.info.run_id}
    assert {run.info.status for run in runs} == {"FINISHED"}


@pytest.mark.slow
@pytest.mark.parametrize("group", ["", "g2"])
def test_the_same_run_from_several_machines_at_once(files: Path, cli: Cli, server: str, group: str) -> None:
    assert cli(*GOOD, "tracking=none").code == 0
    folders = copies(only_folder(), 4, same=True)
    at_once(server, f"same{group}", group, folders)
    runs = runs_of(server, f"same{group}")
    (run,) = [run for run in runs if "harness.key" in run.data.tags]
    assert len(runs) == 1 + bool(group)
    assert run.info.status == "FINISHED"
    assert len(client(server).list_artifacts(run.info.run_id)) == 8
    assert len(client(server).get_metric_history(run.info.run_id, "bleu")) == 1
    again = cli("sync", *map(str, folders), "--uri", server, "--experiment", f"same{group}")
    assert again.code == 0
    if not group:
        assert again.out.count("already there") == 5 and len(runs_of(server, "same")) == 1


# ---------------------------------------------------------------- tracking never costs a result


def after(n: int, then: str) -> Callable[[str, str], str | None]:
    """Passes n requests on, then none."""
    seen = iter(range(10_000))
    return lambda method, path: None if next(seen) < n else then


FAULTS: dict[str, Callable[[], Callable[[str, str], str | None]]] = {
    "dead from the start": lambda: after(0, "drop"),
    "dies at once": lambda: after(3, "drop"),
    "dies before the numbers": lambda: after(6, "drop"),
    "dies among the artifacts": lambda: after(13, "drop"),
    "dies at the end": lambda: lambda method, path: "drop" if path.endswith("runs/update") else None,
    "hangs from the start": lambda: after(0, "hang"),
    "hangs in the middle": lambda: after(8, "hang"),
    "500 on one artifact": lambda: (
        lambda method, path: "500" if method == "PUT" and path.endswith("examples.parquet") else None
    ),
    "500 on everything": lambda: lambda method, path: "500" if "/api/" in path else None,
}


LONG = ("dies at once", "dies before the numbers", "dies at the end", "hangs from the start", "500 on everything")


@pytest.mark.parametrize(
    "fault", [pytest.param(name, marks=pytest.mark.slow) if name in LONG else name for name in FAULTS]
)
def test_a_fault_costs_a_warning_and_sync_logs_what_is_missing(
    files: Path, cli: Cli, server: str, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mlflow.tracking._tracking_service.utils import _artifact_repos_cache

    monkeypatch.setattr("harness.tracking.backend.PATIENCE", 2)
    experiment = f"fault: {fault}"
    with faulty(server, FAULTS[fault]()) as proxy:
        called = cli(*GOOD, f"tracking.uri={proxy.uri}", f"tracking.experiment={experiment}")
    assert called.code == 0, called.err
    assert called.err.startswith("harness: the run was not logged to MLflow: ")
    assert called.err.count("harness sync runs/") == 1 and "Traceback" not in called.err
    folder = only_folder()
    assert called.err.rstrip().endswith(f"harness sync {folder} --uri {proxy.uri}")  # no store but the caller's own
    assert mlflow_of(folder) is None
    assert harness.load_run(folder).scores["bleu"].estimate is not None
    before = {
        item.path for run in runs_of(server, experiment) for item in client(server).list_artifacts(run.info.run_id)
    }
    if fault == "500 on one artifact":
        assert "examples.parquet could not be sent" in called.err
        assert before == {
            "scores.json",
            "config.yaml",
            "statistics.parquet",
            "eval_results_table.json",
            "environment.json",
            "keys.json",
            "manifest.json",
        }

    _artifact_repos_cache.clear()  # MLflow's own, which does not know that the address changed
    with faulty(server, lambda method, path: None) as proxy:
        synced = cli("sync", "--uri", proxy.uri)
        sent = {path.rpartition("/")[2] for method, path in proxy.seen if method == "PUT"}
    assert synced.code == 0, synced.err
    assert synced.out.startswith(("logged ", "completed "))
    whole = {
        "scores.json",
        "config.yaml",
        "statistics.parquet",
        "eval_results_table.json",
        "manifest.json",
        "keys.json",
        "environment.json",
        "examples.parquet",
    }
    assert sent == whole - before
    (run,) = runs_of(server, experiment)
    assert run.info.status == "FINISHED"
    assert {item.path for item in client(server).list_artifacts(run.info.run_id)} == whole
    assert len(run.inputs.dataset_inputs) == 1 and run.data.metrics["bleu"] and run.data.params and "mlflow.note.content" in run.data.tags  # fmt: skip
    assert len(client(server).get_metric_history(run.info.run_id, "bleu")) == 1
    assert mlflow_of(folder)["run_id"] == run.info.run_id
    assert harness.load_run(run.info.run_id).path == folder  # so that harness compare finds it by its id
    twice = cli("sync", "--uri", server)
    assert (twice.code, twice.out.split("  ")[0]) == (0, "already there")


@pytest.mark.slow
def test_a_full_disk(files: Path, cli: Cli) -> None:
    code = (
        "import resource, sys, harness.cli.main\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, resource.RLIM_INFINITY))\n"
        f"harness.cli.main.main({list(GOOD)})\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=files, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "harness: the run was not logged to MLflow: " in done.stderr and "Traceback" not in done.stderr
    assert done.stderr.count("harness sync") == 1
    assert not (files / "runs" / "mlflow.db").exists()  # no half store is left
    os.chdir(files)
    called = cli("sync")
    assert called.code == 0, called.out + called.err
    assert called.out.startswith("logged ")
    assert len(runs_of(f"sqlite:///{files}/runs/mlflow.db", "harness")) == 1


# ---------------------------------------------------------------- folders from elsewhere


@pytest.mark.slow
def test_folders_of_a_cluster_without_network(files: Path, cli: Cli, server: str, tmp_path_factory: Any) -> None:
    """A multirun there, its folders copied here: the parent is kept."""
    both = "system.path=good.jsonl,bad.jsonl"
    assert cli(*RUN, "--multirun", both, "tracking=none", "tracking.experiment=cluster").code == 0
    here = tmp_path_factory.mktemp("here")
    shutil.move(files / "runs", here / "copied")
    os.chdir(here)
    called = cli("sync", "copied", "--uri", server, "--json")
    assert called.code == 0, called.err
    synced = json.loads(called.out)
    assert synced["schema"] == 1
    assert [(entry["name"], entry["status"]) for entry in synced["runs"]] == [
        ("dev-good", "logged"),
        ("dev-bad", "logged"),
    ]
    runs = runs_of(server, "cluster")
    (parent,) = [run for run in runs if "harness.group" in run.data.tags]
    children = {run.info.run_id: run for run in runs if run is not parent}
    assert set(children) == {entry["run_id"] for entry in synced["runs"]}
    assert {run.data.tags["mlflow.parentRunId"] for run in children.values()} == {parent.info.run_id}
    assert cli("sync", "copied", "--uri", server).out.count("already there") == 3
    assert len(runs_of(server, "cluster")) == 3


@pytest.mark.slow
def test_checkpoints_keep_their_curve(files: Path, cli: Cli, server: str) -> None:
    """Points logged later, twice, and from two copies are each there once."""
    assert cli(*GOOD, "tracking=none", "tracking.experiment=curve").code == 0
    for step, folder in enumerate(copies(only_folder(), 3, same=False), start=1):
        manifest = json.loads((folder / "manifest.json").read_text())
        manifest["system"].update(step=step * 100, series="training")
        (folder / "manifest.json").write_text(json.dumps(manifest))
    for _ in range(2):
        assert cli("sync", "copies", "--uri", server).code == 0
    runs = runs_of(server, "curve")
    (parent,) = [run for run in runs if "harness.series" in run.data.tags]
    for key in ("bleu", "interval/bleu.low"):
        history = client(server).get_metric_history(parent.info.run_id, key)
        assert sorted(point.step for point in history) == [100, 200, 300]
    points = [run for run in runs if run is not parent]
    assert [run.data.tags["mlflow.parentRunId"] for run in points] == [parent.info.run_id] * 3
    assert parent.data.tags["varied.system.step"] == "100, 200, 300"
    assert sorted(run.data.tags["varied.system.step"] for run in points) == ["100", "200", "300"]
    artifacts = {item.path for item in client(server).list_artifacts(parent.info.run_id)}
    assert artifacts >= {"curve-dev.png", "forest-dev.png", "report.html"}


@pytest.mark.slow
def test_sync_says_what_failed_and_goes_on(files: Path, cli: Cli, server: str) -> None:
    assert cli(*GOOD, "tracking=none", "tracking.experiment=failing").code == 0
    broken = Path("runs/failing/broken")
    shutil.copytree(only_folder(), broken)
    (broken / "scores.json").write_text("{")
    called = cli("sync", "--uri", server)
    assert called.code == 1
    assert "failed         runs/failing/broken  runs/failing/broken/scores.json is not JSON" in called.out
    assert "\n1 logged, 1 failed\n" in called.out
    shutil.rmtree(broken)
    nowhere = cli("sync", "--uri", f"http://me:planted@127.0.0.1:{free_port()}")
    assert nowhere.code == 1
    assert "failed " in nowhere.out and "no answer from http://127.0.0.1" in nowhere.out
    assert "planted" not in nowhere.out + nowhere.err
    folder_store = cli("sync", "--uri", "file:./mlruns")
    assert folder_store.code == 1 and "is a folder store, which MLflow 3 no longer writes" in folder_store.out
    shutil.rmtree("runs")
    empty = cli("sync")
    assert empty.code == 1 and "there is no finished run below" in empty.err
    assert "there is no run 'none'" in cli("sync", "none").err


@pytest.mark.skipif(os.name != "posix", reason="folders without permission to write")
def test_a_folder_that_cannot_be_written_is_synced_all_the_same(
    files: Path, cli: Cli, server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert cli(*GOOD, "tracking=none", "tracking.experiment=kept").code == 0
    folder = only_folder()
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    folder.chmod(0o555)
    if os.getuid() == 0:  # who may write everywhere
        monkeypatch.setattr("harness.run.logging._writable", lambda folder: False)
    try:
        called = cli("sync", "--uri", server)
        assert (called.code, called.out.split()[0]) == (0, "logged"), called.err
        assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    finally:
        folder.chmod(0o755)
