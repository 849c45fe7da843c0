"""Contexts as columns: every form that they come in, and all that is done to columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.inputs.hashing import hashed_contexts, hashed_examples
from harness.inputs.kept import packed, unpacked
from harness.types import (
    Batch,
    Context,
    ContextFault,
    Contexts,
    Example,
    Examples,
    HarnessError,
    Output,
    Outputs,
    Texts,
)

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=4)
ID = st.text("ab1", min_size=1, max_size=2)
SCORE = st.floats(allow_nan=False, allow_infinity=False)
CONTEXT = st.builds(Context, TEXT, ID | st.none(), SCORE | st.none()) | st.builds(Context, st.none(), ID)
LISTS = st.lists(st.none() | st.lists(CONTEXT, max_size=3).map(tuple), max_size=5)


class Document:
    """As LangChain and MLflow have it."""

    def __init__(self, page_content: str, **metadata: Any) -> None:
        self.page_content, self.metadata = page_content, metadata


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ("a", Context("a")),
        ({"text": "a"}, Context("a")),
        ({"id": 7, "text": "a", "score": 2}, Context("a", "7", 2.0)),
        ({"id": "d1"}, Context(None, "d1")),
        ({"text": "a", "score": None}, Context("a")),
        ({"text": "a", "score": float("nan")}, Context("a")),
        ({"page_content": "a", "metadata": {"doc_uri": "x.md", "chunk": 3}}, Context("a", "x.md")),
        ({"page_content": "a", "metadata": None, "id": "d2"}, Context("a", "d2")),
        (Document("a", doc_uri="x.md"), Context("a", "x.md")),
    ],
)
def test_forms(form: Any, expected: Context) -> None:
    assert Contexts.of([[form]])[0] == (expected,)
    assert Contexts.of([[expected.plain()]])[0] == (expected,)


def test_scores_by_id() -> None:
    expected = (Context(None, "d1", 2.0), Context(None, "7", None)), None, ()
    assert tuple(Contexts.of([{"d1": 2, 7: None}, None, {}])) == expected
    assert tuple(Contexts.of([{"d1": 2.0}, ["a"]])) == ((Context(None, "d1", 2.0),), (Context("a"),))
    assert Contexts.of(['{"d1": 2}'])[0] == (Context(None, "d1", 2.0),)


@pytest.mark.parametrize(
    ("contexts", "words"),
    [
        ("a text", "'contexts' is str 'a text'; expected a list of contexts"),
        (3, "'contexts' is int '3'; expected a list of contexts"),
        ({"id": "d1"}, "'contexts' is dict"),
        ({"id": 3, "score": 0.5}, "'contexts' is dict"),
        ({"d1": "high"}, "'contexts' has the score str 'high'; expected a finite number"),
        ({"": 1.0}, "'contexts' has the id str ''; expected a text"),
        (["a", 3], "'contexts', number 2, is int '3'; expected a text"),
        (["a", None], "'contexts', number 2, is null; expected a text"),
        ([{}], "'contexts', number 1, has neither a text nor an id"),
        ([{"text": None, "score": 1.0}], "'contexts', number 1, has neither a text nor an id"),
        ([{"text": 3}], "'contexts', number 1, has the text int '3'; expected a string"),
        ([{"id": "", "text": "a"}], "'contexts', number 1, has the id str ''; expected a text"),
        ([{"id": True}], "'contexts', number 1, has the id bool 'True'; expected a text"),
        ([{"text": "a", "score": "high"}], "'contexts', number 1, has the score str 'high'; expected a finite number"),
        ([{"text": "a", "score": float("inf")}], "'contexts', number 1, has the score float 'inf'; expected"),
        (["a\0b"], "'contexts', number 1, holds a NUL character at position 2; expected Unicode text"),
        (["\ud83d"], "'contexts', number 1, holds a lone surrogate"),
    ],
)
def test_what_is_no_context(contexts: Any, words: str) -> None:
    with pytest.raises(ContextFault) as caught:
        Contexts.of([contexts])
    assert caught.value.of("contexts").startswith(words)


@pytest.mark.parametrize(
    ("relevant", "words"),
    [
        (True, "'relevant' is bool 'True'; expected a list of ids, or grades by id"),
        ([""], "'relevant', number 1, has the id str ''"),
        ({"d1": "high"}, "'relevant' has the grade str 'high' for 'd1'; expected a finite number"),
        ([["d1"]], "'relevant', number 1, has the id list"),
    ],
)
def test_what_is_no_judgement(relevant: Any, words: str) -> None:
    with pytest.raises(ContextFault) as caught:
        Contexts.of_grades([relevant])
    assert caught.value.of("relevant").startswith(words)


def test_grades() -> None:
    column = Contexts.of_grades([["d1", 2], {"d1": 2, "d2": -1, "d3": None}, None, [], '["d1"]'])
    assert [column.grades(i) for i in range(5)] == [{"d1": 1, "2": 1}, {"d1": 2, "d2": -1}, None, {}, {"d1": 1}]


@given(LISTS, LISTS, st.data())
def test_columns(lists: list[Any], others: list[Any], data: st.DataObject) -> None:
    column = Contexts.of(lists)
    assert list(column) == lists
    assert [column[i] for i in range(len(lists))] == lists
    assert column.lengths.tolist() == [len(part or ()) for part in lists]
    both = Contexts.joined([column, Contexts.of(others)])
    assert list(both) == lists + others
    first, last = (data.draw(st.integers(0, len(both))) for _ in range(2))
    assert list(both[first:last]) == (lists + others)[first:last]
    assert list(both[::2]) == (lists + others)[::2]
    places = data.draw(st.lists(st.integers(0, len(both) - 1), max_size=6)) if len(both) else []
    assert list(both.taken(np.array(places, np.int64))) == [(lists + others)[i] for i in places]
    n = min(len(lists), len(others))
    mixed = [own if own is not None else other for own, other in zip(lists[:n], others[:n], strict=True)]
    assert list(column[:n].otherwise(Contexts.of(others[:n]))) == mixed


@given(LISTS)
def test_arrow_and_back(lists: list[Any]) -> None:
    column = Contexts.of(lists)
    array = Contexts.joined([Contexts.of([["before"]]), column]).array()
    for part in (column.array(), array.slice(1)):
        assert list(Contexts.of_array(part)) == lists
    if column.of_texts_alone:
        assert list(Contexts.of_array(column.array("text"))) == lists


def test_blocks_hold_contexts() -> None:
    """Examples and outputs with contexts are taken apart, joined, packed and hashed like all others."""
    examples = Examples.of(
        [
            Example("1", "q", (), contexts=["a"], reference_contexts=["gold"], relevant={"d1": 2}),
            Example("2", "q", ()),
        ]
    )
    outputs = Outputs.of([Output("x"), Output("y", contexts=[{"id": "d1", "text": "b"}])])
    for block in (examples, unpacked(bytes(packed(examples) or b"")), Examples.joined([examples[:1], examples[1:]])):
        first, second = block
        assert first.fields() == {"id": "1", "source": "q", "contexts": ["a"]}
        assert (first.reference_contexts, first.relevant) == ((Context("gold"),), {"d1": 2.0})
        assert (second.contexts, second.reference_contexts, second.relevant) == (None, None, None)
        assert block[0] == first
        assert block.taken(np.array([1, 0]))[1] == first
        assert hashed_examples(block).tolist() == hashed_examples(examples).tolist()
    for answers in (outputs, unpacked(bytes(packed(outputs) or b"")), Outputs.joined([outputs[:1], outputs[1:]])):
        assert [output.contexts for output in answers] == [None, (Context("b", "d1"),)]
        assert answers[1] == list(answers)[1]
    batch = Batch.of(Texts.of(["x", "y"]), examples, ("contexts", "relevant"), outputs.contexts)
    assert list(batch.contexts) == [(Context("a"),), (Context("b", "d1"),)]  # the output's own, else the data's
    assert batch[:1].relevant.grades(0) == {"d1": 2.0}
    with pytest.raises(HarnessError, match="a metric asks for 'reference_contexts'; expected it to be named"):
        _ = batch.reference_contexts
    assert list(Batch.of(Texts.of(["x"]), Examples.of([Example("1", None, ())]), ("contexts",)).contexts) == [None]


def test_keys() -> None:
    """What a context is decides its hash; where there is no list there is nothing to hash."""
    plain = Contexts.of([["a", "b"], ["ab"], ["a"], [], None, [{"id": "a"}], [{"text": "a", "score": 1}], ["b", "a"]])
    hashes = hashed_contexts(plain, "contexts")
    assert hashes is not None
    assert len({tuple(row) for row in hashes.tolist()}) == len(plain)
    assert hashes[4].tolist() == [0, 0]
    without, empty = Example("1", "q", ()), Example("1", "q", (), contexts=())
    assert hashed_examples(Examples.of([without])).tolist() != hashed_examples(Examples.of([empty])).tolist()
    beside = Examples.of([without, Example("2", "q", (), contexts=["a"])])
    assert hashed_examples(beside)[:1].tolist() == hashed_examples(Examples.of([without])).tolist()
