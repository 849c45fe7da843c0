"""`system=column`: outputs in a column of the data."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import harness
from tests.conftest import BAD, GOOD, ROWS, Called, write_jsonl

SCORED = ("metrics=[bleu]", "tracking=none", "stats.resamples=20")
NAMED = ("dataset.columns.source=src", "dataset.columns.references=ref")


@pytest.fixture
def csv(tmp_path: Path) -> Path:
    rows = zip(ROWS, GOOD, BAD, strict=True)
    lines = [f"{row['source']},{row['references'][0]},{good},{bad},{row['topic']}\n" for row, good, bad in rows]
    (tmp_path / "dev.csv").write_text("src,ref,hyp,other,topic\n" + "".join(lines))
    return tmp_path / "dev.csv"


def test_one_file_one_command(cli: Callable[..., Called], csv: Path) -> None:
    called = cli("run", "dataset=file", "dataset.path=dev.csv", *NAMED, "system=column", "system.field=hyp", *SCORED)
    assert called.code == 0, called.err
    assert "not read" not in called.err
    run = harness.load_run("dev-hyp")
    asked = harness.evaluate(GOOD, [row["references"][0] for row in ROWS], "bleu", resamples=0)
    assert run.scores["bleu"].estimate == asked.scores["bleu"].estimate
    table = run.table
    assert table.column("id").to_pylist() == ["1", "2", "3", "4"]
    assert table.column("output").to_pylist() == GOOD
    assert "hyp" not in table.column_names and {"other", "topic"} <= set(table.column_names)


def test_two_columns_are_two_runs_on_the_same_data(cli: Callable[..., Called], csv: Path) -> None:
    words = ("run", "dataset=file", "dataset.path=dev.csv", *NAMED, "system=column")
    assert cli(*words, "system.field=[hyp,other]", *SCORED).code == 0
    good, bad = harness.load_run("dev-hyp"), harness.load_run("dev-other")
    assert good.dataset_key == bad.dataset_key
    assert not {"hyp", "other"} & {*good.table.column_names, *bad.table.column_names}
    assert cli("compare", "dev-hyp", "dev-other", "--resamples", "20").code == 0
    assert cli(*words, "system.field=hyp", "system.others=[other]", "name=alone", *SCORED).code == 0
    assert harness.load_run("alone").dataset_key == good.dataset_key
    assert cli(*words, "system.field=[hyp,other]", "name=mine", *SCORED).code == 0
    assert [harness.load_run(f"mine-{field}").name for field in ("hyp", "other")] == ["mine-hyp", "mine-other"]


def test_columns_that_were_evaluated_apart_are_different_data_and_it_is_said_why(
    cli: Callable[..., Called], csv: Path
) -> None:
    words = ("run", "dataset=file", "dataset.path=dev.csv", *NAMED, "system=column")
    for field in ("hyp", "other"):
        assert cli(*words, f"system.field={field}", *SCORED).code == 0
    called = cli("compare", "dev-hyp", "dev-other")
    assert called.code == 1
    assert (
        "(dev-hyp has other, dev-other has hyp; columns of outputs are evaluated together: 'system.field=[A,B]')"
        in called.err
    )
    called = cli("run", "dataset=file", "dataset.path=dev.csv", "system=column", "system.field=hyp", *SCORED)
    assert called.code == 1
    assert (
        "since bleu needs them; the data has src, ref, other, topic: dataset.columns.references=NAME says which"
        in called.err
    )


def test_the_data_are_those_of_a_file_without_the_column(cli: Callable[..., Called], tmp_path: Path) -> None:
    write_jsonl(tmp_path / "plain.jsonl", ROWS)
    write_jsonl(tmp_path / "both.jsonl", [{**row, "hyp": text} for row, text in zip(ROWS, GOOD, strict=True)])
    of_both = ("run", "dataset=file", "dataset.path=both.jsonl", "system=column", "system.field=hyp", *SCORED)
    assert cli("run", "dataset=file", "dataset.path=plain.jsonl", "system=copy", *SCORED).code == 0
    assert cli(*of_both).code == 0
    assert cli(*of_both, "limit=2", "name=few").code == 0
    assert harness.load_run("plain-copy").dataset_key == harness.load_run("both-hyp").dataset_key
    assert harness.load_run("few").table.column("output").to_pylist() == GOOD[:2]
    before = harness.load_run("both-hyp").manifest["system"]["key"]
    write_jsonl(tmp_path / "both.jsonl", [{**row, "hyp": text} for row, text in zip(ROWS, BAD, strict=True)])
    assert cli(*of_both).code == 0
    again = harness.load_run("both-hyp")
    assert again.manifest["system"]["key"] != before and again.table.column("output").to_pylist() == BAD


def test_a_null_is_a_failed_example_and_an_empty_cell_an_empty_output(
    cli: Callable[..., Called], tmp_path: Path
) -> None:
    texts = [None, "", *GOOD[2:]]
    write_jsonl(tmp_path / "dev.jsonl", [{**row, "hyp": text} for row, text in zip(ROWS, texts, strict=True)])
    assert cli("run", "dataset=file", "dataset.path=dev.jsonl", "system=column", "system.field=hyp", *SCORED).code == 0
    run = harness.load_run("dev-hyp")
    assert run.failed == 1
    assert run.table.column("error").to_pylist() == ["the output is null", None, None, None]
    assert run.table.column("output").to_pylist()[1] == ""


@pytest.mark.parametrize(
    ("words", "rows", "message"),
    [
        (["system.field=hpy"], [{"hyp": "a"}], "system.field=hpy: the data set dev has no such column (did you mean 'hyp'?); found, beside those that are its ids, sources and references: hyp"),
        (["system.field=references"], [{"hyp": "a"}], "no such column; found, beside"),
        (["system.field=[hyp,ohter]"], [{"hyp": "a", "other": "b"}], "system.field=ohter: the data set dev has no such column (did you mean 'other'?)"),
        (["system.field=hyp"], [{}], "has no columns beside its ids, sources and references; expected data with a column of outputs, such as dataset=file (outputs in a file of their own: system=predictions)"),
        (["system.field=hyp"], [{"hyp": "a"}, {}], "the example '2' of dev has no 'hyp'; expected an output, or null"),
        (["system.field=hyp"], [{"hyp": "a"}, {"hyp": 3}], "the example '2' of dev: 'hyp' is int '3'; expected a string"),
        (["system.field=[hyp,hyp]"], [{"hyp": "a"}], "expected the name of a column, or several that differ"),
        (["system.field=[]"], [{"hyp": "a"}], "system.field=[]; expected the name of a column"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said(
    cli: Callable[..., Called], tmp_path: Path, words: list[str], rows: list[dict[str, object]], message: str
) -> None:
    write_jsonl(tmp_path / "dev.jsonl", [{"source": "s", "references": "r", **row} for row in rows])
    called = cli("run", "dataset=file", "dataset.path=dev.jsonl", "system=column", *words, *SCORED)
    assert called.code == 1
    assert message in called.err


def test_data_without_columns(cli: Callable[..., Called], tmp_path: Path) -> None:
    (tmp_path / "ref.txt").write_text("a\nb\n")
    called = cli("run", "dataset=text", "dataset.references=[ref.txt]", "system=column", "system.field=hyp", *SCORED)
    assert called.code == 1
    assert "system.field=hyp: the data set ref has no columns beside its ids" in called.err


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_neither_data_nor_predictions_have_ids(cli: Callable[..., Called], tmp_path: Path, kind: str) -> None:
    data = [{"source": row["source"], "references": row["references"][0]} for row in ROWS]
    outputs = [{"output": text} for text in GOOD]
    for name, rows in (("dev", data), ("out", outputs)):
        if kind == "jsonl":
            write_jsonl(tmp_path / f"{name}.jsonl", rows)
        else:
            lines = [",".join(rows[0]), *(",".join(row.values()) for row in rows)]
            (tmp_path / f"{name}.csv").write_text("\n".join(lines) + "\n")
    words = ("run", "dataset=file", f"dataset.path=dev.{kind}", "system=predictions", f"system.path=out.{kind}")
    called = cli(*words, *SCORED, "--json")
    assert called.code == 0, called.err
    table = harness.load_run(json.loads(called.out)["runs"][0]["folder"]).table
    assert table.column("output").to_pylist() == GOOD
    assert table.column("id").to_pylist() == ["1", "2", "3", "4"]


def test_predictions_without_ids_of_fewer_rows_are_refused(cli: Callable[..., Called], tmp_path: Path) -> None:
    write_jsonl(tmp_path / "dev.jsonl", [{"source": row["source"], "references": "r"} for row in ROWS])
    write_jsonl(tmp_path / "out.jsonl", [{"output": text} for text in GOOD[:3]])
    called = cli(
        "run", "dataset=file", "dataset.path=dev.jsonl", "system=predictions", "system.path=out.jsonl", *SCORED
    )
    assert called.code == 1
    assert "out.jsonl lacks 1 of the data set's ids ('4')" in called.err
