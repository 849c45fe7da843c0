"""Shares of odd outputs, on texts as models really write them."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.run.health import Health, looping
from harness.run.health_kernels import SHORTEST
from harness.types import Example, Examples, Output, Outputs
from tests.conftest import GOOD, ROWS, Called, write_jsonl

Cli = Callable[..., Called]
STORY = "Once upon a time there was a small boat. It sailed far out to sea, and nobody saw it again. "

LOOPS = [
    "The answer is the the the the the the the the the the the the",
    "The town was quiet. " + "I don't know what to do. " * 4,
    "The town was quiet. " + "I don't know what to do. " * 3 + "I don't know wh",  # cut at the token limit
    "0" * 64,
    "\n".join(["- apples and pears"] * 6),
    "他说他不知道。" * 8,
    "🙂" * 40,
    STORY * 3,
    "</s>" * 20,
    "a: 1, b: 2, " * 12 + "   \n",
]
FINE = [
    "",
    "ha ha ha ha",
    "No, no, no, no, no!",
    "Row, row, row your boat, gently down the stream. Merrily, merrily, merrily, merrily, life is but a dream.",
    STORY,
    STORY * 2,  # twice may be meant
    STORY * 3 + "The end, said the captain, and it was the end of it.",  # it got out of it
    "x" * 31,
    "A rose is a rose is a rose, and by any other name it would smell as sweet to those who know.",
    "| name | size |\n| ---- | ---- |\n| boat | tiny |\n| ship | huge |\n| raft | none |",
    STORY * 2 + "go " * 20,  # a loop, but less than half of the text
]


def health(rows: list[Example], outputs: list[Output], finish: list[str | None]) -> dict[str, Any]:
    """Counted in two blocks."""
    with_ends = [replace(output, info={"finish": end}) for output, end in zip(outputs, finish, strict=True)]
    counted = Health()
    for part in (slice(0, 1), slice(1, None)):
        if rows[part]:
            counted.add(Examples.of(rows[part]), Outputs.of(with_ends[part]))
    return counted.document()


@pytest.mark.parametrize("text", LOOPS)
def test_loops(text: str) -> None:
    assert looping(text)


@pytest.mark.parametrize("text", FINE)
def test_no_loops(text: str) -> None:
    assert not looping(text)


@given(st.text("ab ", max_size=8), st.text("ab c", min_size=1, max_size=12), st.integers(0, 12), st.integers(0, 12))
def test_loops_as_defined(start: str, unit: str, times: int, rest: int) -> None:
    """Against the definition taken literally: some period, two and a half of it, more than half of the text, 32 characters."""
    text = (start + unit * times + unit[:rest]).strip()
    n = len(text)

    def periodic(length: int, period: int) -> bool:
        end = text[n - length :]
        return all(end[i] == end[i + period] for i in range(length - period))

    least = max(SHORTEST, n // 2 + 1)
    lengths = {p: max(least, math.ceil(2.5 * p)) for p in range(1, n)}
    expected = any(periodic(length, p) for p, length in lengths.items() if length <= n)
    assert looping(text) == expected


def test_shares() -> None:
    rows = [Example(f"{i}", source, references) for i, (source, references) in enumerate([
        ("one", ("12345", "123")), ("two", ("1234",)), (None, ("1234",)), ("four", ("1234",)), ("five", ()), ("six", ("1",)),
    ])]  # fmt: skip
    outputs = [
        Output("one "),
        Output(" "),
        Output("12345678"),
        Output("la " * 20),
        Output("five"),
        Output(None, "failed"),
    ]
    shares = health(rows, outputs, ["stop", "length", None, "length", "stop", "length"])
    assert shares["empty"] == 1 / 5
    assert shares["cut"] == 2 / 4  # of those that say how they ended and did not fail
    assert shares["loop"] == 1 / 5
    assert shares["copied"] == 2 / 4  # of those that have a source
    assert shares["length_ratio"] == (4 + 1 + 8 + 60) / (4 + 4 + 4 + 4)
    assert shares["warnings"] == [
        "20.0% of the outputs are empty: see raw_output in examples.parquet, the prompt and postprocessing",
        "50.0% of the outputs were cut at the token limit: scores are of unfinished texts, raise the limit",
        "20.0% of the outputs end in a repetition loop",
        "50.0% of the outputs are a copy of their source",
        "the outputs are 4.56 times as long as the references",
    ]


def test_what_cannot_be_known_is_none() -> None:
    nothing = {"empty": None, "cut": None, "loop": None, "copied": None, "length_ratio": None, "warnings": []}
    assert health([Example("1", None, ())], [Output(None, "failed")], ["stop"]) == nothing
    shares = health([Example("1", None, ("",))], [Output("x")], [None])
    assert shares == {**nothing, "empty": 0.0, "loop": 0.0}


def test_in_the_table_and_the_folder(files: Path, cli: Cli) -> None:
    rows = [{"id": row["id"], "output": text} for row, text in zip(ROWS, [*GOOD[:3], " "], strict=True)]
    write_jsonl(files / "some.jsonl", rows)
    called = cli(
        "run",
        "dataset=file",
        "dataset.path=dev.jsonl",
        "system=predictions",
        "system.path=some.jsonl",
        "metrics=bleu",
        "tracking=none",
    )
    assert called.code == 0, called.err
    assert (
        "outputs     25.0% empty, 0.0% in a loop, 0.0% identical to the source, 0.71 times the references' length"
        in called.out
    )
    assert "warning     25.0% of the outputs are empty: see raw_output" in called.out
    (folder,) = Path("runs/harness").iterdir()
    stored = json.loads((folder / "scores.json").read_text())["health"]
    assert stored["empty"] == 0.25
    assert json.loads((folder / "manifest.json").read_text())["health"] == stored


@given(st.text("ab \u00a0\u3000\x1f\u200b🙂é", max_size=12), st.text("ab \u00a0\u3000\x1f\u200b🙂é", max_size=12))
def test_white_space_at_the_ends_is_that_of_python(text: str, source: str) -> None:
    shares = health([Example("1", source, ("ab",))], [Output(text)], [None])
    assert shares["empty"] == float(not text.strip())
    assert shares["copied"] == (None if not source else float(text.strip() == source.strip()))
    assert shares["length_ratio"] == len(text) / 2


@pytest.mark.parametrize(
    ("texts", "warned"),
    [
        (["a b", "a b", "a b"], True),
        (["a b", "a c"], False),
        (["a", "a a"], False),
        (["a b"], False),
        (["", ""], False),
    ],
)
def test_outputs_that_are_all_the_same(texts: list[str], warned: bool) -> None:
    health = Health()
    for i, text in enumerate(texts):  # a block each
        health.add(Examples.of([Example(str(i), "s", ())]), Outputs.of([Output(text)]))
    assert any("outputs are the same text" in said for said in health.document()["warnings"]) == warned


def test_lists_of_references_that_a_csv_holds_as_text_are_named() -> None:
    as_json = [Example(str(i), "s", (f'["it rains {i}", "rain {i}"]',)) for i in range(3)]
    as_python = [Example(str(i), "s", (f"['it rains {i}', \"it's {i}\"]".replace('"]', "']"),)) for i in range(3)]
    for rows in (as_json, as_python):
        warnings = health(rows, [Output(f"it rains {i}") for i in range(3)], [None] * 3)["warnings"]
        assert any(warning.startswith("3 of 3 references are lists written as text") for warning in warnings)


def test_a_task_whose_outputs_are_lists_has_references_that_are_lists() -> None:
    rows = [Example(str(i), "s", (f'["a{i}", "b"]',)) for i in range(3)]
    assert health(rows, [Output('["a1", "b"]'), Output('["c"]'), Output("[]")], [None] * 3)["warnings"] == []


def test_one_reference_that_is_a_list_is_no_fault_of_the_file() -> None:
    rows = [Example("1", "s", ('["a"]',)), Example("2", "s", ("it rains",)), Example("3", "s", ("dogs", "bark"))]
    assert health(rows, [Output("it is"), Output("it rains"), Output("dogs")], [None] * 3)["warnings"] == []
