from __future__ import annotations

import json
import math
import shutil
import zipfile
from pathlib import Path
from typing import Any

import pytest

import harness
from harness.types import HarnessError
from tests.importers.conftest import Import


def test_epochs_are_repeats_and_the_cluster_is_that_of_the_log(logs: Path, import_logs: Import) -> None:
    """Inspect's own means: includes 0.79167, f1 0.39583; its stderr was clustered by topic."""
    (run,) = import_logs(logs / "inspect" / "good.eval", system="good")
    assert run.name == "qa-good" and run.cluster == "topic" and run.manifest["system"]["repeats"] == 2
    assert len(run.examples) == 24 and run.manifest["dataset"]["examples"] == 12
    assert run.scores["includes"].estimate == pytest.approx(0.7916666666666666)
    assert run.scores["f1"].estimate == pytest.approx(0.3958333333333333)
    assert "3 clusters by topic" in run.scores["f1"].units
    assert run.examples["output"][0] == "It is a tree." and list(run.examples["references"][0]) == ["a tree"]
    assert run.manifest["generation"]["output_tokens"] == 120
    assert "imported:inspect|score:f1|version:0.3.285" in run.scores["f1"].signature


def test_runs_pair(logs: Path, import_logs: Import) -> None:
    (good,) = import_logs(logs / "inspect" / "good.eval", system="good")
    (poor,) = import_logs(logs / "inspect" / "poor.eval", system="poor")
    rows = harness.compare([good, poor], baseline=poor, resamples=200)
    assert [row.score for row in rows] == ["includes", "f1"]
    assert rows[0].difference == pytest.approx(0.7916666666666666 - 0.375)


def test_a_log_of_a_real_model(logs: Path, import_logs: Import) -> None:
    (run,) = import_logs(logs / "inspect" / "hf.eval", metrics=("bleu",), cluster="topic")
    assert run.system == "local" and run.manifest["system"]["about"]["model"] == "hf/local"
    assert len(run.examples) == 12 and {"includes", "f1", "bleu"} <= set(run.scores)


def test_a_folder_of_both_kinds(logs: Path, import_logs: Import, tmp_path: Path) -> None:
    """A .json beside a .eval of the same name is that log again; another is one of its own."""
    (tmp_path / "logs").mkdir()
    for name, there in (("hf.eval", "hf.eval"), ("good.json", "hf.json"), ("good.json", "late.json")):
        shutil.copy(logs / "inspect" / name, tmp_path / "logs" / there)
    assert [run.system for run in import_logs(tmp_path / "logs")] == ["local", "model"]


def test_json(logs: Path, import_logs: Import) -> None:
    (run,) = import_logs(logs / "inspect" / "good.json")
    assert len(run.examples) == 3 and run.examples["topic"].tolist() == ["plants"] * 3
    (some,) = import_logs(logs / "inspect" / "good.json", scores=("f1",), system="some")
    assert list(some.scores) == ["f1"]


def document(logs: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((logs / "inspect" / "good.json").read_text())
    return content


def changed(sample: int, **fields: Any) -> Any:
    def change(log: dict[str, Any]) -> None:
        log["samples"][sample] |= fields

    return change


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda log: log.update(version=3), r"is of version 3; expected one up to 2"),
        (lambda log: log.update(status="error"), r"ended with the status 'error'; expected 'success'"),
        (lambda log: log["samples"].pop(), r"has 2 samples; expected 3"),
        (changed(1, id=None), r"item 2 has no id"),
        (changed(2, id=1), r"item 3 has the sample '1' a second time"),
        (changed(0, scores={"grade": {"value": "B+"}}), r"the score 'grade' is the text 'B\+'; expected a number"),
        (changed(0, scores=[1]), r"item 1: 'scores' is the value '\[1\]'; expected an object"),
        (changed(0, output=[1]), r"item 1: 'output' is the value '\[1\]'; expected an object"),
        (changed(0, output={"choices": "a"}), r"item 1: 'choices' is the text 'a'; expected a list"),
        (changed(0, metadata="a"), r"item 1: 'metadata' is the text 'a'; expected an object"),
        (changed(0, epoch="first"), r"item 1: 'epoch' is 'first'; expected a whole number"),
        (changed(0, scores={"f1": {"value": "inf"}}), r"item 1: the score 'f1' is .*'inf'; expected a finite number"),
        (lambda log: log.update(results=[1]), r"'results' is the value '\[1\]'; expected an object"),
        (changed(2, id=1, epoch=2), r"'1' has another prompt or target in epoch 2 than in epoch 1"),
    ],
)
def test_bad_logs_leave_nothing(damage: Any, message: str, logs: Path, import_logs: Import, tmp_path: Path) -> None:
    log = document(logs)
    damage(log)
    (tmp_path / "bad.json").write_text(json.dumps(log))
    with pytest.raises(HarnessError, match=message):
        import_logs(logs / "inspect" / "good.eval", tmp_path / "bad.json")
    assert not (tmp_path / "runs").exists()


