"""Models in a real MLflow: logged, registered, loaded through pyfunc, and linked to the run that evaluates them."""

from __future__ import annotations

import json
import os
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from harness.tracking.model import MlflowModel
from harness.types import HarnessError, Output
from tests.conftest import ROWS, Called, example, write_jsonl

Cli = Callable[..., Called]
SHOUT = """
import mlflow
class Shout(mlflow.pyfunc.PythonModel):
    def predict(self, model_input: list[str], params=None) -> list[str]:
        if "bad" in model_input:
            raise ValueError("no bad words")
        return [text.upper() + (params or {}).get("mark", "!") for text in model_input]
mlflow.models.set_model(Shout())
"""
FRAME = """
import mlflow, pandas as pd
class Frame(mlflow.pyfunc.PythonModel):
    def predict(self, model_input: pd.DataFrame, params=None):
        texts = model_input["text"]
        if "two" in texts.tolist():
            return pd.DataFrame({"answer": texts, "score": 1.0})
        if "few" in texts.tolist():
            return []
        if "fields" in texts.tolist():
            return [{"answer": t, "score": 1.0} for t in texts]
        return texts.to_numpy() if "array" in texts.tolist() else pd.DataFrame({"answer": texts + params["mark"]})
mlflow.models.set_model(Frame())
"""
RUN = ("run", "dataset=file", "dataset.path=dev.jsonl", "system=mlflow", "metrics=[bleu]", "stats.resamples=100")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """runs/mlflow.db with two versions of `shout` and one of `frame`, and where they are."""
    folder = tmp_path_factory.mktemp("store")
    (folder / "runs").mkdir()
    for name, text in (("shout", SHOUT), ("frame", FRAME)):
        (folder / f"{name}.py").write_text(text)
    uri = f"sqlite:///{folder}/runs/mlflow.db"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # MLflow's advice
        import mlflow.pyfunc

        mlflow.set_tracking_uri(uri)
        try:
            mlflow.set_experiment(experiment_id=mlflow.create_experiment("training", (folder / "artifacts").as_uri()))
            shutil.copy(folder / "runs" / "mlflow.db", folder / "other.db")  # a store without any model
            logged = _logged(folder)
        finally:
            mlflow.set_tracking_uri(None)
    return {"folder": str(folder), "uri": uri, **logged}


def _logged(folder: Path) -> dict[str, str]:
    """The ids of the run and of the models that were logged to the store of the process."""
    import mlflow
    from mlflow.models import ModelSignature
    from mlflow.types import ColSpec, DataType, ParamSchema, ParamSpec, Schema

    mark = ParamSchema([ParamSpec("mark", DataType.string, "")])
    column = ModelSignature(Schema([ColSpec(DataType.string, "text")]), params=mark)
    files = {name: {"python_model": str(folder / f"{name}.py"), "registered_model_name": name, "pip_requirements": []} for name in ("shout", "frame")}  # fmt: skip
    with mlflow.start_run() as run:
        first = mlflow.pyfunc.log_model(name="shout", **files["shout"])
        second = mlflow.pyfunc.log_model(name="again", **files["shout"])
        mlflow.pyfunc.log_model(name="frame", signature=column, **files["frame"])
    mlflow.MlflowClient().set_registered_model_alias("shout", "champion", "2")
    return {"run": run.info.run_id, "first": first.model_id, "second": second.model_id}


def model(store: dict[str, str], where: str, **options: Any) -> MlflowModel:
    return MlflowModel(where, uri=store["uri"], **options)


BATCH = [example("1", "one", topic="x"), example("2", "two", topic="y")]


def test_every_way_to_name_a_model(store: dict[str, str]) -> None:
    ways = {
        "models:/shout/1": ("first", "models:/shout/1"),
        "models:/shout@champion": ("second", "models:/shout/2"),
        f"runs:/{store['run']}/shout": ("first", f"runs:/{store['run']}/shout"),
        f"models:/{store['second']}": ("second", f"models:/{store['second']}"),
    }
    keys = {}
    for where, (which, resolved) in ways.items():
        system = model(store, where)
        assert system.generate(BATCH) == [Output("ONE!"), Output("TWO!")], where
        about = {"model": resolved, "model_uuid": store[which], "model_id": store[which], "model_run_id": store["run"]}
        assert system.about() == about
        keys[where] = system.key()
    first, second, *others = keys.values()
    assert first != second and others == [first, second]  # the key is the model, however it is named
    assert "MLFLOW_TRACKING_URI" not in os.environ  # the process's own store is as it was


def test_prompts_and_parameters(store: dict[str, str]) -> None:
    system = model(store, "models:/shout/1", prompt="{{ topic }}: {{ source }}")
    assert system.seen(BATCH[0]) == "x: one"
    assert [output.text for output in system.generate(BATCH)] == ["X: ONE!", "Y: TWO!"]
    plain = model(store, "models:/frame/1")
    assert [output.text for output in plain.generate(BATCH[:1])] == ["one"]  # by the signature's only column
    marked = model(store, "models:/frame/1", params={"mark": "?"})
    assert [output.text for output in marked.generate(BATCH[:1])] == ["one?"]
    keys = [system.key(), plain.key(), *(model(store, "models:/shout/1", **o).key() for o in ({}, {"input": "a"}, {"output": "a"}, {"params": {"a": 1}}, {"batch_size": 2}))]  # fmt: skip
    assert len(set(keys)) == len(keys)


