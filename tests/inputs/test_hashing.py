"""Keys of columns: the published SipHash, and the same content has the same key however it is stored and cut."""

from __future__ import annotations

import csv
import json
import math
import random
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from harness.datasets.file import FileDataset
from harness.inputs import hash_kernels
from harness.inputs.hashing import (
    Content,
    hashed,
    hashed_examples,
    hashed_lists,
    hashed_rows,
    hashed_values,
)
from harness.types import ABSENT, Example, Examples, TextLists, Texts
from tests.conftest import ROWS, write_jsonl

VECTORS = {
    0: "a3817f04ba25a8e66df67214c7550293",
    1: "da87c1d86b99af44347659119b22fc45",
    2: "8177228da4a45dc7fca38bdef60affe4",
    15: "5493e99933b0a8117e08ec0f97cfc3d9",
    63: "5150d1772f50834a503e069a973fbd7c",
}
"""Of the reference implementation: the key 00 01 … 0f, the text 00 01 … of so many bytes."""


@pytest.mark.parametrize("size", VECTORS)
def test_siphash_as_published(size: int) -> None:
    low, high = np.frombuffer(bytes(range(16)), np.uint64)
    hashes = np.zeros((2, 2), np.uint64)
    data, starts = np.concatenate([np.arange(64), np.arange(64)]).astype(np.uint8), np.array([0, 64, 64 + size])
    hash_kernels.siphash(data, starts, low, high, hashes)
    assert hashes[1].tobytes().hex() == VECTORS[size]


@given(st.lists(st.binary(max_size=40), max_size=9), st.integers(0, 9))
def test_a_text_has_its_hash_wherever_it_stands(texts: list[bytes], before: int) -> None:
    def hashes(texts: list[bytes], before: int) -> np.ndarray:
        data = np.frombuffer(b"x" * before + b"".join(texts), np.uint8)
        hashes = np.zeros((len(texts), 2), np.uint64)
        starts = before + np.cumsum([0, *map(len, texts)])
        hash_kernels.siphash(data, starts, np.uint64(1), np.uint64(2**63), hashes)
        return hashes

    assert hashes(texts, before).tolist() == [hashes([text], 0)[0].tolist() for text in texts]


def key(examples: Examples, *cuts: int) -> tuple[str, str]:
    """(in any order, in this order), added in parts."""
    content, ends = Content(), [0, *sorted(cuts), len(examples)]
    for start, end in pairwise(ends):
        content.add(hashed_examples(examples[start:end]))
    return content.key, content.ordered


VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.lists(st.integers()), st.just(ABSENT)
)


@given(st.lists(st.tuples(VALUES, VALUES), min_size=1, max_size=8), st.integers(0, 8), st.randoms())
@example([(None, None), (None, math.inf)], 1, random.Random(1))  # alone in a block, and not
@example([(None, None), (None, math.nan), (1.5, -math.inf)], 1, random.Random(1))
def test_blocks_and_order_do_not_matter(values: list[tuple[Any, Any]], cut: int, chance: Any) -> None:
    names = ("x", "y")
    examples = [
        Example(str(i), None, ("r",), {n: v for n, v in zip(names, pair, strict=True) if v is not ABSENT})
        for i, pair in enumerate(values)
    ]
    whole = key(Examples.of(examples))
    assert key(Examples.of(examples), min(cut, len(examples))) == whole
    shuffled = list(examples)
    chance.shuffle(shuffled)
    assert key(Examples.of(shuffled))[0] == whole[0]
    assert (key(Examples.of(shuffled))[1] == whole[1]) == (shuffled == examples)


DIFFERENT = [
    Example("1", "a", ("b",), {}),
    Example("1", "b", ("a",), {}),
    Example("1", None, ("b",), {"source": "a"}),
    Example("1", "a", ("b", ""), {}),
    Example("1", "a", (), {}),
    Example("1", "", ("b",), {}),
    Example("1", "ab", ("",), {}),
    Example("1", "a", ("b",), {"n": 1}),
    Example("1", "a", ("b",), {"n": 1.0}),
    Example("1", "a", ("b",), {"n": "1"}),
    Example("1", "a", ("b",), {"n": True}),
    Example("1", "a", ("b",), {"n": None}),
    Example("1", "a", ("b",), {"n": [1]}),
    Example("1", "a", ("b",), {"m": 1}),
    Example("2", "a", ("b",), {}),
]


def test_what_differs_has_another_key() -> None:
    assert len({key(Examples.of([example]))[0] for example in DIFFERENT}) == len(DIFFERENT)


def test_values_of_two_rows_are_not_mixed_up() -> None:
    """The sum over rows must not see columns apart: swapped sources are other data."""
    straight = [Example("1", "a", ("x",)), Example("2", "b", ("y",))]
    crossed = [Example("1", "b", ("x",)), Example("2", "a", ("y",))]
    assert key(Examples.of(straight))[0] != key(Examples.of(crossed))[0]


def test_a_column_hashes_the_same_as_text_and_as_values() -> None:
    values = ["a", None, "é"]
    assert np.array_equal(hashed_values(values, "x"), hashed_values(Texts.of(values), "x"))
    sliced = Texts.of(["zz", *values, "q"])[1:4]
    assert np.array_equal(hashed_values(sliced, "x"), hashed_values(values, "x"))
    lists = TextLists.of([["q"], ["a", "b"], [], ["ab"]])
    assert np.array_equal(hashed_lists(lists[1:], "r"), hashed_lists(TextLists.of([["a", "b"], [], ["ab"]]), "r"))
    assert not np.array_equal(hashed(Texts.of(["a"]), "x"), hashed(Texts.of(["a"]), "y"))
    assert hashed_rows(hashed(Texts.of(["a"]), "x")).any()


def test_the_same_content_in_any_format(tmp_path: Path) -> None:
    """One reference each: CSV has no lists."""
    rows = [{**row, "references": row["references"][:1]} for row in ROWS]
    write_jsonl(tmp_path / "a.jsonl", rows)
    (tmp_path / "a.json").write_text(json.dumps(rows))
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "a.parquet", row_group_size=3)
    for name, delimiter in (("a.csv", ","), ("a.tsv", "\t")):
        with open(tmp_path / name, "w", newline="") as file:
            writer = csv.DictWriter(file, rows[0], delimiter=delimiter)
            writer.writeheader()
            writer.writerows({**row, "references": row["references"][0]} for row in rows)
    keys = {
        name: key(Examples.joined(list(FileDataset(str(tmp_path / name)).blocks())))
        for name in ("a.jsonl", "a.json", "a.parquet", "a.csv", "a.tsv")
    }
    assert len(set(keys.values())) == 1, keys
