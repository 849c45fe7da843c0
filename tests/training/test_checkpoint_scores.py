"""Evaluation inside a training run: a real Trainer on a tiny model, a real MLflow store."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness import training
from harness.postprocess import Postprocess
from harness.types import Example, HarnessError
from tests.conftest import write_jsonl
from tests.systems import tiny

ROWS = [{"id": str(i), "source": f"w{i} w{i + 1}", "references": [f"w{i} w14"], "topic": "ab"[i % 2]} for i in range(5)]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Any]:
    """A client of a new store, which is the one that training logs to."""
    import mlflow

    uri = f"sqlite:///{tmp_path}/training.db"
    mlflow.set_tracking_uri(uri)
    mlflow.create_experiment("training", (tmp_path / "artifacts").as_uri())
    mlflow.set_experiment("training")
    yield mlflow.MlflowClient(uri)
    mlflow.end_run()
    mlflow.set_tracking_uri(None)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.make("seq2seq", tmp_path_factory.mktemp("models") / "tiny")


def loaded(folder: Path) -> tuple[Any, Any]:
    from transformers import AutoTokenizer, T5ForConditionalGeneration

    return T5ForConditionalGeneration.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)


def trained(folder: Path, out: Path, *callbacks: Any) -> dict[str, Any]:
    """The weights after four steps of training with dropout."""
    from transformers import Trainer, TrainingArguments, set_seed

    set_seed(0)
    model, tokenizer = loaded(folder)
    data = [{"input_ids": [5, 6, 2], "labels": [5, 18, 2]}] * 16
    arguments = TrainingArguments(
        str(out), max_steps=4, save_steps=2, per_device_train_batch_size=4, report_to=[], use_cpu=True, disable_tqdm=True,
        save_only_model=True, learning_rate=0.01, dataloader_pin_memory=False,
    )  # fmt: skip
    Trainer(
        model, arguments, train_dataset=data, processing_class=tokenizer, callbacks=list(callbacks)
    ).train()  # fmt: skip
    assert model.training
    return dict(model.state_dict())


def history(store: Any, run_id: str, name: str) -> dict[int, float]:
    return {point.step: point.value for point in store.get_metric_history(run_id, name)}


def test_the_callback_logs_scores_with_bounds_by_step_to_the_active_run(
    folder: Path, tmp_path: Path, store: Any
) -> None:
    import mlflow
    import torch

    path = write_jsonl(tmp_path / "dev.jsonl", ROWS)
    watched = training.HarnessCallback(str(path), ["chrf", "exact_match"], max_new_tokens=4, resamples=200)
    often = training.HarnessCallback(ROWS, ["bleu"], every=1, prefix="dev/", max_new_tokens=4, resamples=200)
    with mlflow.start_run() as run:
        after = trained(folder, tmp_path / "a", watched, often)
    assert sorted(watched.results) == [2, 4]
    for key, field in (("{}", "estimate"), ("interval/{}.low", "low"), ("interval/{}.high", "high")):
        expected = {step: getattr(result.scores["chrf"], field) for step, result in watched.results.items()}
        assert history(store, run.info.run_id, key.format("chrf")) == expected
    assert sorted(history(store, run.info.run_id, "dev/bleu")) == [1, 2, 3, 4]
    assert history(store, run.info.run_id, "run/failed") == {2: 0, 4: 0}
    plain = trained(folder, tmp_path / "b")
    assert all(torch.equal(after[name], plain[name]) for name in plain)  # training does not notice
    # the same scores as of the checkpoint on disk
    on_disk = training.evaluate_checkpoint(
        *loaded(tmp_path / "a" / "checkpoint-4"), ROWS, ["chrf"], 4, max_new_tokens=4, resamples=200, track=False
    )
    assert on_disk.scores["chrf"] == watched.results[4].scores["chrf"]


def test_the_function_takes_data_of_every_kind(folder: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    from harness.datasets.file import FileDataset

    model, tokenizer = loaded(folder)
    path = write_jsonl(tmp_path / "dev.jsonl", ROWS)
    examples = [Example(row["id"], row["source"], tuple(row["references"])) for row in ROWS]
    options = {"max_new_tokens": 4, "resamples": 0, "track": False}
    results = [
        training.evaluate_checkpoint(model, tokenizer, data, ["chrf"], 7, **options)
        for data in (str(path), path, FileDataset(str(path)), ROWS, examples)
    ]
    assert len({result.scores["chrf"].estimate for result in results}) == 1
    assert not model.training
    clustered = FileDataset(str(path), cluster="topic")
    wide = training.evaluate_checkpoint(model, tokenizer, clustered, ["chrf"], 7, **options)
    assert wide.cluster == "topic"
    assert wide.examples["topic"].tolist() == ["a", "b", "a", "b", "a"]
    outputs = results[0].examples["output"].tolist()
    first = outputs[0].split()[0]
    result = training.evaluate_checkpoint(
        model, tokenizer, ROWS, "exact_match", 7, postprocess=Postprocess(extract=f"^{first} "), max_new_tokens=4
    )
    assert result.examples["error"].isna().sum() == sum(output.startswith(f"{first} ") for output in outputs)
    assert "there is no active MLflow run: step 7 is not logged; expected mlflow.start_run() before" in caplog.text
    assert result.failed == result.examples["error"].notna().sum() and len(result.examples) == 5
    with pytest.raises(HarnessError, match="step 7: all 5 examples failed, the first with: "):
        training.evaluate_checkpoint(model, tokenizer, ROWS, "exact_match", 7, postprocess=Postprocess(extract="no"))


def test_what_is_wrong_is_said(folder: Path) -> None:
    with pytest.raises(HarnessError, match="every=0; expected at least 1, or None for every checkpoint"):
        training.HarnessCallback(ROWS, every=0)
    for option in ({"repeats": 2, "do_sample": True}, {"device": "cpu"}):
        with pytest.raises(HarnessError, match="repeats=2; expected 1|device=cpu with a model in memory"):
            training.evaluate_checkpoint(*loaded(folder), ROWS, **option)
    with pytest.raises(AttributeError, match="has no attribute 'Nothing'"):
        training.Nothing  # noqa: B018
    state = type("State", (), {"global_step": 1, "log_history": []})()
    callback = training.HarnessCallback(ROWS)
    with pytest.raises(HarnessError, match=r"the Trainer has no tokenizer; expected Trainer\(..., processing_class"):
        callback.on_save(None, state, None, model=loaded(folder)[0])
    assert callback.results == {}
