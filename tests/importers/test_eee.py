from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import harness
from harness.analysis.importing import exported
from harness.types import HarnessError
from tests.importers.conftest import Import

NEEDED = {
    "schema_version", "evaluation_id", "model_id", "evaluation_name", "sample_id", "interaction_type", "input",
    "output", "answer_attribution", "evaluation",
}  # fmt: skip
"""Of a single-turn sample by the schema 0.3.0."""


def test_a_record_that_its_own_tool_made(logs: Path, import_logs: Import) -> None:
    """every_eval_ever 0.3.0 made it of lm-eval's log of smollm2."""
    (run,) = import_logs(logs / "eee")
    (own, *_) = import_logs(logs / "lm-eval" / "smollm2")
    assert (run.dataset, run.system) == ("qa_choice", "smollm2")
    for name in ("acc", "acc_norm"):
        assert run.scores[name].estimate == own.scores[name].estimate
    assert run.examples["output"].tolist() == own.examples["output"].tolist()
    assert "imported:eee:" in run.scores["acc"].signature


def test_export(logs: Path, import_logs: Import, tmp_path: Path) -> None:
    (run,) = import_logs(logs / "inspect" / "good.eval", system="good")
    assert run.path is not None
    samples, record = exported(run.path, "eee", tmp_path / "out")
    assert samples.name == record.stem + "_samples.jsonl" and record.parent.parts[-4:] == (
        "data",
        "qa",
        "mockllm",
        "model",
    )
    content = json.loads(record.read_text())
    scores = {result["metric_config"]["metric_id"]: result["score_details"] for result in content["evaluation_results"]}
    interval = scores["f1"]["uncertainty"]["confidence_interval"]
    assert (interval["lower"], interval["upper"]) == (run.scores["f1"].low, run.scores["f1"].high)
    rows = [json.loads(line) for line in samples.read_text().splitlines()]
    assert len(rows) == 48 == content["detailed_evaluation_results"]["total_rows"]
    assert all(row.keys() >= NEEDED for row in rows)
    assert exported(run.path, "eee", tmp_path / "out") == [samples, record]  # the same bytes again
    right = [row["sample_id"] for row in rows if row["evaluation"]["is_correct"]]
    assert right == [row["sample_id"] for row in rows if row["evaluation"]["score"] == 1.0] and len(right) == 19
    (again,) = import_logs(tmp_path / "out")
    assert (again.system, again.manifest["dataset"]["cluster"]) == ("good", "topic")
    assert again.manifest["system"]["repeats"] == 2 and len(again.examples) == 24
    for name in ("includes", "f1"):
        assert again.scores[name].estimate == pytest.approx(run.scores[name].estimate)


