"""Data that is in MLflow: evaluation data sets, tables and files of runs, logged inputs; in a real SQLite store."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.tracking import evaluation_datasets
from harness.tracking.datasets import MlflowDataset
from harness.types import HarnessError
from tests.conftest import ROWS, Called, write_jsonl

COLUMNS = {"source": "inputs.question", "references": "expectations.expected_response"}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """A store with an evaluation data set, and a run with artifacts and inputs; `uri` and the run's `id`."""
    import mlflow
    import mlflow.data
    import pandas as pd
    from mlflow.genai.datasets import create_dataset

    folder = tmp_path_factory.mktemp("store")
    write_jsonl(folder / "dev.jsonl", ROWS)
    before = mlflow.get_tracking_uri()
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of MLflow's own use of pandas, when data is logged
        patch.setenv("MLFLOW_TRACKING_URI", "")  # set_tracking_uri sets it for the whole process
        patch.chdir(folder)
        mlflow.set_tracking_uri(f"sqlite:///{folder}/mlflow.db")
        experiment = mlflow.create_experiment("data", (folder / "artifacts").as_uri())
        evaluation = create_dataset("support_qa", experiment_id=experiment)
        evaluation.merge_records(
            [
                {"inputs": {"question": f"q{i}", "lang": "en"}, "expectations": {"expected_response": f"a{i}"},
                 "tags": {"part": str(i % 2)}}
                for i in range(7)
            ]
        )  # fmt: skip
        frame = pd.DataFrame(ROWS)
        with mlflow.start_run(experiment_id=experiment) as run:
            mlflow.log_table(frame, "eval.json")
            mlflow.log_artifact("dev.jsonl", "data")
            mlflow.log_input(mlflow.data.from_pandas(frame, source=str(folder / "dev.jsonl"), name="dev"))
            mlflow.log_input(mlflow.data.from_pandas(frame, name="made"))
        yield {"uri": f"sqlite:///{folder}/mlflow.db", "id": run.info.run_id, "dataset": evaluation.dataset_id}
        mlflow.set_tracking_uri(before)


@pytest.mark.parametrize("by", ["name", "id"])
def test_an_evaluation_data_set(store: dict[str, str], monkeypatch: pytest.MonkeyPatch, by: str) -> None:
    monkeypatch.setattr(evaluation_datasets, "PAGE", 3)
    path = "support_qa" if by == "name" else store["dataset"]
    dataset = MlflowDataset(path, store["uri"], columns=COLUMNS, cluster="tags.part")
    examples = sorted(dataset.examples(), key=lambda example: example.source or "")
    assert [(e.source, e.references) for e in examples] == [(f"q{i}", (f"a{i}",)) for i in range(7)]
    assert examples[1].metadata["inputs"] == {"lang": "en"}
    assert examples[1].metadata["tags.part"] == "1"
    assert "expectations" not in examples[1].metadata  # the answer is not shown to the system
    assert len({e.id for e in examples}) == 7
    assert dataset.name == "support_qa"
    assert dataset.about()["dataset_id"] == store["dataset"]


@pytest.mark.parametrize(("path", "options"), [
    ("runs:/{id}/eval.json", {}),
    ("runs:/{id}/data/dev.jsonl", {}),
    ("runs:/{id}", {"input": "dev"}),
])  # fmt: skip
def test_what_a_run_holds(store: dict[str, str], path: str, options: dict[str, Any]) -> None:
    dataset = MlflowDataset(path.format(**store), store["uri"], **options)
    examples = list(dataset.examples())
    assert [(e.id, e.source, list(e.references), e.metadata) for e in examples] == [
        (r["id"], r["source"], r["references"], {"topic": r["topic"]}) for r in ROWS
    ]
    assert len(dataset.about()["sha256"]) == 64


@pytest.mark.parametrize(
    ("path", "options", "expected"),
    [
        ("support", {}, "dataset.path=support cannot be read from MLflow (no evaluation data set has this name)"),
        ("it's", {}, "no evaluation data set has this name"),
        ("runs:/{id}/none.json", {}, "cannot be read from MLflow ("),
        ("runs:/0123", {}, "cannot be read from MLflow ("),
        ("runs:/{id}", {}, "has 2 data sets as inputs (all: dev, made); expected one; dataset.input=NAME chooses it"),
        ("runs:/{id}", {"input": "test"}, "has 0 data sets named 'test' as inputs (all: dev, made)"),
        ("runs:/{id}", {"input": "made"}, "source of the kind 'code', which cannot be read again"),
        ("support_qa", {"uri": "sqlite:///nowhere/mlflow.db"}, "(there is no nowhere/mlflow.db); expected an evaluation data set"),
        ("support_qa", {"uri": "http://user:secret@127.0.0.1:1"}, "(no answer from http://127.0.0.1:1"),
    ],
)  # fmt: skip
def test_what_is_not_there(store: dict[str, str], path: str, options: dict[str, Any], expected: str) -> None:
    with pytest.raises(HarnessError) as raised:
        list(MlflowDataset(path.format(**store), **{"uri": store["uri"], **options}).examples())
    assert expected in str(raised.value)
    assert "secret" not in str(raised.value)
    assert not Path("nowhere").exists()


def test_from_the_command_line_and_the_store_of_tracking(
    store: dict[str, str], tmp_path: Path, cli: Callable[..., Called], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    called = cli("run", "dataset=mlflow", "dataset.path=support_qa", "dataset.columns.source=inputs.question",
                 "dataset.columns.references=expectations.expected_response", f"tracking.uri={store['uri']}",
                 "system=lead", "metrics=bleu", "stats.resamples=10", "output_dir=out")  # fmt: skip
    assert called.code == 0, called.err
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["dataset"]["examples"] == 7
    assert manifest["dataset"]["about"]["dataset_id"] == store["dataset"]
