"""A column of numbers as a metric: beside outputs, in the data, and what is no number."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import harness
from harness.metrics.column import Column
from harness.types import Batch, HarnessError
from tests.conftest import BAD, GOOD, ROWS, Called, write_jsonl

Cli = Callable[..., Called]
GIVEN = {"good": [4, 5, 3, 4.5], "bad": [1, 5, None, 2]}


def rated(name: str, outputs: list[str]) -> list[dict[str, Any]]:
    return [
        {"id": row["id"], "output": output, "adequacy": value}
        for row, output, value in zip(ROWS, outputs, GIVEN[name], strict=True)
    ]


@pytest.fixture
def ratings(files: Path) -> Path:
    for name, outputs in (("good", GOOD), ("bad", BAD)):
        write_jsonl(files / f"{name}.jsonl", rated(name, outputs)[::-1])  # in another order than the data
    return files


COLUMN = ("metrics=column", "metrics.column.field=adequacy")


def called(cli: Cli, name: str, *metrics: str) -> Called:
    done = cli(
        "run", "dataset=file", "dataset.path=dev.jsonl", "system=predictions", f"system.path={name}", "tracking=none",
        "stats.resamples=300", f"output_dir={Path(name).stem}", *metrics,
    )  # fmt: skip
    assert done.code == 0, done.err
    return done


def run(cli: Cli, name: str) -> harness.RunResult:
    called(cli, name, *COLUMN)
    return harness.load_run(Path(name).stem)


def test_what_people_gave_each_output(ratings: Path, cli: Cli) -> None:
    good, bad = run(cli, "good.jsonl"), run(cli, "bad.jsonl")
    assert good.scores["adequacy"].estimate == 4.125
    assert good.examples["adequacy"].tolist() == [4, 5, 3, 4.5]
    assert bad.scores["adequacy"].estimate == pytest.approx(8 / 3)
    assert bad.scores["adequacy"].units == "3 examples"
    assert good.scores["adequacy"].low is not None
    assert good.dataset_key == bad.dataset_key  # what people say of outputs is no part of the data
    (row,) = harness.compare([good, bad], baseline=good)
    assert (row.score, row.n, row.excluded) == ("adequacy", 3, 1)
    assert row.difference == pytest.approx(8 / 3 - 13.5 / 3)
    assert "adequacy" in harness.table([good, bad])


def test_beside_other_metrics_and_scored_again(ratings: Path, cli: Cli) -> None:
    called(cli, "good.jsonl", "metrics=[bleu]")
    done = cli("score", "good", *COLUMN, "output_dir=again")
    assert done.code == 0, done.err
    assert harness.load_run("again").scores["adequacy"].estimate == 4.125


def test_several_outputs_of_an_example(ratings: Path, cli: Cli) -> None:
    rows = [
        {"id": row["id"], "output": "x", "repeat": r, "adequacy": 10 * i + r}
        for i, row in enumerate(ROWS)
        for r in (1, 0)
    ]
    write_jsonl(ratings / "several.jsonl", rows)
    assert run(cli, "several.jsonl").examples["adequacy"].tolist() == [0, 1, 10, 11, 20, 21, 30, 31]


def test_of_a_csv_file(ratings: Path, cli: Cli) -> None:
    lines = [
        "id,output,adequacy,note",
        *(f"{row['id']},x,{value},fine" for row, value in zip(ROWS, ["4", "", "2.5", "1e0"], strict=True)),
    ]
    (ratings / "rated.csv").write_text("\n".join(lines) + "\n")
    column = run(cli, "rated.csv").examples["adequacy"].tolist()
    assert column[0] == 4
    assert np.isnan(column[1])
    assert column[2:] == [2.5, 1]


def test_of_the_data(files: Path, cli: Cli) -> None:
    write_jsonl(files / "dev.jsonl", [{**row, "adequacy": i % 2 == 0} for i, row in enumerate(ROWS)])
    assert run(cli, "good.jsonl").scores["adequacy"].estimate == 0.5


def test_the_same_file_as_data_and_as_outputs(files: Path, cli: Cli) -> None:
    """Its field stays what it is in the data."""
    rows = [{**row, "output": "x", "adequacy": i} for i, row in enumerate(ROWS)]
    write_jsonl(files / "dev.jsonl", rows)
    stored = run(cli, "dev.jsonl").examples["metadata.adequacy"]
    assert stored.tolist() == [0, 1, 2, 3]
    assert stored.dtype == np.int64


def test_a_column_of_words_is_named(ratings: Path, cli: Cli) -> None:
    write_jsonl(ratings / "good.jsonl", [{**row, "judge": "ann"} for row in rated("good", GOOD)])
    assert "has columns that are not read: judge" in called(cli, "good.jsonl", *COLUMN).err


def refused(cli: Cli, *overrides: str) -> str:
    done = cli(
        "run", "dataset=file", "dataset.path=dev.jsonl", "system=predictions", "system.path=good.jsonl",
        "metrics=column", "tracking=none", *overrides,
    )  # fmt: skip
    assert done.code == 1
    return done.err


def test_no_such_column(ratings: Path, cli: Cli) -> None:
    assert "adequcy reads the field 'adequcy', which neither the examples nor the outputs have (did you mean 'adequacy'?); found: adequacy, topic" in refused(cli, "metrics.column.field=adequcy")  # fmt: skip


def test_a_field_that_must_be_named(ratings: Path, cli: Cli) -> None:
    assert "metrics.column.field is not set" in refused(cli)


@pytest.mark.parametrize(
    ("values", "options", "message"),
    [
        (["high"], {}, "metrics.column.field=f holds str 'high'; expected numbers, or null where there is none"),
        ([[1]], {}, "metrics.column.field=f holds list '.1.'; expected numbers"),
        ([float("inf")], {}, "metrics.column.field=f holds float 'inf'; expected numbers"),
        ([6], {"bounds": [1, 5]}, "metrics.column.field=f holds 6; expected 1 to 5, as metrics.column.bounds says"),
    ],
)
def test_what_is_no_number(values: list[Any], options: dict[str, Any], message: str) -> None:
    with pytest.raises(HarnessError, match=message):
        Column("f", **options).statistics(Batch(["x"], [], fields={"f": values}))


def test_options() -> None:
    with pytest.raises(HarnessError, match="metrics.column.field=a.b has a dot.*expected a name for the score"):
        Column("a.b")
    assert Column("a.b", name="human").score_names == ("human",)
    with pytest.raises(HarnessError, match="metrics.column.bounds=.5, 1.; expected .LEAST, MOST."):
        Column("f", bounds=[5, 1])
    assert Column("errors", higher_is_better=False).higher_is_better is False
    assert json.dumps(Column("f").definition()) == '{"field": "f"}'