def test_what_is_said_of_an_output_is_checked_as_that_of_any_system(
    logs: Path, import_logs: Import, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    log = document(logs)
    for sample, seconds in zip(log["samples"], ("soon", math.nan, "2.5"), strict=True):
        sample["output"] |= {"time": seconds, "usage": {"input_tokens": -1, "output_tokens": 10**40}}
    (tmp_path / "odd.json").write_text(json.dumps(log))
    (run,) = import_logs(tmp_path / "odd.json")
    generation = run.manifest["generation"]
    assert (generation["latency_p50"], generation["input_tokens"], generation["output_tokens"]) == (2.5, None, None)
    assert "'seconds' of an output is str 'soon'; expected a finite number from 0. It is left out" in caplog.text


def test_half_an_archive(logs: Path, import_logs: Import, tmp_path: Path) -> None:
    whole = (logs / "inspect" / "good.eval").read_bytes()
    (tmp_path / "half.eval").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(HarnessError, match="inspect: it is no whole zip archive"):
        import_logs(tmp_path / "half.eval")
    with zipfile.ZipFile(tmp_path / "begun.eval", "w") as archive:
        archive.writestr("_journal/start.json", "{}")
    with pytest.raises(HarnessError, match=r"has no header\.json: the evaluation did not end"):
        import_logs(tmp_path / "begun.eval")


def test_the_mean_of_nothing(logs: Path, import_logs: Import, tmp_path: Path) -> None:
    """Inspect writes NaN, which is no JSON, where a scorer gave nothing."""
    log = document(logs)
    log["results"]["scores"][0]["metrics"]["mean"] = {"name": "mean", "value": math.nan}
    with zipfile.ZipFile(tmp_path / "nan.eval", "w") as archive:
        for sample in log.pop("samples"):
            archive.writestr(f"samples/{sample['id']}_epoch_1.json", json.dumps(sample))
        archive.writestr("header.json", json.dumps(log))
    (run,) = import_logs(tmp_path / "nan.eval")
    assert run.scores["includes"].estimate == pytest.approx(2 / 3)


def test_values_of_all_kinds(logs: Path, import_logs: Import, tmp_path: Path) -> None:
    """Letters and words as Inspect counts them, mappings as a score each, failed samples as failed."""
    log = document(logs)
    log["samples"][0]["scores"] = {"a": {"value": "P"}, "b": {"value": {"x": True, "y": 0.25}}, "c": {"value": "yes"}}
    log["samples"][1]["scores"] = {"a": {"value": "N"}, "b": {"value": {"x": False, "y": 0.75}}, "c": {"value": "0.5"}}
    log["samples"][2] |= {"scores": {}, "error": {"message": "out of time"}}
    (tmp_path / "kinds.json").write_text(json.dumps(log))
    (run,) = import_logs(tmp_path / "kinds.json", cluster="topic")
    assert {name: run.scores[name].estimate for name in ("a", "b_x", "b_y", "c")} == {
        "a": 0.25, "b_x": 0.5, "b_y": 0.5, "c": 0.75
    }  # fmt: skip
    assert run.failed == 1 and run.examples["error"][2] == "out of time"


def test_messages_and_attachments(logs: Path, import_logs: Import, tmp_path: Path) -> None:
    log = document(logs)
    log["samples"][0] |= {
        "input": [{"role": "user", "content": [{"type": "text", "text": "What barks?"}]}, {"role": "user", "content": "Say!"}],
        "attachments": {"abc": "a long answer"},
        "output": {"choices": [{"message": {"content": "attachment://abc"}}]},
    }  # fmt: skip
    (tmp_path / "messages.json").write_text(json.dumps(log))
    (run,) = import_logs(tmp_path / "messages.json")
    assert run.examples["source"][0] == "What barks?\n\nSay!" and run.examples["output"][0] == "a long answer"


def test_targets_that_are_numbers(logs: Path, import_logs: Import, tmp_path: Path) -> None:
    """As they are written, one or several; what is null has no reference."""
    log = document(logs)
    for sample, target in zip(log["samples"], (42, [0.5, "half"], None), strict=True):
        sample["target"] = target
    (tmp_path / "numbers.json").write_text(json.dumps(log))
    (run,) = import_logs(tmp_path / "numbers.json")
    assert [list(texts) for texts in run.examples["references"]] == [["42"], ["0.5", "half"], []]
