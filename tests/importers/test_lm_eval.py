from __future__ import annotations

import json
import logging
import math
import shutil
from pathlib import Path

import pytest

import harness
from harness.analysis.importing import exported
from harness.types import HarnessError
from tests.importers.conftest import Import


def test_every_task_and_filter_is_a_data_set(logs: Path, import_logs: Import, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        runs = import_logs(logs / "lm-eval" / "smollm2")
    assert [run.dataset for run in runs] == ["qa_choice", "qa_gen-strict", "qa_gen-first-words"]
    assert {run.system for run in runs} == {"smollm2"}
    assert [list(run.scores) for run in runs] == [
        ["acc", "acc_norm"],
        ["exact_match_imported"],
        ["exact_match_imported"],
    ]
    assert "bleu is computed by lm-eval of all samples at once" in caplog.text


def test_what_is_left_out_is_said_once(
    logs: Path, import_logs: Import, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Older logs of a task, and logs of another format in the folder."""
    shutil.copytree(logs / "lm-eval" / "smollm2", tmp_path / "logs")
    (file,) = (tmp_path / "logs").glob("samples_qa_choice_*")
    file.with_name("samples_qa_choice_2025-01-01T00-00-00.jsonl").write_text("")
    shutil.copy(logs / "inspect" / "hf.eval", tmp_path / "logs")
    assert len(import_logs(tmp_path / "logs")) == 3
    said = "\n".join(caplog.messages)
    assert said.count("older logs of the same tasks (1)") == 1 and "read as lm-eval; --as inspect imports" in said


def test_scores_are_those_that_lm_eval_prints(logs: Path, import_logs: Import) -> None:
    """lm-eval 0.4.13 wrote these values into its results; shares get the interval of shares."""
    (results,) = (logs / "lm-eval" / "smollm2").glob("results_*.json")
    table = json.loads(results.read_text())["results"]
    choice, strict, words = import_logs(logs / "lm-eval" / "smollm2")
    assert choice.scores["acc"].estimate == pytest.approx(table["qa_choice"]["acc,none"], abs=1e-12)
    assert choice.scores["acc_norm"].estimate == pytest.approx(table["qa_choice"]["acc_norm,none"], abs=1e-12)
    assert strict.scores["exact_match_imported"].estimate == table["qa_gen"]["exact_match,strict"]
    assert words.scores["exact_match_imported"].estimate == table["qa_gen"]["exact_match,first-words"]
    assert choice.scores["acc"].method == "agresti-coull"
    assert "imported:lm-eval|score:acc|version:0.4.13" in choice.scores["acc"].signature


def test_outputs_and_references(logs: Path, import_logs: Import) -> None:
    """Of a multiple choice the most likely choice and the right one; lm-eval's acc is whether they are the same."""
    choice, strict, _ = import_logs(logs / "lm-eval" / "smollm2")
    table = choice.examples
    assert table["output"][0] == "a tree" and list(table["references"][0]) == ["a tree"]
    same = [output in references for output, references in zip(table["output"], table["references"], strict=True)]
    assert same == [value == 1.0 for value in table["acc"]]
    generated = strict.examples
    assert generated["output"][0] == " a butterfly" and list(generated["references"][0]) == ["a tree"]
    assert generated["source"][0].endswith("Question: What grows tall and has leaves?\nAnswer:")
    assert set(generated["topic"]) == {"plants", "animals", "weather"}


def test_runs_on_the_same_samples_pair_and_others_are_refused(logs: Path, import_logs: Import) -> None:
    choice, strict, words = import_logs(logs / "lm-eval" / "smollm2")
    other, *_ = import_logs(logs / "lm-eval" / "noisy")
    rows = harness.compare([choice, other], baseline=choice, resamples=200)
    assert [(row.score, row.n) for row in rows] == [("acc", 12), ("acc_norm", 12)]
    difference = other.scores["acc"].estimate - choice.scores["acc"].estimate
    assert rows[0].difference == pytest.approx(difference)
    with pytest.raises(HarnessError, match="different data"):
        harness.compare([choice, strict])
    with pytest.raises(HarnessError, match="different data"):  # the same samples, filtered otherwise
        harness.compare([strict, words])


def test_the_verdict_beside_that_of_lm_evals_own_helper(logs: Path, import_logs: Import) -> None:
    """scripts/model_comparator.py of lm-eval: z = (a - b) / sqrt(se_a² + se_b²), as if the two runs were of different
    samples. docs/logs.md shows both."""
    runs = [import_logs(logs / "lm-eval" / name)[0] for name in ("smollm2", "noisy")]
    tables = [
        json.loads(next((logs / "lm-eval" / name).glob("results_*")).read_text())["results"]["qa_choice"]
        for name in ("smollm2", "noisy")
    ]
    (first, error), (second, other) = ((table["acc,none"], table["acc_stderr,none"]) for table in tables)
    z = (second - first) / math.hypot(error, other)
    assert z == pytest.approx(-0.91987, abs=1e-5) and math.erfc(abs(z) / math.sqrt(2)) == pytest.approx(
        0.35764, abs=1e-5
    )
    row = harness.compare(runs, baseline=runs[0], scores=["acc"], resamples=1000)[0]
    assert row.difference == pytest.approx(second - first) and row.verdict == "not distinguishable"


def test_another_prompt_is_other_data(logs: Path, import_logs: Import, tmp_path: Path) -> None:
    shutil.copytree(logs / "lm-eval" / "noisy", tmp_path / "shot")
    for file in (tmp_path / "shot").glob("samples_*"):
        file.write_text(file.read_text().replace("Question: What animal says moo", "Question: What animal says neigh"))
    choice, *_ = import_logs(logs / "lm-eval" / "smollm2")
    other, *_ = import_logs(tmp_path / "shot")
    with pytest.raises(HarnessError, match="different data"):
        harness.compare([choice, other])


def test_export_and_import_give_the_same_scores(logs: Path, import_logs: Import, tmp_path: Path) -> None:
    run, *_ = import_logs(logs / "lm-eval" / "smollm2", metrics=("rouge",))
    assert run.path is not None
    exported(run.path, "lm-eval", tmp_path / "out")
    (again,) = import_logs(tmp_path / "out")
    assert {"acc", "acc_norm", "rouge1_imported"} <= set(again.scores)
    for name in ("acc", "acc_norm"):
        assert again.scores[name].estimate == run.scores[name].estimate
    assert again.scores["rouge1_imported"].estimate == pytest.approx(run.scores["rouge1"].estimate)
    assert again.system == "smollm2" and again.dataset == "qa_choice"


def lines(folder: Path) -> tuple[Path, list[dict[str, object]]]:
    (file,) = folder.glob("samples_qa_choice_*")
    return file, [json.loads(line) for line in file.read_text().splitlines()]


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda rows: rows[:7], r"has 7 samples of the filter 'none'; expected 12"),
        (lambda rows: [*rows[:11], rows[0]], r"line 12 has the sample '0' a second time; expected each once"),
        (lambda rows: [{**rows[0], "acc": "good"}, *rows[1:]], r"line 1: the score 'acc' is the text 'good'; expected a number"),
        (lambda rows: [{k: v for k, v in rows[0].items() if k != "doc_id"}, *rows[1:]], r"line 1 has no 'doc_id'"),
        (lambda rows: [{**rows[0], "doc_id": None}, *rows[1:]], r"line 1.*id"),
        (lambda rows: [{**rows[0], "arguments": 3}, *rows[1:]], r"'arguments' is not as lm-eval writes it"),
        (lambda rows: [{**rows[0], "arguments": {"a": "b"}}, *rows[1:]], r"line 1: 'a' is the text 'b'; expected an object"),
        (lambda rows: [{**rows[0], "metrics": "acc"}, *rows[1:]], r"line 1: 'metrics' is the text 'acc'; expected a list"),
        (lambda rows: [{**rows[0], "metrics": [["acc"], {}], "['acc']": "a"}, *rows[1:]], r"line 1: the score \"\['acc'\]\" is"),
        (lambda rows: [{**rows[0], "acc": math.inf}, *rows[1:]], r"line 1: the score 'acc' is .* 'inf'; expected a finite number"),
        (lambda rows: [{**rows[0], "metrics": ["acc", "acc!"]}, *rows[1:]], r"line 1 has two scores that would be called 'acc'"),
    ],
)  # fmt: skip
def test_bad_logs_leave_nothing(damage, message, logs: Path, import_logs: Import, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    shutil.copytree(logs / "lm-eval" / "smollm2", tmp_path / "bad")
    file, rows = lines(tmp_path / "bad")
    file.write_text("".join(json.dumps(row) + "\n" for row in damage(rows)))
    with pytest.raises(HarnessError, match=message):
        import_logs(logs / "lm-eval" / "noisy", tmp_path / "bad")
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("name", ["configs", "n-samples", "higher_is_better"])
def test_results_that_are_no_table(name: str, logs: Path, import_logs: Import, tmp_path: Path) -> None:
    shutil.copytree(logs / "lm-eval" / "smollm2", tmp_path / "bad")
    (results,) = (tmp_path / "bad").glob("results_*")
    results.write_text(json.dumps({**json.loads(results.read_text()), name: [1]}))
    with pytest.raises(HarnessError, match=rf"'{name}' is the value '\[1\]'; expected an object"):
        import_logs(tmp_path / "bad")


def test_a_score_that_no_log_has(logs: Path, import_logs: Import) -> None:
    with pytest.raises(HarnessError, match="no log has the score 'bleurt'; found: acc, acc_norm, bleu, exact_match"):
        import_logs(logs / "lm-eval" / "smollm2", scores=("bleurt",))


def rewritten(logs: Path, folder: Path, **fields: object) -> Path:
    """The log of the choices with other fields in each sample; it is alone in its folder."""
    shutil.copytree(logs / "lm-eval" / "smollm2", folder, ignore=shutil.ignore_patterns("samples_qa_gen*"))
    file, rows = lines(folder)
    file.write_text("".join(json.dumps(row | fields) + "\n" for row in rows))
    return folder


def test_the_likelihood_of_a_text_is_no_output(logs: Path, import_logs: Import, tmp_path: Path) -> None:
    """As lm-eval writes wikitext: one argument, a log-likelihood, and a perplexity of all texts together."""
    rolling = {
        "arguments": {"gen_args_0": {"arg_0": "a page"}}, "filtered_resps": ["-12.5"],
        "metrics": ["word_perplexity"], "word_perplexity": ["-12.5", 2],
    }  # fmt: skip
    with pytest.raises(HarnessError, match="has neither scores of single samples nor outputs"):
        import_logs(rewritten(logs, tmp_path / "wikitext", **rolling))
    assert not (tmp_path / "runs").exists()


def test_a_score_that_is_no_mean_is_left_out(
    logs: Path, import_logs: Import, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """As lm-eval writes LAMBADA: the perplexity of a sample is its log-likelihood, and that of all its exponential."""
    folder = rewritten(logs, tmp_path / "lambada", metrics=["acc", "perplexity"], perplexity=-2.0)
    (results,) = folder.glob("results_*")
    content = json.loads(results.read_text())
    content["results"]["qa_choice"]["perplexity,none"] = math.exp(2)
    results.write_text(json.dumps(content))
    (run,) = import_logs(folder)
    assert list(run.scores) == ["acc"]
    assert "perplexity is computed by lm-eval of all samples at once" in caplog.text
    results.unlink()
    assert list(import_logs(folder)[0].scores) == ["acc"]


def test_a_score_without_any_number_is_none(logs: Path, import_logs: Import, tmp_path: Path) -> None:
    """As `lm_eval --predict_only` writes it: then the outputs are scored."""
    (run,) = import_logs(rewritten(logs, tmp_path / "predicted", metrics=["bypass"], bypass=None))
    assert "bypass" not in run.scores and {"bleu", "rougeL"} <= set(run.scores)


def test_fields_that_cannot_be_stored_are_left_out(logs: Path, import_logs: Import, tmp_path: Path) -> None:
    doc = {"half": "\ud83d", "\ud83d": "whole", "nul": "\0", "kept": "ü"}
    (run,) = import_logs(rewritten(logs, tmp_path / "odd", doc=doc))
    assert run.examples["kept"][0] == "ü" and not {"half", "\ud83d", "nul"} & set(run.examples.columns)


def test_half_a_line(logs: Path, import_logs: Import, tmp_path: Path) -> None:
    shutil.copytree(logs / "lm-eval" / "smollm2", tmp_path / "bad")
    file, _ = lines(tmp_path / "bad")
    file.write_bytes(file.read_bytes()[:-200])
    with pytest.raises(HarnessError, match="line 12 is not JSON"):
        import_logs(tmp_path / "bad")


def test_a_newer_version_is_refused(logs: Path, import_logs: Import, tmp_path: Path) -> None:
    shutil.copytree(logs / "lm-eval" / "smollm2", tmp_path / "new")
    (results,) = (tmp_path / "new").glob("results_*")
    results.write_text(results.read_text().replace('"lm_eval_version": "0.4.13"', '"lm_eval_version": "0.9.0"'))
    with pytest.raises(HarnessError, match=r"is of lm-eval 0\.9\.0; expected one up to 0\.4"):
        import_logs(tmp_path / "new")


def test_missing_scores_are_missing(logs: Path, import_logs: Import, tmp_path: Path) -> None:
    shutil.copytree(logs / "lm-eval" / "smollm2", tmp_path / "part")
    file, rows = lines(tmp_path / "part")
    rows[0]["acc"] = None
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    run, *_ = import_logs(tmp_path / "part", scores=("acc", "exact_match"))
    assert list(run.scores) == ["acc"]
    assert run.scores["acc"].estimate == pytest.approx(sum(row["acc"] for row in rows[1:]) / 11)  # type: ignore[misc]
    assert math.isnan(run.examples["acc"][0]) and "1 of 12" in str(run.scores["acc"].note)
