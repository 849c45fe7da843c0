"""All tabular data sets: the same rows give the same examples in every format, and what is wrong is named."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from harness.datasets.embedded import EmbeddedDataset
from harness.datasets.file import FileDataset
from harness.datasets.huggingface import HuggingFaceDataset
from harness.datasets.text import TextDataset
from harness.types import Example, HarnessError
from tests.conftest import ROWS, write_jsonl

SIMPLE = [{"id": r["id"], "source": r["source"], "references": r["references"][0], "topic": r["topic"]} for r in ROWS]


@pytest.mark.parametrize("suffix", ["jsonl", "json", "csv", "tsv", "parquet"])
def test_every_format_gives_the_same_examples(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"dev.{suffix}"
    if suffix == "jsonl":
        write_jsonl(path, SIMPLE)
    elif suffix == "json":
        path.write_text(json.dumps(SIMPLE))
    elif suffix == "parquet":
        import pyarrow as pa
        import pyarrow.parquet as pq

        pq.write_table(pa.Table.from_pylist(SIMPLE), path)
    else:
        with open(path, "w", newline="") as handle:
            writer = csv.DictWriter(handle, list(SIMPLE[0]), delimiter="," if suffix == "csv" else "\t")
            writer.writeheader()
            writer.writerows(SIMPLE)
    dataset = FileDataset(str(path))
    assert dataset.name == "dev"
    assert list(dataset.examples()) == [
        Example(r["id"], r["source"], (r["references"],), {"topic": r["topic"]}) for r in SIMPLE
    ]


def test_references_null_empty_and_absent(tmp_path: Path) -> None:
    rows = [
        {"id": 1, "references": ["a", None, ""]},
        {"id": 2, "references": None},
        {"id": 3, "references": []},
        {"id": 4, "references": ""},
        {"id": 5},
    ]
    examples = list(FileDataset(str(write_jsonl(tmp_path / "a.jsonl", rows))).examples())
    assert [e.references for e in examples] == [("a", ""), (), (), ("",), ()]
    assert [e.id for e in examples] == ["1", "2", "3", "4", "5"]
    assert {e.source for e in examples} == {None}


def test_columns_are_renamed_and_several_make_references(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("key,article,r1,r2,references\n7,text,one,,kept\n")
    columns = {"id": "key", "source": "article", "references": ["r1", "r2"]}
    examples = list(FileDataset(str(tmp_path / "a.csv"), columns=columns, cluster="article").examples())
    assert examples == [Example("7", "text", ("one",), {"references": "kept", "article": "text"})]


@pytest.mark.parametrize(
    ("rows", "options", "expected"),
    [
        ([{"id": "x"}, {"id": "x"}], {}, "line 2 has the id 'x', already used in"),
        ([{"id": "x"}, {"source": "s"}], {}, "line 2 has no 'id'; found: source"),
        ([{"id": None}], {}, "'id' is null; expected a non-empty string"),
        ([{"id": "x", "text": "t"}], {"columns": {"source": "article"}}, "line 1 has no 'article'; found: id, text"),
        ([{"id": "x", "source": 3}], {}, "'source' is int '3'; expected a string"),
        ([{"id": "x", "references": ["a", 4]}], {}, "'references' is int '4'; expected a string"),
        ([{"id": "x", "source": "a\ud800"}], {}, "'source' holds a lone surrogate"),
        ([{"id": "x", "note": ["\udfff"]}], {}, "'note' holds a lone surrogate"),
        ([{"id": "x", "a\ud800": 1}], {}, "holds a lone surrogate"),
        ([{"id": "x", "source": "a\0"}], {}, "'source' holds a NUL character"),
        ([{"id": "x"}], {"cluster": "doc"}, "line 1 has no 'doc'; found: id (dataset.cluster=doc)"),
    ],
)
def test_bad_rows(tmp_path: Path, rows: list[dict[str, object]], options: dict[str, object], expected: str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(HarnessError) as raised:
        list(FileDataset(str(path), **options).examples())  # type: ignore[arg-type]
    assert expected in str(raised.value)


def test_columns_of_an_unknown_field() -> None:
    with pytest.raises(HarnessError, match=r"dataset.columns.target is not a field; expected one of id, source, ref"):
        FileDataset("a.jsonl", columns={"target": "x"})


def test_text_files_are_aligned_by_line(tmp_path: Path) -> None:
    for name, lines in (("src", "a\nb\n"), ("r0", "x\ny\n"), ("r1", "\nz"), ("short", "x\n")):
        (tmp_path / f"{name}.txt").write_text(lines)
    path = {name: str(tmp_path / f"{name}.txt") for name in ("src", "r0", "r1", "short")}
    examples = list(TextDataset([path["r0"], path["r1"]], path["src"]).examples())
    assert examples == [Example("1", "a", ("x", "")), Example("2", "b", ("y", "z"))]
    assert [e.references for e in TextDataset(path["r0"]).examples()] == [("x",), ("y",)]
    with pytest.raises(HarnessError, match=r"short.txt has 1 line, .*src.txt has 2; expected the same number"):
        list(TextDataset(path["short"], path["src"]).examples())
    with pytest.raises(HarnessError, match="dataset=text has no files"):
        TextDataset([])


def test_huggingface_from_a_folder_and_from_disk(tmp_path: Path) -> None:
    import datasets

    (tmp_path / "data").mkdir()
    write_jsonl(tmp_path / "data" / "test.jsonl", ROWS)
    expected = [Example(r["id"], r["source"], tuple(r["references"]), {"topic": r["topic"]}) for r in ROWS]
    assert list(HuggingFaceDataset(str(tmp_path / "data"), split="test").examples()) == expected
    datasets.DatasetDict({"dev": datasets.Dataset.from_list(ROWS)}).save_to_disk(str(tmp_path / "saved"))
    assert list(HuggingFaceDataset(str(tmp_path / "saved"), split="dev").examples()) == expected
    with pytest.raises(HarnessError, match=r"dataset.split=train cannot be loaded: Unknown split .*dev"):
        list(HuggingFaceDataset(str(tmp_path / "saved"), split="train").examples())
    with pytest.raises(HarnessError, match=r"no_such_set.* cannot be loaded: .*expected a data set of the hub"):
        list(HuggingFaceDataset("no_such_set", split="train").examples())


def test_embedded_is_what_its_card_says() -> None:
    examples = list(EmbeddedDataset().examples())
    assert len(examples) == 120
    assert all(len(e.references) == 2 and e.references[0] != e.references[1] for e in examples)
    assert {e.metadata["domain"] for e in examples} == {"news", "science", "advice", "minutes", "travel", "stories"}
    assert len({e.metadata["thread"] for e in examples}) == 42
    for e in examples:
        assert e.source is not None
        assert 90 <= len(e.source.split()) <= 130
        assert all(12 <= len(r.split()) <= 32 for r in e.references)
