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


@given(st.lists(st.lists(st.text(st.characters(exclude_categories=["Cs"])))))
def test_lists_of_texts(lists: list[list[str]]) -> None:
    column = arrow.text_lists(lists)
    column.validate(full=True)
    assert column.equals(pa.array(lists, pa.list_(pa.string())))


@pytest.mark.parametrize(
    "items",
    [
        [], [None], [1, 2], [1, None, -3], [2**62, None], [0.5, None, float("inf")], [True, None, False], ["a", None, ""],
        [1, 2.5], [["a"], None],
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
    code = "import sys; from harness.inputs import arrow; arrow.texts(['a']); arrow.values([1]); print('pandas' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_a_whole_number_that_arrow_has_no_type_for() -> None:
    with pytest.raises(OverflowError):
        arrow.values([2**64, 1])