def test_what_a_model_returns(store: dict[str, str]) -> None:
    def outputs(source: str, **options: Any) -> list[Output]:
        return model(store, "models:/frame/1", **options).generate([example("1", source)])

    assert outputs("array") == [Output("array")]
    assert outputs("two", output="answer") == [Output("two")]
    assert outputs("fields", output="answer") == [Output("fields")]
    assert outputs("fields") == [
        Output(None, "models:/frame/1 returned dict \"{'answer': 'fields', 'score': 1.0}\"; expected a text, or system.output=FIELD")
    ]  # fmt: skip
    with pytest.raises(
        HarnessError, match="models:/frame/1 returned the columns answer, score; expected system.output="
    ):
        outputs("two")
    with pytest.raises(
        HarnessError, match="models:/frame/1 returned a list of 0; expected 1 text, one for each prompt"
    ):
        outputs("few")
    (wrong,) = outputs("one", input="other")
    assert "Model is missing inputs ['text']" in (wrong.error or "")


def test_what_it_raises_fails_that_example_only(store: dict[str, str], caplog: pytest.LogCaptureFixture) -> None:
    outputs = model(store, "models:/shout/1").generate([BATCH[0], example("3", "bad"), BATCH[1]])
    assert outputs == [Output("ONE!"), Output(None, "ValueError: no bad words"), Output("TWO!")]
    assert [record.message for record in caplog.records if record.exc_info] == [
        "models:/shout/1 raised, so an example failed; shown once:"
    ]


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("models:/shout/9", "system.model=models:/shout/9 cannot be read: Model Version (name=shout, version=9) not found"),
        ("models:/none/1", "system.model=models:/none/1 cannot be read: Registered Model with name=none not found"),
        ("models:/shout@none", "system.model=models:/shout@none cannot be read: Registered model alias none not found"),
        ("runs:/none/model", "system.model=runs:/none/model cannot be read: Run with id=none not found"),
        ("shout", "system.model=shout; expected models:/NAME/3, models:/NAME@ALIAS or runs:/RUN_ID/NAME"),
    ],
)  # fmt: skip
def test_models_that_are_not_there(store: dict[str, str], where: str, expected: str) -> None:
    with pytest.raises(HarnessError) as raised:
        model(store, where).key()
    assert expected in str(raised.value)


def test_a_store_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(
        HarnessError, match=r"there is no MLflow store .*none.db; expected the store that has models:/m/1"
    ):
        MlflowModel("models:/m/1", uri=f"sqlite:///{tmp_path}/none.db").key()
    assert not any(tmp_path.iterdir())


def test_a_run_is_linked_to_the_model_version(store: dict[str, str], cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    from mlflow import MlflowClient

    monkeypatch.chdir(store["folder"])
    write_jsonl(Path("dev.jsonl"), ROWS)
    called = cli(*RUN, "system.model=models:/shout@champion")
    assert called.code == 0, called.err
    assert called.err == ""
    (scores,) = Path("runs").glob("harness/*/scores.json")
    assert scores.parent.name.startswith("dev-shout_champion-")
    assert pd.read_parquet(scores.parent / "examples.parquet")["output"][0] == "THE CAT SAT.!"
    about = json.loads((scores.parent / "manifest.json").read_text())["system"]["about"]
    assert about["model"] == "models:/shout/2"
    client = MlflowClient(tracking_uri=store["uri"])
    (entry,) = client.search_runs([client.get_experiment_by_name("harness").experiment_id])
    run = client.get_run(entry.info.run_id)  # a search does not tell a run's models
    assert [model.model_id for model in run.inputs.model_inputs] == [store["second"]]
    assert run.data.params["system.model"].startswith("models:/shout")
    on_the_page = {metric.key: metric.value for metric in client.get_logged_model(store["second"]).metrics or []}
    assert on_the_page["bleu"] == json.loads(scores.read_text())["scores"]["bleu"]["estimate"]
    assert not client.get_logged_model(store["first"]).metrics

    other = f"sqlite:///{Path.cwd()}/other.db"  # logged to a store that does not have the model
    called = cli(*RUN, "system.model=models:/shout/2", f"system.uri={store['uri']}", f"tracking.uri={other}")
    assert called.code == 0, called.err
    client = MlflowClient(tracking_uri=other)
    (entry,) = client.search_runs([client.get_experiment_by_name("harness").experiment_id])
    run = client.get_run(entry.info.run_id)  # a search does not tell a run's models
    assert run.data.params["system.model"].startswith("models:/shout")
    assert not run.inputs.model_inputs
