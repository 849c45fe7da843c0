"""Columns of text against plain lists: whatever is done to both gives the same."""

from __future__ import annotations

import itertools
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.types import ABSENT, Batch, Example, Examples, HarnessError, Output, Outputs, TextLists, Texts
from harness.types.text_columns import blocks_of, in_blocks

TEXT = st.text(st.characters(codec="utf-8"), max_size=6)
TEXTS = st.lists(st.none() | TEXT, max_size=12)
LISTS = st.lists(st.lists(TEXT, max_size=3), max_size=12)


@given(TEXTS, st.integers(-13, 13), st.integers(-13, 13), st.sampled_from([1, 2, -1]))
def test_texts(strings: list[str | None], start: int, stop: int, step: int) -> None:
    column = Texts.of(strings)
    part = slice(start, stop, step)
    assert (list(column), list(column[part]), len(column[part])) == (strings, strings[part], len(strings[part]))
    assert [column[i] for i in range(len(strings))] == strings
    places = np.arange(len(strings))[::-2]
    assert list(column[1:].taken(places[places < len(strings) - 1])) == [
        strings[1:][i] for i in places if i < len(strings) - 1
    ]
    assert list(Texts.joined([column, column[1:], column[:0]])) == [*strings, *strings[1:]]
    assert list(column[1:].compact()) == strings[1:]
    assert list(column.filled()) == [text or "" for text in strings]
    assert column[1:].present.tolist() == [text is not None for text in strings[1:]]
    data, starts = column[1:].utf8
    assert [data[a:b].tobytes().decode() for a, b in itertools.pairwise(starts)] == [t or "" for t in strings[1:]]


@given(LISTS, st.integers(-13, 13), st.integers(-13, 13))
def test_text_lists(lists: list[list[str]], start: int, stop: int) -> None:
    column, expected = TextLists.of(lists), [tuple(texts) for texts in lists]
    part = slice(start, stop)
    assert (list(column), list(column[part])) == (expected, expected[part])
    assert [column[i] for i in range(len(lists))] == expected
    assert column[part].array.to_pylist() == [list(texts) for texts in expected[part]]
    assert list(TextLists.joined([column[part], column])) == [*expected[part], *expected]
    places = np.arange(len(expected[part]))[::-1]
    assert list(column[part].taken(places)) == expected[part][::-1]
    assert list(column[part].flat) == [text for texts in expected[part] for text in texts]


VALUE = st.one_of(TEXT, st.integers(), st.none(), st.booleans(), st.lists(st.integers(), max_size=2))
EXAMPLES = st.lists(
    st.builds(
        Example, TEXT, st.none() | TEXT, st.lists(TEXT, max_size=2).map(tuple),
        st.dictionaries(st.sampled_from("xyz"), VALUE), st.integers(0, 3),
    ),
    max_size=10,
)  # fmt: skip


@given(EXAMPLES, st.integers(1, 5), st.integers(1, 5))
def test_examples(examples: list[Example], size: int, other: int) -> None:
    columns = Examples.of(examples)
    assert list(columns) == examples
    assert [columns[i] for i in range(len(examples))] == examples
    parts = [columns[i : i + size] for i in range(0, len(examples), size)]
    again = list(in_blocks(parts, other))
    assert [example for block in again for example in block] == examples
    assert [len(block) for block in again[:-1]] == [other] * (len(again) - 1)
    assert list(columns.taken(np.arange(len(examples))[::-1])) == examples[::-1]
    assert [example for block in blocks_of(iter(examples)) for example in block] == examples
    repeated = list(columns.repeated(2))
    assert [(row.id, row.repeat) for row in repeated] == [(e.id, r) for e in examples for r in (0, 1)]


def test_a_field_that_some_examples_lack() -> None:
    columns = Examples.of([Example("a", None, (), {"x": None}), Example("b", None, (), {})])
    assert (columns[0].metadata, columns[1].metadata) == ({"x": None}, {})
    assert list(columns.metadata["x"]) == [None, ABSENT]
    batch = Batch.of(Texts.of(["o", "p"]), columns, ("outputs", "x", "y"))
    assert (batch.field("x"), batch.field("y")) == ([None, None], [None, None])
    with pytest.raises(HarnessError, match="a metric asks for the field 'z'; expected it to be named in its `reads`"):
        batch.field("z")


OUTPUTS = st.lists(
    st.one_of(
        st.builds(Output, TEXT, st.none(), st.dictionaries(st.just("finish"), st.sampled_from(["stop", "length"]))),
        st.builds(Output, st.none(), TEXT),
    ),
    max_size=10,
)


@given(OUTPUTS)
def test_outputs(outputs: list[Output]) -> None:
    columns = Outputs.of(outputs)
    assert list(columns) == outputs
    assert [columns[i] for i in range(len(outputs))] == outputs
    assert columns.good.tolist() == [i for i, output in enumerate(outputs) if output.text is not None]
    assert columns.failed == sum(output.text is None for output in outputs)
    assert columns.finish == [output.info.get("finish") for output in outputs]
    assert list(Outputs.joined([columns[:2], columns[2:]])) == outputs
    assert list(columns.taken(columns.good)) == [output for output in outputs if output.text is not None]


def test_half_a_surrogate_is_no_text_of_a_column() -> None:
    with pytest.raises(UnicodeEncodeError):
        Texts.of(["\ud83d"])


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ((["a"], [["r"], ["r"]]), "2 references for 1 outputs"),
        ((["a"], [["r"]], ["s", "t"]), "2 sources for 1 outputs"),
    ],
)
def test_a_batch_of_columns_of_different_lengths_is_refused(columns: Any, expected: str) -> None:
    with pytest.raises(ValueError, match=expected):
        Batch(*columns)


def test_columns_do_without_pandas() -> None:
    """It takes longer to import than ten thousand pairs to score."""
    import subprocess

    code = (
        "import sys, numpy as np\nfrom harness.types import *\n"
        "e = Examples.of([Example('a', 's', ('r',), {'x': 1, 'y': 'z'})] * 3)\n"
        "list(Examples.joined([e, e.taken(np.array([1, 0]))]).repeated(2)); e.references.array.to_pylist()\n"
        "list(Outputs.of([Output('a'), Output(None, 'b')]).taken(np.array([1])))\n"
        "assert 'pandas' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
