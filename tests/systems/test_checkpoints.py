"""Checkpoints of one training run: which are found, in what order, each a run, each generated once, the curve in MLflow."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.systems.checkpoints import Checkpoints
from harness.systems.huggingface import HuggingFace
from harness.types import HarnessError
from tests.conftest import Called, write_jsonl
from tests.systems import tiny

Cli = Callable[..., Called]


def checkpoint(folder: Path, state: int | None = None) -> Path:
    """A folder that looks like a checkpoint."""
    folder.mkdir(parents=True)
    (folder / "model.safetensors").write_bytes(b"")
    if state is not None:
        (folder / "trainer_state.json").write_text(json.dumps({"global_step": state}))
    return folder


def steps(path: Path | str, **options: Any) -> list[int]:
    return [cell["step"] for cell in Checkpoints(str(path), **options).cells()]


def test_steps_are_numbers_not_names(tmp_path: Path) -> None:
    for n in (5, 100, 20, 1000, 300):
        checkpoint(tmp_path / "out" / f"checkpoint-{n}")
    (tmp_path / "out" / "logs").mkdir()
    for path in (tmp_path / "out", tmp_path / "out" / "checkpoint-*"):
        assert steps(path) == [5, 20, 100, 300, 1000]
        assert steps(path, every=2) == [5, 100, 1000]
        assert steps(path, last=2) == [300, 1000]
        assert steps(path, every=2, last=1) == [1000]
    (first, *_) = Checkpoints(str(tmp_path / "out" / "checkpoint-*"), prompt="{{ id }}").cells()
    assert first["model"] == str(tmp_path / "out" / "checkpoint-5")
    assert (first["name"], first["prompt"]) == ("out-step-5", "{{ id }}")


def test_the_trainers_state_says_the_step(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    checkpoint(tmp_path / "epoch-2", 40)
    checkpoint(tmp_path / "best", 20)
    checkpoint(tmp_path / "epoch-3")  # the state is what a trainer writes last
    (tmp_path / "epoch-4").mkdir()
    (checkpoint(tmp_path / "epoch-5") / "trainer_state.json").write_text('{"global_')
    assert steps(tmp_path) == [20, 40]
    assert "epoch-5 is incomplete; it is left for the next call" in caplog.text
    assert "epoch-3 is incomplete; it is left for the next call" in caplog.text
    assert "epoch-4 is incomplete" in caplog.text


def test_a_series_is_a_training_run_with_its_options(tmp_path: Path) -> None:
    for run in ("a", "b"):
        for n in (1, 2):
            checkpoint(tmp_path / run / f"step{n}")

    def series(path: str, **options: Any) -> str:
        (name,) = {cell["series"] for cell in Checkpoints(str(tmp_path / path), **options).cells()}
        return str(name)

    assert series("a") == series("a/step*") == series("a", every=2) == series("a", last=1)
    assert len({series("a"), series("b"), series("a", max_new_tokens=3)}) == 3


def test_adapters_are_put_on_their_model(tmp_path: Path) -> None:
    for n, config in ((1, {"base_model_name_or_path": "some/base"}), (2, {})):
        folder = checkpoint(tmp_path / f"lora-{n}")
        (folder / "adapter_config.json").write_text(json.dumps(config))
    first, second = Checkpoints(str(tmp_path), model="my/base").cells()
    assert (first["model"], first["adapter"]) == ("my/base", str(tmp_path / "lora-1"))
    assert second["model"] == "my/base"
    assert Checkpoints(str(tmp_path / "lora-1*")).cells()[0]["model"] == "some/base"
    with pytest.raises(HarnessError, match="lora-2 is an adapter; expected system.model=DIR"):
        Checkpoints(str(tmp_path)).cells()


def test_what_is_wrong_is_said(tmp_path: Path) -> None:
    checkpoint(tmp_path / "a" / "checkpoint-5")
    checkpoint(tmp_path / "b" / "checkpoint-5")
    (checkpoint(tmp_path / "c" / "checkpoint-1") / "trainer_state.json").write_text("{}")
    for made, expected in (
        (lambda: Checkpoints(str(tmp_path / "nope")).cells(), "has no checkpoints; expected folders with a model"),
        (lambda: Checkpoints(str(tmp_path / "*" / "checkpoint-5")).cells(), "are both at step 5; expected the checkpoints of one"),
        (lambda: Checkpoints(str(tmp_path / "c")).cells(), "expected the trainer's global_step"),
        (lambda: Checkpoints("out", every=0), "system.every=0; expected a whole number, at least 1"),
        (lambda: Checkpoints("out", last=0), "system.last=0; expected a whole number, at least 1"),
        (lambda: Checkpoints("out", adapter="x"), "system.adapter is each checkpoint's own"),
    ):  # fmt: skip
        with pytest.raises(HarnessError) as raised:
            made()
        assert expected in str(raised.value)


# ---------------------------------------------------------------- `harness run`, on real tiny models

RUN = ("run", "dataset=file", "dataset.path=dev.jsonl", "system=checkpoints", "system.path=out/checkpoint-*",
       "system.max_new_tokens=4", "metrics=[exact_match,chrf]", "stats.resamples=200")  # fmt: skip


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    base = tmp_path_factory.mktemp("trained")
    for n in (5, 20, 100):
        tiny.make("seq2seq", base / f"checkpoint-{n}", seed=n)
    return base


@pytest.fixture
def folder(tmp_path: Path, trained: Path) -> Path:
    rows = [{"id": str(i), "source": f"w{i} w{i + 1}", "references": [f"w{i} w14"]} for i in range(6)]
    write_jsonl(tmp_path / "dev.jsonl", rows)
    for n in (5, 20):
        shutil.copytree(trained / f"checkpoint-{n}", tmp_path / "out" / f"checkpoint-{n}")
    return tmp_path


@pytest.fixture
def generated(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The model of every batch that was generated."""
    generated_by: list[str] = []
    real = HuggingFace._generated

    def counted(self: HuggingFace, rows: Any) -> Any:
        generated_by.append(Path(self.pretrained.model).name)
        return real(self, rows)

    monkeypatch.setattr(HuggingFace, "_generated", counted)
    return generated_by


