"""Blocks that are read by themselves are those that were read in turn."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from harness.datasets.file import FileDataset
from harness.inputs.row_index import RowIndex, Span
from harness.systems.predictions import Predictions
from harness.types import Example, Examples, HarnessError, text_columns
from tests.conftest import write_jsonl

N, SIZE = 23, 5


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_columns, "BLOCK", SIZE)
    monkeypatch.setattr("harness.inputs.parts.BYTES", 150)  # parts end anywhere in a block


def rows() -> list[dict[str, object]]:
    return [{"id": f"é{i}", "source": "s" * i, "references": [f"r{i}", "ü"], "n": i} for i in range(N)]


def written(folder: Path, way: str) -> Path:
    path = write_jsonl(folder / "data.jsonl", rows())
    content = path.read_bytes()
    if way == "mark":
        path.write_bytes(b"\xef\xbb\xbf" + content)
    if way == "no last end":
        path.write_bytes(content.removesuffix(b"\n"))
    if way == "crlf":
        path.write_bytes(content.replace(b"\n", b"\r\n"))
    if way == "odd":  # rows that are read one by one
        path.write_bytes(content.replace(b'"n": 7', b'"n": NaN'))
    if way == "parquet":
        import pyarrow as pa
        import pyarrow.parquet as pq

        path = folder / "data.parquet"
        pq.write_table(pa.Table.from_pylist(rows()), path, row_group_size=7)
    return path


def indexed(path: Path | str) -> tuple[FileDataset, list[Example]]:
    dataset = FileDataset(str(path))
    dataset.indexed = True
    return dataset, list(dataset.examples())


def contents(examples: Examples | list[Example]) -> list[str]:
    return [repr((example.id, example.source, example.references, dict(example.metadata))) for example in examples]


@pytest.mark.parametrize("where", ["path", "address"])
@pytest.mark.parametrize("way", ["lines", "mark", "no last end", "crlf", "odd", "parquet"])
def test_every_block(way: str, where: str, tmp_path: Path) -> None:
    path = written(tmp_path, way)
    dataset, examples = indexed(path.as_uri() if where == "address" else path)
    assert dataset.name == "data"
    assert len(examples) == N
    for first in range(0, N, SIZE):
        block = examples[first : first + SIZE]
        place = dataset.located(first, len(block))
        assert isinstance(place, Span), place
        assert contents(FileDataset(place.path).read_located(place)) == contents(block)
    part = dataset.located(SIZE, 2)  # of a run that ends there
    assert isinstance(part, Span)
    assert contents(dataset.read_located(part)) == contents(examples[SIZE : SIZE + 2])


def test_an_address_where_nothing_is(tmp_path: Path) -> None:
    dataset = FileDataset((tmp_path / "data.jsonl").as_uri())
    with pytest.raises(HarnessError) as raised:
        list(dataset.examples())
    message = str(raised.value)
    assert message.startswith(f"{(tmp_path / 'data.jsonl').as_uri()} cannot be read (")
    assert message.endswith("; expected a data file (dataset.path)")
    with pytest.raises(HarnessError, match=r"^nowhere://x/data.jsonl cannot be read \(Protocol not known: nowhere"):
        list(FileDataset("nowhere://x/data.jsonl").examples())


def test_through_fsspec() -> None:
    fsspec = pytest.importorskip("fsspec")
    with fsspec.open("memory://folder/data.jsonl", "wb") as file:
        file.write("".join(json.dumps(row) + "\n" for row in rows()).encode())
    dataset, examples = indexed("memory://folder/data.jsonl")
    place = dataset.located(SIZE, SIZE)
    assert isinstance(place, Span) and place.there
    assert contents(dataset.read_located(place)) == contents(examples[SIZE : 2 * SIZE])


def test_a_blank_line(tmp_path: Path) -> None:
    path = written(tmp_path, "lines")
    path.write_text(path.read_text().replace("\n", "\n\n", 3))
    dataset, examples = indexed(path)
    assert len(examples) == N
    assert dataset.located(0, SIZE) == "data.jsonl has lines that are no rows"


@pytest.mark.parametrize("shuffled", [False, True])
def test_stored_outputs(shuffled: bool, tmp_path: Path) -> None:
    order = np.random.default_rng(1).permutation(N) if shuffled else np.arange(N)
    lines = [json.dumps({"id": f"é{i}", "output": None if i == 4 else f"ö {i}"}) for i in order.tolist()]
    (tmp_path / "out.jsonl").write_text("\n".join(lines))
    system = Predictions(str(tmp_path / "out.jsonl"))
    system.indexed = True
    ids = [f"é{i}" for i in range(N)]
    system.align(ids)
    for first in range(0, N, SIZE):
        expected = system.generate([Example(id_, None, ()) for id_ in ids[first : first + SIZE]])
        place = system.located(first, len(expected))
        assert isinstance(place, Span), place
        assert list(Predictions(place.path).read_located(place)) == list(expected)


def test_a_file_that_was_changed(tmp_path: Path) -> None:
    path = written(tmp_path, "lines")
    index = RowIndex(path)
    span = Span(str(path), index._state, 0, 10, 0, 1)
    assert span.there
    path.write_text("{}\n")
    assert not span.there
    path.unlink()
    assert not span.there
