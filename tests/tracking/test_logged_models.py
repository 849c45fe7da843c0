"""Evaluated models in MLflow: the same weights are one LoggedModel, ranked by scores, aliased when best."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.systems.openai import OpenAI
from tests.conftest import Called
from tests.tracking.servers import client

Cli = Callable[..., Called]
RUN = ("run", "dataset=file", "dataset.path=dev.jsonl", "system=predictions", "metrics=bleu", "stats.resamples=50")


def of_models(cli: Cli, *names: str) -> list[Path]:
    """Run folders of stored outputs, as if checkpoints of one training run had written them."""
    folders = []
    for step, name in enumerate(names, start=1):
        assert cli(*RUN, f"system.path={name}.jsonl", "tracking=none").code == 0
        (folder,) = Path("runs/harness").glob(f"dev-{name}-*")
        manifest = json.loads((folder / "manifest.json").read_text())
        manifest["system"].update(about={"model_key": f"weights-of-{name}"}, step=step * 100)
        manifest["config"]["system"].update(model=f"out/checkpoint-{step * 100}", step=step * 100)
        (folder / "manifest.json").write_text(json.dumps(manifest))
        folders.append(folder)
    return folders


def without_step(folder: Path, then: Callable[[], None]) -> None:
    """Does something while the run folder says of no step."""
    whole = (folder / "manifest.json").read_text()
    manifest = json.loads(whole)
    del manifest["system"]["step"], manifest["config"]["system"]["step"]
    (folder / "manifest.json").write_text(json.dumps(manifest))
    then()
    (folder / "manifest.json").write_text(whole)


def synced(cli: Cli, folders: list[Path], experiment: str) -> None:
    called = cli("sync", *map(str, folders), "--experiment", experiment)
    assert called.code == 0, called.out


def ranked(store: Any, data: dict[str, str], *experiments: str) -> list[str]:
    models = store.search_logged_models(
        list(experiments),
        datasets=[data],
        order_by=[{"field_name": "metrics.bleu", "ascending": False}],
    )
    return [model.params["model"] for model in models]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sqlite", "server"])
def test_checkpoints_are_ranked_and_the_best_gets_an_alias(
    files: Path, cli: Cli, kind: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    import mlflow

    uri = f"sqlite:///{files}/runs/mlflow.db" if kind == "sqlite" else request.getfixturevalue("server")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
    folders = of_models(cli, "bad", "good")
    without_step(folders[1], lambda: synced(cli, folders, f"{kind}-first"))  # as the cell of a sweep
    synced(cli, folders, f"{kind}-second")  # which knows the step: then the model has it
    store = client(uri)
    ids = [store.get_experiment_by_name(f"{kind}-{name}").experiment_id for name in ("first", "second")]
    dataset = json.loads((folders[1] / "manifest.json").read_text())["dataset"]["key"]
    data = {"dataset_name": "dev"}
    if kind == "server":  # MLflow's server looks for a digest of none where no digest is given
        data["dataset_digest"] = dataset[:16]
    assert ranked(store, data, *ids) == ["out/checkpoint-200", "out/checkpoint-100"]  # the same in both experiments
    assert ranked(store, data, ids[1]) == []  # they belong to the first
    best = store.search_logged_models([ids[0]], filter_string="params.step = '200'")[0]
    assert best.tags["harness.model_key"] == "weights-of-good" and str(best.status) == "READY"
    by_run = {(metric.run_id, metric.key): metric for metric in best.metrics or [] if metric.key == "bleu"}
    assert len(by_run) == 2 and {metric.dataset_name for metric in by_run.values()} == {"dev"}
    assert {metric.dataset_digest for metric in by_run.values()} == {dataset[:16]}

    names = [str(folder) for folder in folders]
    unregistered = cli("best", *names, "--resamples", "50", "--alias", "champion")
    assert unregistered.code == 1 and "is not in MLflow's registry" in unregistered.err
    assert f'mlflow.register_model("models:/{best.model_id}", NAME)' in unregistered.err
    wrong = cli("best", *names, "--resamples", "50", "--alias", "champion", "--score", "blue")
    assert wrong.code == 1 and "no run has the score 'blue' (did you mean 'bleu'?)" in wrong.err
    monkeypatch.setattr(mlflow.tracking._tracking_service.utils, "_tracking_uri", None)
    registered = mlflow.register_model(f"models:/{best.model_id}", f"dates-{kind}")
    called = cli("best", *names, "--resamples", "50", "--score", "bleu", "--alias", "champion")
    assert called.code == 0, called.err
    assert f"dates-{kind} version {registered.version} is now dates-{kind}@champion" in called.out
    assert store.get_model_version_by_alias(f"dates-{kind}", "champion").version == registered.version
    gate = cli("gate", names[0], "--baseline", f"models:/dates-{kind}@champion", "--json")
    assert gate.code in (0, 1, 3), gate.err
    rows = [check["row"] for check in json.loads(gate.out)["checks"]]
    assert {(row["baseline"], row["system"]) for row in rows} == {("dev-good", "dev-bad")}
    nobody = cli("gate", names[0], "--baseline", f"models:/dates-{kind}@nobody")
    assert nobody.code == 2
    assert nobody.err.endswith("expected a run, model, version or alias that is there\n")


def test_outputs_without_a_model_get_no_alias(files: Path, cli: Cli) -> None:
    for name in ("bad", "good"):
        assert cli(*RUN, f"system.path={name}.jsonl").code == 0
    called = cli("best", *map(str, Path("runs/harness").glob("dev-*")), "--resamples", "50", "--alias", "champion")
    assert called.code == 1 and "dev-good has no model in MLflow; expected the run of a model" in called.err


def test_an_endpoint_is_a_model_where_it_has_a_revision() -> None:
    asked = {"base_url": "http://127.0.0.1:9/v1", "model": "m"}
    key = OpenAI(**asked, revision="a").about()["model_key"]
    assert key == OpenAI(**asked, revision="a", temperature=0.5).about()["model_key"]
    assert key != OpenAI(**asked, revision="b").about()["model_key"]
    assert OpenAI(**asked).about() == {}
