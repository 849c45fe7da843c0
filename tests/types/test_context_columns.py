"""Contexts as columns at once are those that one by one gives, and what is odd goes there."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.types import Contexts
from harness.types.context_columns import plain_contexts, plain_grades
from harness.types.context_forms import graded, listed

TEXTS = st.one_of(st.none(), st.sampled_from(["", "a", "é", "it rains"]))
IDS = st.one_of(st.none(), st.sampled_from(["d1", "d2", "漢"]))
SCORES = st.one_of(st.none(), st.integers(-3, 3), st.floats(allow_infinity=False))
CONTEXTS = st.fixed_dictionaries({}, optional={"id": IDS, "text": TEXTS, "score": SCORES}).filter(
    lambda context: context.get("id") is not None or context.get("text") is not None
)
BY_ID = st.dictionaries(st.sampled_from(["a", "é", "d7"]), st.sampled_from([1, 0.5, -2.0, math.nan]))
LISTS = st.lists(st.none() | st.lists(CONTEXTS, max_size=4), max_size=5) | st.lists(st.none() | BY_ID, max_size=5)


def content(contexts: Contexts) -> list[Any]:
    return [None if some is None else [(c.id, c.text, c.score) for c in some] for some in contexts]


@given(LISTS)
def test_at_once_and_one_by_one_are_the_same(lists: list[Any]) -> None:
    slow = Contexts._of([None if value is None else listed(value) for value in lists])
    assert content(Contexts.of(lists)) == content(slow)


GRADES = st.one_of(
    st.none(), st.lists(st.sampled_from(["a", "b"]), max_size=3), st.dictionaries(st.sampled_from("abc"), st.integers(-2, 3))
)  # fmt: skip


@given(st.lists(GRADES, max_size=5))
def test_so_are_grades(values: list[Any]) -> None:
    slow = Contexts._of([None if value is None else graded(value) for value in values])
    assert content(Contexts.of_grades(values)) == content(slow)


@pytest.mark.parametrize(
    "context",
    [
        {"page_content": "a"}, {"id": 7}, {"id": ""}, {"text": None}, {"id": "a", "score": "1"}, {"id": "a", "score": True},
        {"id": "a", "score": math.inf}, {"id": "a", "rank": 1}, {"id": "a", "text": 1}, ["a"], None, 3, {"id": "a\0b"}, {"id": "\ud800"},
    ],
)  # fmt: skip
def test_odd_contexts_are_looked_at_one_by_one(context: Any) -> None:
    assert plain_contexts([{"id": "b"}, context]) is None


@pytest.mark.parametrize(
    "value", [{"a": True}, {"a\0b": 1, "c": 2}, {"a": math.nan}, {"a": None}, {1: 1}, [""], ["a\0"], [1], "a", 3, True]
)
def test_odd_grades_are_looked_at_one_by_one(value: Any) -> None:
    assert plain_grades([value]) is None