def test_an_exported_run_pairs_with_itself(
    import_logs: Import, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Imported again: fields of all kinds and sources of none are the data that they were; if not, that is said."""
    rows = [
        {"id": str(i), "references": [f"a dog {i}"], "topic": "news", "length": i, "easy": i > 2, "tags": ["x"]}
        for i in range(4)
    ]
    (tmp_path / "dev.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "ours.txt").write_text("a dog 0\na cat 1\na dog 2\na dog\n")
    asked = ("dataset=file", "dataset.path=dev.jsonl", "system=predictions", "system.path=ours.txt", "metrics=[bleu]")
    run = harness.run(*asked, "tracking=none", "stats.resamples=50")
    samples, record = exported(run.path, "eee", tmp_path / "out")
    (again,) = import_logs(tmp_path / "out", metrics=("bleu",))
    assert again.dataset_key == run.dataset_key and not caplog.records
    assert again.examples["length"].tolist() == [0, 1, 2, 3] and again.examples["source"].isna().all()
    (row,) = [row for row in harness.compare([run, again]) if row.score == "bleu"]
    assert (row.n, row.difference) == (4, 0.0)

    content = json.loads(record.read_text())
    without_checksum(content)
    record.write_text(json.dumps(content))
    samples.write_text(samples.read_text().replace('"topic": "news"', '"topic": "mail"'))
    (other,) = import_logs(tmp_path / "out", system="other")
    assert other.dataset_key != run.dataset_key
    assert "are not all of what the exported run was evaluated on" in caplog.text


def test_correct_where_scores_go_to_a_hundred(import_logs: Import, tmp_path: Path) -> None:
    (tmp_path / "paper").mkdir()
    (tmp_path / "paper" / "ref.en").write_text("a dog\na cow\n")
    (tmp_path / "paper" / "ours.en").write_text("a dog\na cat\n")
    (run,) = import_logs(tmp_path / "paper", metrics=("exact_match",))
    assert run.path is not None
    samples, _ = exported(run.path, "eee", tmp_path)
    evaluations = [json.loads(line)["evaluation"] for line in samples.read_text().splitlines()]
    assert evaluations == [{"score": 100.0, "is_correct": True}, {"score": 0.0, "is_correct": False}]


def bad(logs: Path, folder: Path, change: Any) -> Path:
    shutil.copytree(logs / "eee", folder)
    (record,) = (path for path in folder.glob("*.json"))
    content = json.loads(record.read_text())
    change(content, folder / f"{record.stem}_samples.jsonl")
    record.write_text(json.dumps(content))
    return folder


def without_checksum(content: dict[str, Any]) -> None:
    content["detailed_evaluation_results"].pop("checksum", None)


def twice(content: dict[str, Any], samples: Path) -> None:
    without_checksum(content)
    samples.write_text(samples.read_text() + samples.read_text().splitlines()[0] + "\n")


def shorter(content: dict[str, Any], samples: Path) -> None:
    without_checksum(content)
    samples.write_text("".join(f"{line}\n" for line in samples.read_text().splitlines()[:4]))


def first_row(**fields: Any) -> Any:
    """A change of the first row."""

    def change(content: dict[str, Any], samples: Path) -> None:
        without_checksum(content)
        rows = [json.loads(line) for line in samples.read_text().splitlines()]
        rows[0] |= fields
        samples.write_text("".join(json.dumps(row) + "\n" for row in rows))

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda content, _: content.update(schema_version="0.4.0"), r"of the schema 0\.4\.0; expected one up to 0\.3\.0"),
        (lambda content, samples: samples.write_text(samples.read_text()[:500]), r"has the sha256 .* not whole"),
        (twice, r"line 25 has the sample '0' a second time"),
        (shorter, r"has 4 rows; expected 24"),
        (first_row(evaluation={"score": "high"}), r"line 1: the score 'acc' is the text 'high'"),
        (first_row(evaluation="high"), r"line 1: 'evaluation' is the text 'high'; expected an object"),
        (first_row(sample_id=None), r"line 1: 'sample_id' is null"),
        (first_row(output="a"), r"line 1: 'output' is the text 'a'; expected an object"),
        (first_row(metadata={"harness_values": "x"}), r"line 1: 'harness_values' is 'x'; expected JSON"),
        (first_row(metadata={"harness_repeat": "x"}), r"line 1: 'harness_repeat' is 'x'; expected a whole number"),
        (lambda content, _: content.update(schema_version=None), r"of the schema None; expected one up to 0\.3\.0"),
        (lambda content, _: content.update(model_info="a"), r"'model_info' is the text 'a'; expected an object"),
        (lambda content, _: content.update(evaluation_results={}), r"'evaluation_results' .*; expected a list"),
        (lambda content, _: content.pop("model_info"), r"lacks one of evaluation_id, model_info"),
    ],
)  # fmt: skip
def test_bad_records_leave_nothing(change: Any, message: str, logs: Path, import_logs: Import, tmp_path: Path) -> None:
    with pytest.raises(HarnessError, match=message):
        import_logs(bad(logs, tmp_path / "bad", change))
    assert not (tmp_path / "runs").exists()


def test_a_score_that_failed_leaves_the_output(logs: Path, import_logs: Import, tmp_path: Path) -> None:
    failed = bad(logs, tmp_path / "part", first_row(error="no acc"))
    (run,) = import_logs(failed)
    assert run.failed == 0 and run.examples["output"][0] and "1 of 12" in str(run.scores["acc"].note)
    assert run.scores["acc_norm"].note is None or "1 of 12" not in run.scores["acc_norm"].note


def test_a_record_without_samples(logs: Path, import_logs: Import, tmp_path: Path) -> None:
    (record,) = (logs / "eee").glob("*.json")
    shutil.copy(record, tmp_path)
    with pytest.raises(HarnessError, match=r"has no .*_samples\.jsonl beside it"):
        import_logs(tmp_path / record.name)
