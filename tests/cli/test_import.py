"""`harness import` and `harness export`: after import everything works that works on runs."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

import harness
from harness.cli.main import main
from harness.types import HarnessError

LOGS = Path(__file__).parents[1] / "importers" / "logs"


def called(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    capsys.readouterr()
    main(list(arguments))
    return capsys.readouterr().out


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Path:
    """A folder with the runs of two models on two tasks."""
    monkeypatch.chdir(tmp_path)
    called(capsys, "import", str(LOGS / "lm-eval"), "--no-tracking", "--resamples", "200")
    return tmp_path


def test_a_place_that_cannot_be_written_is_named(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "file").write_text("", encoding="utf-8")
    for format in ("csv", "eee", "lm-eval"):
        with pytest.raises(SystemExit) as ended:
            main(["export", "qa_choice-smollm2", "--format", format, "-o", "file"])
        assert ended.value.code == 1
        assert "cannot be written (" in (said := capsys.readouterr().err) and "Traceback" not in said
    with pytest.raises(SystemExit) as ended:
        main(["init", "file"])
    assert ended.value.code == 1
    assert "expected a file that can be written" in (said := capsys.readouterr().err) and "Traceback" not in said


def test_everything_works_after_import(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pair = ["qa_choice-smollm2", "qa_choice-noisy"]
    few = ["--resamples", "200"]
    compared = json.loads(called(capsys, "compare", *pair, *few, "--json"))
    assert [row["score"] for row in compared["comparisons"]] == ["acc", "acc_norm"]
    by_topic = json.loads(called(capsys, "compare", *pair, *few, "--by", "topic", "--json"))
    assert len(by_topic["comparisons"]) > 2
    with pytest.raises(SystemExit):  # a score of the outputs is no field of the data
        main(["compare", *pair, *few, "--by", "imported.acc"])
    assert "| smollm2" in called(capsys, "table", *pair, *few)
    assert "acc" in called(capsys, "best", *pair, *few)
    assert "acc" in called(capsys, "power", *pair, *few)
    called(capsys, "plot", *pair, *few, "--figure", "forest", "-o", "forest.svg")
    assert "smollm2" in (here / "forest.svg").read_text()
    called(capsys, "report", *pair, *few, "-o", "report.html")
    assert (here / "report.html").stat().st_size > 10_000
    listed = json.loads(called(capsys, "runs", "dataset=qa_choice", "--json"))
    assert {run["system"] for run in listed["runs"]} == {"smollm2", "noisy"}


def test_outputs_are_scored_again(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    called(capsys, "score", "qa_gen-strict-smollm2", "metrics=[bleu,rouge,exact_match]", "tracking=none", "name=scored")
    run = harness.load_run("scored")
    assert {"bleu", "rouge1", "exact_match", "exact_match_imported"} <= set(run.scores)
    words = [text.strip() for text in run.examples["output"]]
    own = harness.evaluate(words, [list(texts) for texts in run.examples["references"]], "rouge", resamples=0)
    assert run.scores["rouge1"].estimate == pytest.approx(own.scores["rouge1"].estimate)


@pytest.mark.slow
def test_bertscore_and_mlflow(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """SmolLM2's answers by BERTScore; all imported runs into a store, twice."""
    called(capsys, "score", "qa_gen-strict-smollm2", "metrics=[bertscore]", "tracking=none", "name=neural")
    assert 0 < harness.load_run("neural").scores["bertscore"].estimate < 1  # type: ignore[operator]
    synced = json.loads(called(capsys, "sync", "--uri", f"sqlite:///{here}/m.db", "--json"))
    assert {run["status"] for run in synced["runs"]} == {"logged"} and len(synced["runs"]) == 7
    again = json.loads(called(capsys, "sync", "--uri", f"sqlite:///{here}/m.db", "--json"))
    assert {run["status"] for run in again["runs"]} == {"already there"}


def test_the_same_log_finds_its_run_again(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = sorted((here / "runs" / "harness").iterdir())
    scores = [(folder / "scores.json").read_bytes() for folder in before]
    called(capsys, "import", str(LOGS / "lm-eval"), "--as", "lm-eval", "--no-tracking", "--resamples", "200")
    assert sorted((here / "runs" / "harness").iterdir()) == before
    assert [(folder / "scores.json").read_bytes() for folder in before] == scores


def test_json_and_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    text = called(
        capsys, "import", str(LOGS / "inspect" / "hf.eval"), "-o", "one", "--no-tracking", "--resamples", "200",
        "--system", "smollm2", "--scores", "f1", "--metrics", "exact_match", "--json",
    )  # fmt: skip
    (run,) = json.loads(text)["runs"]
    assert run["folder"] == "one" and set(run["scores"]) == {"f1", "exact_match"} and run["name"] == "qa-smollm2"
    files = json.loads(called(capsys, "export", "one", "--format", "csv", "-o", "out", "--json"))["files"]
    rows = list(csv.reader(Path(files[0]).read_text().splitlines(keepends=True)))
    assert ",".join(rows[0]) == "id,repeat,source,references,output,error,topic,f1,exact_match" and len(rows) == 13


def test_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (run,) = harness.import_logs(LOGS / "inspect" / "good.json", output_dir="run", resamples=100)
    assert run.path == Path("run") and harness.load_run("run").scores["f1"].estimate == run.scores["f1"].estimate
    record = harness.export_run("run", "eee", "out")[1]
    assert json.loads(record.read_text())["eval_library"]["name"] == "harness"
    with pytest.raises(HarnessError, match="no log has the score 'accuracy'; found: f1, includes"):
        harness.import_logs(LOGS / "inspect" / "hf.eval", scores=["f1", "accuracy", "includes"])
    with pytest.raises(HarnessError, match="the same log is given twice"):
        harness.import_logs([LOGS / "inspect" / "hf.eval", LOGS / "inspect"], output_dir="many", resamples=100)
    assert not Path("many").exists()


def test_errors_are_one_message(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["import", str(tmp_path), "--no-tracking"])
    assert ended.value.code == 1
    message = capsys.readouterr().err
    assert message.startswith("harness: ") and message.count("\n") == 1 and "lm-eval:" in message
