"""`harness table` and `harness.table` on runs."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import harness
from harness.types import HarnessError, RunResult
from tests.conftest import BAD, GOOD, ROWS, Called

OUTPUTS = GOOD * 4
WORSE = ["nothing like it"] * 3 + BAD * 3 + ["no"]
REFERENCES = [row["references"] for row in ROWS] * 4


def run(outputs: list[str], system: str, dataset: str = "dev", **options: float) -> RunResult:
    """A run on sixteen examples, in memory."""
    settings = {"resamples": 200, **options}
    made = harness.evaluate(outputs, REFERENCES, ["bleu", "rouge"], name=f"{dataset}-{system}", **settings)  # type: ignore[arg-type]
    return replace(made, system=system, dataset=dataset, dataset_key=dataset)


@pytest.fixture(scope="module")
def two() -> list[RunResult]:
    return [run(WORSE, "worse"), run(OUTPUTS, "good")]


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_rows_in_the_order_given_marks_by_the_tests(two: list[RunResult]) -> None:
    text = harness.table(two, baseline=two[0], resamples=500)
    lines = text.splitlines()
    assert lines[0].split("|")[1:3] == [" System ", f" {'BLEU':>23} "]
    assert [line.split()[1] for line in lines[2:4]] == ["worse", "good"]
    compared = {row.score: row.verdict for row in harness.compare(two, baseline=two[0], resamples=500)}
    assert set(compared.values()) == {"better"}
    assert lines[3].count("†") == lines[3].count("**") / 2 == len(compared) and "**" not in lines[2]
    assert text == harness.table(two, baseline=two[0], resamples=500)
    swapped = harness.table(two[::-1], baseline=two[0], resamples=500).splitlines()
    assert [line.split()[1] for line in swapped[2:4]] == ["good", "worse"]


def test_digits_by_the_intervals_or_by_the_metric(two: list[RunResult]) -> None:
    score = two[1].scores["rouge1"]
    assert score.low is not None and score.high is not None and 0.01 < (score.high - score.low) / 2 < 0.1
    cells = [
        harness.table(two[1:], scores=["rouge1"], digits=digits).splitlines()[2].split()[3]
        for digits in ("auto", "metric", 1)
    ]
    assert cells == [f"{score.estimate:.{digits}f}" for digits in (3, 4, 1)]
    with pytest.raises(HarnessError, match="digits=metrics; expected one of auto, metric"):
        harness.table(two, digits="metrics")


def test_as_csv_with_all_digits(two: list[RunResult]) -> None:
    rows = rows_of(harness.table(two, "csv", scores=["rouge1", "bleu.bp"], resamples=500))
    score = two[1].scores["rouge1"]
    assert float(rows[1]["rouge1"]) == score.estimate and float(rows[1]["rouge1_high"]) == score.high
    assert (rows[1]["rouge1_best"], rows[0]["rouge1_best"]) == ("True", "False")
    assert "bleu.bp_best" not in rows[0] and float(rows[0]["bleu.bp_low"]) == two[0].scores["bleu.bp"].low
    assert "bleu" not in rows[0]


def test_sub_scores_alone_need_no_tests(two: list[RunResult]) -> None:
    text = harness.table(two, scores=["bleu.bp"], resamples=500)
    assert "Not tested, so never marked: BLEU bp." in text and "Bold" not in text and "**" not in text


def test_a_score_of_a_run_alone_is_shown(two: list[RunResult]) -> None:
    alone = run(OUTPUTS, "good", "test")
    other = replace(alone, scores={**alone.scores, "own": replace(alone.scores["bleu"], name="own")})
    rows = rows_of(harness.table([*two, other], "csv", scores=["own"], resamples=500))
    assert [row["own"] for row in rows] == ["", "", str(alone.scores["bleu"].estimate)]
    assert rows[2]["own_best"] == ""


def test_intervals_have_the_level_asked_for(two: list[RunResult]) -> None:
    rows = rows_of(harness.table(two, "csv", level=0.8, resamples=200))
    again = run(OUTPUTS, "good", level=0.8)
    assert float(rows[1]["bleu_low"]) == again.scores["bleu"].low != two[1].scores["bleu"].low
    assert rows[1]["interval_level"] == rows[1]["test_level"] == "0.8"
    bare = [replace(run(WORSE, "worse", resamples=0), name="x"), replace(run(OUTPUTS, "good", resamples=0), name="y")]
    rows = rows_of(harness.table(bare, "csv", baseline=bare[0], resamples=200))
    assert float(rows[1]["bleu_low"]) == two[1].scores["bleu"].low and len(rows) == 2


def test_one_run_is_a_table_too(two: list[RunResult]) -> None:
    assert "One run only on dev" in harness.table(two[0], "latex", resamples=100)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"format": "html"}, "format=html; expected one of markdown, latex, csv"),
        ({"interval": "error"}, "interval=error; expected one of bounds, plus-minus, none"),
        ({"digits": -1}, "digits=-1; expected 0 to 12"),
        (
            {"caption": "x"},
            "a caption, a label or a wide table for format=markdown; expected them with format=latex only",
        ),
        ({"scores": ["blue"]}, "no run has the score 'blue' (did you mean 'bleu'?); expected one of bleu, bleu.p1"),
        ({"correction": "some"}, "correction=some; expected one of"),
    ],
)
def test_wrong_options(two: list[RunResult], options: dict[str, object], expected: str) -> None:
    with pytest.raises(HarnessError) as raised:
        harness.table(two, **options)  # type: ignore[arg-type]
    assert expected in str(raised.value)


@pytest.fixture
def stored(files: Path, cli: Callable[..., Called]) -> Callable[..., Called]:
    """The command line in a folder with two runs, dev-good and dev-bad."""
    for name in ("good", "bad"):
        arguments = ("dataset=file", "dataset.path=dev.jsonl", "system=predictions", f"system.path={name}.jsonl")
        done = cli("run", *arguments, "metrics=lexical", "tracking=none", "stats.resamples=100")
        assert done.code == 0, done.err
    return cli


def test_the_command(stored: Callable[..., Called]) -> None:
    done = stored("table", "dev-bad", "dev-good", "--baseline", "dev-bad", "--resamples", "200", "--no-progress")
    assert done.code == 0, done.err
    assert done.out == harness.table(["dev-bad", "dev-good"], baseline="dev-bad", resamples=200)
    assert done.out.startswith("| System") and done.out.endswith("-->\n")
    manifest = harness.load_run("dev-good").manifest
    assert f"key {manifest['key'][:16]}" in done.out and f"harness/dev-good-{manifest['key'][:8]}" in done.out

    for name, form in (("t.tex", "latex"), ("t.csv", "csv"), ("t.md", "markdown"), ("t.txt", "markdown")):
        written = stored("table", "dev-bad", "dev-good", "--resamples", "200", "-o", name)
        assert (written.code, written.out) == (0, ""), written.err
        expected = harness.table(["dev-bad", "dev-good"], form, resamples=200)
        assert Path(name).read_bytes() == expected.encode()
    options = ("--format", "latex", "--caption", "Mine.", "--label", "tab:mine", "--interval", "none", "--digits", "1")
    done = stored("table", "dev-bad", "dev-good", *options, "--score", "bleu", "--resamples", "200")
    assert "\\caption{Mine.}\n\\label{tab:mine}" in done.out and "\\begin{tabular}{lr}" in done.out

    done = stored("table", "dev-bad", "--label", "x")
    assert done.code == 2 and "--caption, --label and --wide: expected them with --format latex" in done.err
    done = stored("table", "dev-bad", "-o", "no/such/folder.md", "--resamples", "200")
    assert done.code == 1 and done.err.strip().endswith("expected a file that can be written")
    done = stored("table", "dev-bad", "nowhere")
    assert done.code == 1 and "there is no run 'nowhere'" in done.err and done.out == ""
