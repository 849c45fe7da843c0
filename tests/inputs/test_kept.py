"""Blocks are kept in memory or in a file, and come back as they were."""

from __future__ import annotations

import datetime
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.inputs.kept import Kept
from harness.types import ABSENT, Example, Examples, Output, Outputs, TextLists, Texts
from tests.hostile import bounded


@pytest.fixture(params=[0, 1000, 2**28])
def kept_in_memory(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(Kept, "in_memory", request.param)
    size: int = request.param
    return size


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
PLAIN = st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | TEXT
VALUE = st.recursive(PLAIN, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXT, inner, max_size=2))
ODD = st.sampled_from([datetime.date(2020, 1, 1), (1, 2), b"x", 1 + 2j])
EXAMPLE = st.builds(
    Example, TEXT, TEXT | st.none(), st.lists(TEXT, max_size=2).map(tuple),
    st.dictionaries(TEXT, VALUE | ODD, max_size=3) | st.fixed_dictionaries({"n": st.floats() | st.none()}), st.integers(0, 2),
)  # fmt: skip


@given(st.lists(st.lists(EXAMPLE, min_size=1, max_size=4), max_size=4), st.data())
def test_examples_come_back(blocks: list[list[Example]], data: st.DataObject) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Kept, "in_memory", data.draw(st.sampled_from([0, 200, 2**28])))
        kept = Kept.of(*map(Examples.of, blocks))
        rows = [example for block in blocks for example in block]
        assert shown(kept) == shown(rows)
        assert [shown(block) for block in kept.blocks()] == list(map(shown, blocks))
        assert len(kept) == len(rows)
        for _ in range(3 if rows else 0):
            start, stop = data.draw(st.integers(-9, 9)), data.draw(st.integers(-9, 9))
            assert shown(kept[start:stop]) == shown(rows[start:stop])
            places = data.draw(st.lists(st.integers(0, len(rows) - 1), min_size=1, max_size=6))
            assert shown(kept.taken(np.array(places))) == shown(rows[i] for i in places)
            assert shown([kept[places[0]]]) == shown([rows[places[0]]])


def shown(examples: Iterable[Example]) -> list[str]:
    """NaN is like NaN, and fields have no order."""
    return [repr((e.id, e.source, e.references, sorted(e.metadata.items(), key=repr), e.repeat)) for e in examples]


def test_columns_come_back_as_they_were(kept_in_memory: int) -> None:
    metadata: dict[str, Any] = {
        "texts": Texts.of(["a", "é"]),
        "some": ["a", ABSENT],
        "none": [None, None],
        "large": [2**63, 1],
        "numbers": [float("nan"), None],
        "deep": [{"a": [1, None]}, True],
    }
    block = Examples(
        Texts.of(["1", "2"]), Texts.nulls(2), TextLists.of([["x"], []]), metadata, np.array([0, 1], np.int32)
    )
    kept = Kept.of(block, block[1:])
    assert (kept.written > 0) == (kept_in_memory < 2**28)
    back = kept.block(0)
    assert isinstance(back.metadata["texts"], Texts)
    assert repr({name: list(column) for name, column in back.metadata.items()}) == repr(
        {name: list(column) for name, column in metadata.items()}
    )
    assert back.repeats is not None
    assert back.repeats.tolist() == [0, 1]
    assert kept.block(1).ids[0] == "2"


def test_outputs_come_back(kept_in_memory: int) -> None:
    outputs = [Output("a"), Output(None, "late", {"seconds": 1.5}), Output("", None, {"deep": {"a": [1]}})]
    kept = Kept.of(Outputs.of(outputs), Outputs.of_texts(Texts.of(["x"] * 500)))
    assert list(kept) == outputs + [Output("x")] * 500
    assert kept[-1] == Output("x")
    assert list(kept[1:4]) == [*outputs[1:], Output("x")]
    with pytest.raises(IndexError, match="row 503 of 503"):
        kept[503]


def test_nothing_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Kept, "in_memory", 0)
    kept = Kept.of(Outputs.of([Output("a")]), folder=tmp_path)
    assert kept.written
    assert list(kept) == [Output("a")]
    kept.close()
    assert len(kept) == 0
    assert os.listdir(tmp_path) == []


GROWS = """
import resource
from harness.inputs.kept import Kept
from harness.types import Outputs, Texts
Kept.in_memory = 2**22
kept, block = Kept(), Outputs.of_texts(Texts.of(["x" * 1000] * 1000))
kept.append(block)
list(kept.blocks())
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for _ in range(300):
    kept.append(block)
rows = sum(map(len, kept.blocks())) + sum(map(len, kept.blocks()))
print(rows, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


def test_memory_stays_bounded() -> None:
    rows, megabytes = map(int, bounded.run(GROWS).split())
    assert rows == 2 * 301_000
    assert megabytes < 50  # of 300
