"""`harness.log_dataset`, and what `dataset=mlflow` makes of it, on SQLite and on a server."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import harness
from harness.types import HarnessError
from tests.conftest import Called, write_jsonl
from tests.tracking.servers import client

Cli = Callable[..., Called]
SCORED = ("system=lead", "metrics=[bleu]", "stats.resamples=20", "tracking=none", "progress=false")


@pytest.fixture(params=["sqlite", "server"])
def uri(files: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    kind = request.param
    place = f"sqlite:///{files}/runs/mlflow.db" if kind == "sqlite" else str(request.getfixturevalue("server"))
    monkeypatch.setenv("MLFLOW_TRACKING_URI", place)
    monkeypatch.chdir(files)
    return place


def manifests(files: Path) -> dict[str, Any]:
    paths = files.glob("runs/harness/*/manifest.json")
    return {manifest["name"]: manifest for manifest in (json.loads(path.read_text()) for path in paths)}


def test_data_is_written_once_and_read_back_the_same(files: Path, cli: Cli, uri: str) -> None:
    """Runs on the file and on the data set of MLflow have the same data; its version is in the config."""
    logged = harness.log_dataset("dev.jsonl", f"dev {uri[:4]}")
    assert harness.log_dataset("dev.jsonl", f"dev {uri[:4]}") == logged  # nothing was written
    records = client(uri).get_dataset(logged["dataset_id"])
    assert (records.name, records.digest) == (logged["name"], logged["digest"])
    for name, words in (
        ("file", ("dataset=file", "dataset.path=dev.jsonl")),
        ("stored", ("dataset=mlflow", f"dataset.path={logged['name']}")),
    ):
        called = cli("run", *words, *SCORED, f"name={name}")
        assert called.code == 0, called.err
    file, stored = (manifests(files)[name] for name in ("file", "stored"))
    assert file["dataset"]["key"] == stored["dataset"]["key"]
    assert stored["config"]["dataset"]["version"] == logged["digest"]
    again = harness.log_dataset(harness.load_run(stored["name"]), f"dev {uri[:4]}")
    assert again == logged  # the data of a run

    rows = [json.loads(line) for line in (files / "dev.jsonl").read_text().splitlines()]
    changed = harness.log_dataset([*rows[1:], {"id": "new", "source": rows[1]["source"]}], logged["name"])
    assert changed["dataset_id"] == logged["dataset_id"] and changed["digest"] != logged["digest"]
    pinned = f"dataset.version={logged['digest']}"
    called = cli("run", "dataset=mlflow", f"dataset.path={logged['name']}", pinned, *SCORED)
    assert called.code == 1
    assert f"has the version {changed['digest']} now; expected {logged['digest']} (dataset.version)" in called.err


@pytest.mark.slow
def test_a_version_that_looks_like_a_number(files: Path, cli: Cli, uri: str) -> None:
    logged = harness.log_dataset("dev.jsonl", f"numbers {uri[:4]}")
    for version in ("7130e266", "12345678"):
        called = cli("run", "dataset=mlflow", f"dataset.path={logged['name']}", f"dataset.version={version}", *SCORED)
        assert called.code == 1 and f"expected {version} (dataset.version)" in called.err


@pytest.mark.slow
def test_the_order_is_kept(files: Path, uri: str) -> None:
    """Outputs in a text file are told by their line; the same data in another order is written again."""
    rows = [{"id": str(i), "source": f"s{i}", "references": [f"r{i}"]} for i in range(30)]
    for turned, outputs in ((rows, "lines.txt"), (rows[::-1], "turned.txt")):
        Path(outputs).write_text("".join(f"{row['references'][0]}\n" for row in turned))
        logged = harness.log_dataset(turned, f"ordered {uri[:4]}")
        asked = ("dataset=mlflow", f"dataset.path={logged['name']}", "system=predictions", f"system.path={outputs}")
        run = harness.run(*asked, "metrics=[exact_match]", *SCORED[2:])
        assert run.examples["id"].tolist() == [row["id"] for row in turned]
        assert run.scores["exact_match"].estimate == 100


def test_what_mlflow_has(files: Path, uri: str) -> None:
    """Inputs, the reference as expected_response, a list where there are several; equal inputs are told apart."""
    write_jsonl(files / "twice.jsonl", [
        {"id": "1", "source": "a", "references": ["x"], "topic": "t"},
        {"id": "2", "source": "a", "references": ["y", "z"], "topic": "t"},
    ])  # fmt: skip
    logged = harness.log_dataset("twice.jsonl", f"twice {uri[:4]}")
    from mlflow.tracking._tracking_service.utils import _get_store

    records, _ = _get_store(uri)._load_dataset_records(logged["dataset_id"])
    by_id = {record.tags["id"]: record for record in records}
    assert by_id["1"].inputs == {"id": "1", "source": "a", "topic": "t"}
    assert [by_id[id_].expectations for id_ in "12"] == [{"expected_response": "x"}, {"expected_response": ["y", "z"]}]


def test_what_is_refused(files: Path, uri: str) -> None:
    store = client(uri)
    if not list(store.search_datasets(filter_string="name = 'theirs'")):
        store.create_dataset("theirs", experiment_id="0")
    for data, name, message in (
        ("dev.jsonl", "theirs", "that harness.log_dataset did not write; expected another name"),
        ([], "empty", "has no example; expected at least one"),
        ([{"source": "a"}], None, r"rows have no name; expected log_dataset\(rows, NAME\)"),
        (["text"], "odd", "row 1 is no mapping"),
        (3, "odd", "log_dataset got int '3'; expected a stored run, a data file or rows"),
        ("none.jsonl", None, "none.jsonl"),
    ):
        with pytest.raises(HarnessError, match=message):
            harness.log_dataset(data, name)