def history(folder: Path, run_id: str, name: str) -> dict[int, float]:
    from mlflow import MlflowClient

    store = MlflowClient(tracking_uri=f"sqlite:///{folder}/runs/mlflow.db")
    points = store.get_metric_history(run_id, name)
    by_step = {point.step: point.value for point in points}
    assert len(by_step) == len(points)
    return by_step


def test_each_checkpoint_is_a_run_and_only_new_ones_are_generated(
    folder: Path, trained: Path, cli: Cli, generated: list[str]
) -> None:
    from mlflow import MlflowClient

    called = cli(*RUN)
    assert called.code == 0, called.err
    assert generated == ["checkpoint-5", "checkpoint-20"]
    shutil.copytree(trained / "checkpoint-100", folder / "out" / "checkpoint-100")
    called = cli(*RUN)  # training went on
    assert called.code == 0, called.err
    assert generated == ["checkpoint-5", "checkpoint-20", "checkpoint-100"]
    lines = [line.split() for line in called.out.splitlines()]
    assert [line[0] for line in lines if line and line[0].isdigit()] == ["5", "20", "100"] * 2  # two scores, by step
    assert "harness compare runs/harness/*" in called.out
    folders = {
        json.loads(p.read_text())["system"]["step"]: p.parent for p in folder.glob("runs/harness/*/manifest.json")
    }
    assert sorted(folders) == [5, 20, 100]
    assert cli(*RUN, "system.last=1").code == 0
    assert len(generated) == 3
    assert len(list(folder.glob("runs/harness/*"))) == 3

    store = MlflowClient(tracking_uri=f"sqlite:///{folder}/runs/mlflow.db")
    runs = store.search_runs([store.get_experiment_by_name("harness").experiment_id])
    (curve,) = [run for run in runs if "harness.series" in run.data.tags]
    points = {run.info.run_name: run for run in runs if run is not curve}
    assert sorted(points) == ["dev-out-step-100", "dev-out-step-20", "dev-out-step-5"]
    for name, run in points.items():
        assert run.data.tags["mlflow.parentRunId"] == curve.info.run_id
        assert list(history(folder, run.info.run_id, "chrf")) == [int(name.rpartition("-")[2])]
    stored = {step: json.loads((path / "scores.json").read_text())["scores"]["chrf"] for step, path in folders.items()}
    for key, field in (("{}", "estimate"), ("interval/{}.low", "low"), ("interval/{}.high", "high")):
        expected = {step: score[field] for step, score in stored.items()}
        assert history(folder, curve.info.run_id, key.format("chrf")) == expected


@pytest.mark.slow
def test_output_dir_and_name_are_shared_and_a_multirun_has_curves_of_its_own(
    folder: Path, cli: Cli, generated: list[str]
) -> None:
    from mlflow import MlflowClient

    called = cli(*RUN, "output_dir=mine", "name=trial", "tracking=none")
    assert called.code == 0, called.err
    names = sorted(path.parent.name.rpartition("-")[0] for path in (folder / "mine").glob("*/scores.json"))
    assert names == ["trial-step-20", "trial-step-5"]
    (folder / "test.jsonl").write_text((folder / "dev.jsonl").read_text().replace("w14", "w6"))
    called = cli(*RUN, "--multirun", "dataset.path=dev.jsonl,test.jsonl")
    assert called.code == 0, called.err
    assert generated == ["checkpoint-5", "checkpoint-20"]  # references are not what a model sees
    store = MlflowClient(tracking_uri=f"sqlite:///{folder}/runs/mlflow.db")
    runs = store.search_runs([store.get_experiment_by_name("harness").experiment_id])
    (group,) = [run for run in runs if "harness.group" in run.data.tags]
    curves = [run for run in runs if "harness.series" in run.data.tags]
    assert sorted(run.info.run_name for run in curves) == [
        f"2 checkpoints on {name} by step" for name in ("dev", "test")
    ]
    assert {run.data.tags["mlflow.parentRunId"] for run in curves} == {group.info.run_id}
    assert len(runs) == 1 + 2 + 4
    for run in curves:
        assert sorted(history(folder, run.info.run_id, "exact_match")) == [5, 20]


def test_options_are_those_of_huggingface(folder: Path, cli: Cli) -> None:
    called = cli(*RUN, "+system.promt=x")
    assert called.code == 1
    assert "system.promt is not an option (did you mean 'prompt'?)" in called.err
    assert cli(*RUN, "system.top_p=0.5").err.startswith("harness: system.top_p=0.5 is for sampling")
    assert not list(folder.glob("runs/*/*"))
