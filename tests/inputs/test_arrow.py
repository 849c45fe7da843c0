"""Columns are those that Arrow itself makes of the same values."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.inputs import arrow

TEXTS = st.lists(st.none() | st.text(st.characters(exclude_categories=["Cs"])))


@given(TEXTS)
def test_texts(strings: list[str | None]) -> None:
    column = arrow.texts(strings)
    column.validate(full=True)
    assert column.equals(pa.array(strings, pa.string()))


@pytest.mark.parametrize(
    "items",
    [
        [], [None], [1, 2], [1, None, -3], [2**62, None], [0.5, None, float("inf")], [True, None, False], ["a", None, ""],
        [1, 2.5], [["a"], None], [["a", None], []], [[1, None], [2]], [[0.5]], [[True]], [[1, 2.5], [3]], [[]], [[None]],
        [[["a"], []], None],
    ],
)  # fmt: skip
def test_values_have_the_type_that_arrow_gives_them(items: list[Any]) -> None:
    column = arrow.values(items)
    column.validate(full=True)
    assert column.equals(pa.array(items))


def test_numbers_and_back() -> None:
    array = np.array([1.5, np.nan, -0.0, np.inf])
    column = arrow.numbers(array)
    assert column.equals(pa.array(array, from_pandas=True))
    np.testing.assert_array_equal(arrow.floats(pa.chunked_array([column, column[1:]])), np.append(array, array[1:]))
    assert arrow.numbers(np.arange(3, dtype=np.int32)).equals(pa.array([0, 1, 2], pa.int32()))


def test_pandas_is_not_imported() -> None:
    """In a process of its own: the tests themselves have pandas."""
    code = "import sys; from harness.inputs import arrow; arrow.texts(['a']); arrow.values([1]); arrow.values([['a'], None, []]); print('pandas' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_a_whole_number_that_arrow_has_no_type_for() -> None:
    with pytest.raises(OverflowError):
        arrow.values([2**64, 1])


@pytest.mark.parametrize(
    ("values", "different"),
    [
        (["a", "b", "a"], 2),
        (["a", None, None], 2),
        ([1.5, float("nan"), float("nan")], 2),
        ([True, False, True], 2),
        ([["a"], ["a"], ["b"], None], 3),
        ([None, None], 1),
        ([], 0),
    ],
)
def test_different_values_are_counted(values: list[Any], different: int) -> None:
    column = pa.array(values)
    assert arrow.distinct(pa.chunked_array([column, column])) == different


@pytest.mark.parametrize("kind", [pa.int8(), pa.uint16(), pa.int32(), pa.int64()])
def test_whole_numbers_of_any_width(kind: pa.DataType) -> None:
    column = pa.array([3, 1, 2], kind)
    assert arrow.integers(pa.chunked_array([column, column[1:]])).tolist() == [3, 1, 2, 1, 2]


def test_texts_as_numbers() -> None:
    column = pa.array(["x", "b", "a", "b"])
    assert arrow.codes(column).tolist() == [0, 1, 2, 1]
    assert arrow.codes(column[1:]).tolist() == [0, 1, 0]
    assert arrow.codes(column[:0]).tolist() == []
