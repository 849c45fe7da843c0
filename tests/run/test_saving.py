"""What `harness.evaluate` made, as a run folder and in MLflow."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import harness
from harness.metrics.bleu import Bleu
from tests.conftest import BAD, GOOD, ROWS, Called

REFERENCES = [row["references"] for row in ROWS]
IDS = [row["id"] for row in ROWS]


def evaluated(outputs: list[str], name: str, metrics: object = "bleu", **columns: object) -> harness.RunResult:
    return harness.evaluate(outputs, REFERENCES, metrics, resamples=50, name=name, ids=IDS, **columns)  # type: ignore[arg-type]


def test_a_saved_result_is_a_run(cli: Callable[..., Called], tmp_path: Path) -> None:
    metrics = [{"bleu": {"tokenize": "char"}}, "rouge"]
    good = evaluated(GOOD, "good", metrics, clusters=["x", "x", "y", "z"], sources=[row["source"] for row in ROWS])
    bad = evaluated(BAD, "bad", metrics, clusters=["x", "x", "y", "z"], sources=[row["source"] for row in ROWS])
    stored = good.save()
    assert stored.path is not None and stored.path.parent == Path("runs/harness")
    assert stored.scores == good.scores
    assert stored.dataset_key == good.dataset_key
    assert stored.cluster == "cluster"
    assert bad.save(tmp_path / "there").path == tmp_path / "there"
    for words in (
        ["compare", "good", "there", "--resamples", "50", "--score", "bleu"],
        ["table", "good", "there", "--resamples", "50"],
        ["runs"],
        ["score", "good", "metrics=[chrf]", "stats.resamples=50", "tracking=none"],
        ["reproduce", "good"],
        ["report", "good", "there", "-o", "page.html", "--resamples", "50"],
    ):
        called = cli(*words)
        assert called.code == 0, (words, called.out, called.err)
    again = harness.load_run("good")
    assert again.statistics["bleu"].metric.definition() == good.statistics["bleu"].metric.definition()
    assert [row.difference for row in harness.compare([again, "there"], resamples=50)] == [
        row.difference for row in harness.compare([good, bad], resamples=50)
    ]


def test_it_is_logged_from_memory_and_from_its_folder(cli: Callable[..., Called], tmp_path: Path) -> None:
    import mlflow

    uri = f"sqlite:///{tmp_path}/mine.db"
    logged = evaluated(GOOD, "good").log(uri, "mine")
    client = mlflow.MlflowClient(uri)
    run = client.get_run(logged.manifest["mlflow"]["run_id"])
    assert run.data.metrics["bleu"] == pytest.approx(logged.scores["bleu"].estimate)
    assert client.get_experiment(run.info.experiment_id).name == "mine"
    stored = evaluated(BAD, "bad").save()
    assert stored.manifest["mlflow"] is None
    assert harness.load_run("bad").log(uri).manifest["mlflow"]["run_id"] == stored.log(uri).manifest["mlflow"]["run_id"]


def test_an_object_of_unknown_options_is_not_saved(cli: Callable[..., Called]) -> None:
    assert evaluated(GOOD, "plain", [Bleu()]).save().scores
    with pytest.raises(harness.HarnessError, match=r'handed in as an object.*\{"bleu": \{…\}\} with the options'):
        evaluated(GOOD, "other", [Bleu(tokenize="char")]).save()


def test_what_is_stored_is_not_saved_again(cli: Callable[..., Called]) -> None:
    stored = evaluated(GOOD, "good").save()
    with pytest.raises(harness.HarnessError, match="stored already, in runs/harness/good-"):
        stored.save("elsewhere")
    with pytest.raises(harness.HarnessError, match="expected a whole run to save or log"):
        stored.with_examples(stored.examples).save()
