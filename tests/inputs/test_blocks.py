"""Whatever is in a file: what is read as columns is what is read row by row, up to the message of what is wrong."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from harness.datasets.file import FileDataset
from harness.datasets.huggingface import HuggingFaceDataset
from harness.datasets.text import TextDataset
from harness.inputs import files, parts, text_lines
from harness.inputs.rows import Reader, examples_of
from harness.types import Example, HarnessError, Texts, text_columns
from tests.hostile import bounded

EXPECTED = "a data file (dataset.path)"


@contextmanager
def small(size: int, folder: Any) -> Iterator[Path]:
    """Blocks, and pieces of files, of a few rows; a folder of its own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_columns, "BLOCK", size)
        patch.setattr(parts, "BYTES", 10 * size)
        patch.setattr(parts, "AT_ONCE", 2)
        yield folder.mktemp("data")


def outcome(examples: Iterable[Example]) -> tuple[list[str], str | None]:
    """(the examples, the message that ended them); NaN is like NaN."""
    read: list[str] = []
    try:
        for each in examples:
            metadata = dict(sorted(each.metadata.items()))
            read.append(repr((each.id, each.source, each.references, metadata, each.repeat)))
    except HarnessError as error:
        return read, str(error)
    return read, None


def agree(path: Path, **options: Any) -> None:
    """The same from columns as from rows."""
    rows = partial(files.read_rows, path, EXPECTED, options.get("quoting", True))
    blank = path.suffix in (".csv", ".tsv")
    expected = outcome(examples_of(rows, options.get("columns"), options.get("cluster"), blank))
    dataset = FileDataset(str(path), **options)
    assert outcome(chain.from_iterable(dataset.blocks())) == expected
    assert outcome(dataset.examples()) == expected


TEXT = st.text('ab é{}"\\,\n\r\t\u2028😀', max_size=6)
ODD = st.sampled_from(["a\0", "\ud800", 3, 2**70, 1.5, True, None, [], {}, ["x"], [["x"]], {"de": "x"}, "2020-01-01"])
REFERENCES = st.lists(TEXT, max_size=2) | TEXT | st.sampled_from([None, ["a", None], [None], 4, ["a", 4], ("a",)])
FEW = st.sampled_from(["a", "b", "c", 7, "7", "", None])
ROW = st.fixed_dictionaries(
    {"source": TEXT, "references": st.lists(TEXT, min_size=1, max_size=1)}, optional={"doc": TEXT, "n": st.integers()}
)
ODD_ROW = st.fixed_dictionaries(
    {}, optional={"id": FEW, "source": TEXT | ODD, "references": REFERENCES, "doc": TEXT | ODD, "a.b": TEXT | ODD, "ké": ODD}
)  # fmt: skip
OPTIONS = st.sampled_from(
    [{}, {}, {"cluster": "doc"}, {"cluster": "doc.de"}, {"columns": {"source": "doc"}, "cluster": "doc"},
     {"columns": {"id": "doc"}}, {"columns": {"references": ["doc", "source"]}}, {"columns": {"source": "doc.de"}},
     {"columns": {"source": "{{ doc }}!"}}, {"columns": {"references": ["a.b", "references"]}}]
)  # fmt: skip


@st.composite
def tables(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Good rows with ids, among which there may be odd ones."""
    with_id = draw(st.booleans())
    rows = [({"id": f"r{i}"} if with_id else {}) | row for i, row in enumerate(draw(st.lists(ROW, max_size=8)))]
    for odd in draw(st.lists(ODD_ROW, max_size=2)):
        rows.insert(draw(st.integers(0, len(rows))), odd)
    return rows


LINES = st.sampled_from(
    ["", " ", "\x0b", "{", "[1]", "7", '{"id": "x"}{"id": "y"}', '{"id": "x"},{"id": "y"}', '{"id":', '"z"}', '{"id": "x", "id": "y"}',
     '{"id": "x", "n": NaN}', '{"id": "x\\u0000"}', '{"id": "x\\ud800"}', '{"id": "x"} ', '{"id": "x", "doc": "}"}', "{}", '{"": "x"}']
)  # fmt: skip


@given(tables(), st.lists(st.tuples(st.integers(0, 9), LINES), max_size=2), st.integers(1, 20), OPTIONS, st.booleans())
@example([], [(0, '{"id": "x"}{"id":'), (1, '"y"}')], 20, {}, True)
@example([], [(0, '{"id": "x"}{"id":'), (1, '"y"}')], 20, {}, False)
@example([{}, {}, {"source": "", "references": [""]}], [], 20, {}, True)
def test_json_lines(
    tmp_path_factory: pytest.TempPathFactory,
    rows: list[dict[str, Any]],
    odd: list[tuple[int, str]],
    size: int,
    options: dict[str, Any],
    ended: bool,
) -> None:
    lines = [json.dumps(row, ensure_ascii=len(rows) % 2 == 0) for row in rows]
    for place, line in odd:
        lines.insert(place, line)
    end = "\r\n" if size % 2 else "\n"
    with small(size, tmp_path_factory) as folder:
        content = end.join(lines) + (end if ended else "")
        (folder / "a.jsonl").write_bytes(content.encode("utf-8", "surrogatepass"))
        agree(folder / "a.jsonl", **options)


@given(tables(), st.integers(1, 5), OPTIONS)
def test_json(
    tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, Any]], size: int, options: dict[str, Any]
) -> None:
    with small(size, tmp_path_factory) as folder:
        (folder / "a.json").write_text(json.dumps(rows))
        agree(folder / "a.json", **options)


CELL = st.text('ab é",\n\r\0', max_size=4)


@given(
    st.sampled_from([["id", "source", "references"], ["source", "doc", "r1", "r2"], ["id", "doc"], [], ["a", "a"]]),
    st.lists(st.lists(CELL, min_size=3, max_size=4) | st.just([]), max_size=8),
    st.integers(1, 20),
    st.sampled_from([{}, {"columns": {"references": ["r1", "r2"]}}, {"cluster": "doc"}, {"quoting": False}]),
    st.binary(max_size=2) | st.just(b""),
)
def test_csv(
    tmp_path_factory: pytest.TempPathFactory,
    header: list[str],
    records: list[list[str]],
    size: int,
    options: dict[str, Any],
    rest: bytes,
) -> None:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n" if size % 2 else "\n")
    numbered = [[str(i), *record[1:]] if record else [] for i, record in enumerate(records)]
    writer.writerows([header, *numbered])
    with small(size, tmp_path_factory) as folder:
        (folder / "a.csv").write_bytes(text.getvalue().encode() + rest)
        agree(folder / "a.csv", **options)


KINDS = [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string()), pa.int32(), pa.bool_(),
         pa.list_(pa.string()), pa.large_list(pa.string()), pa.float64(), pa.binary(), pa.timestamp("ns"), pa.null()]  # fmt: skip


@st.composite
def arrays(draw: st.DrawFn, n: int) -> pa.Array:
    kind = draw(st.sampled_from([pa.string(), *KINDS]))
    texts, whole = st.text("ab é\0", max_size=3), st.integers(0, 2**31 - 1)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        values: Any = st.lists(texts | st.none(), max_size=2)
    elif pa.types.is_null(kind):
        values = st.none()
    elif pa.types.is_binary(kind):
        values = st.binary(max_size=2)
    elif pa.types.is_boolean(kind):
        values = st.booleans()
    else:
        values = texts if "str" in str(kind) else whole
    if draw(st.booleans()):
        values = values | st.none()
    return pa.array(draw(st.lists(values, min_size=n, max_size=n)), kind)


@given(st.data(), st.integers(0, 7), st.integers(1, 3), OPTIONS)
def test_parquet(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, n: int, size: int, options: dict[str, Any]
) -> None:
    names = data.draw(st.lists(st.sampled_from(["id", "source", "references", "doc", "a.b"]), unique=True, min_size=1))
    table = pa.table({name: data.draw(arrays(n)) for name in names})
    if "id" in names and data.draw(st.booleans()):
        table = table.set_column(names.index("id"), "id", pa.array([f"r{i}" for i in range(n)]))
    with small(size, tmp_path_factory) as folder:
        pq.write_table(table, folder / "a.parquet", row_group_size=size)
        agree(folder / "a.parquet", **options)


def test_parquet_that_calls_bytes_text(tmp_path: Path) -> None:
    """Arrow does not look at what it reads; two halves of a character are no text though they make one together."""
    offsets, content = pa.py_buffer(b"\0\0\0\0\1\0\0\0\2\0\0\0"), pa.py_buffer("é".encode())
    texts = pa.Array.from_buffers(pa.string(), 2, [None, offsets, content])
    for name in ("source", "references", "doc", "id"):
        pq.write_table(pa.table({"id": ["1", "2"]} | {name: texts}), tmp_path / "a.parquet")
        agree(tmp_path / "a.parquet")


@given(
    st.lists(st.binary(max_size=3) | st.sampled_from([b"a", "é".encode(), b"\r", b"x\r"]), max_size=9),
    st.integers(1, 9),
)
def test_plain_text(tmp_path_factory: pytest.TempPathFactory, lines: list[bytes], size: int) -> None:
    with small(size, tmp_path_factory) as folder:
        for content in (b"\n".join(lines), b"\xef\xbb\xbf" + b"\n".join(lines)):
            (folder / "a.txt").write_bytes(content)
            (folder / "b.txt").write_bytes(content.replace(b"a", b"bb"))
            path = folder / "a.txt"
            expected = lines_or_message(files.stream_lines(path))
            assert lines_or_message(chain.from_iterable(text_lines.texts_of_lines(path))) == expected
            examples = TextDataset([str(path), str(folder / "b.txt")], str(folder / "b.txt")).examples()
            if expected[1] is None:
                others = files.read_lines(folder / "b.txt")
                pairs = enumerate(zip(expected[0], others, strict=True), start=1)
                assert list(examples) == [Example(str(i), b, (a, b)) for i, (a, b) in pairs]


def lines_or_message(lines: Iterable[str | None]) -> tuple[list[Any], str | None]:
    read: list[Any] = []
    try:
        read.extend(lines)
    except HarnessError as error:
        return [], str(error)
    return read, None


def test_first_bad_line_of_several_files_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"a\n" * 5 + b"\xff\n")
    (tmp_path / "b.txt").write_bytes(b"b\n" * 3 + b"\0\nb\nb\n")
    examples = TextDataset([str(tmp_path / "a.txt"), str(tmp_path / "b.txt")]).examples()
    assert [next(examples).id for _ in range(3)] == ["1", "2", "3"]
    with pytest.raises(HarnessError, match=r"b.txt line 4 has a NUL character at position 1"):
        next(examples)


@pytest.mark.parametrize("streaming", [False, True])
def test_huggingface(tmp_path: Path, streaming: bool) -> None:
    import datasets

    rows = [{"id": i, "source": f"s {i}", "references": ["r", f"é {i}"], "doc": None if i % 5 else "d", "at": [i, 2]}
            for i in range(40)]  # fmt: skip
    whole = datasets.Dataset.from_list(rows)
    whole.shuffle(seed=1).select(range(30)).save_to_disk(str(tmp_path / "saved"))
    dataset = HuggingFaceDataset(str(tmp_path / "saved"), "train", streaming=streaming)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("harness.datasets.huggingface.AT_ONCE", 7)
        read = outcome(dataset.examples())
    assert read == outcome(examples_of(dataset._rows, None, None))
    assert len(read[0]) == 30


# ---------------------------------------------------------------- the fast path is taken


GOOD = [{"id": f"x{i}", "source": f"s {i} é", "references": [f"r {i}"], "topic": "t", "n": i} for i in range(100)]


@pytest.fixture
def no_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    def example(*_: object) -> None:
        raise AssertionError("read row by row")

    monkeypatch.setattr(Reader, "example", example)


@pytest.mark.usefixtures("no_rows")
@pytest.mark.parametrize(
    "options", [{}, {"columns": {"source": "topic", "references": ["source", "references"]}, "cluster": "topic"}]
)
@pytest.mark.parametrize("suffix", ["jsonl", "json", "csv", "tsv", "parquet"])
def test_good_rows_are_not_read_one_by_one(tmp_path: Path, suffix: str, options: dict[str, Any]) -> None:
    path = tmp_path / f"a.{suffix}"
    flat = [row | {"references": row["references"][0]} for row in GOOD]  # type: ignore[index]
    if suffix == "parquet":
        pq.write_table(pa.Table.from_pylist(GOOD), path)
    elif suffix in ("csv", "tsv"):
        with open(path, "w", newline="") as handle:
            writer = csv.DictWriter(handle, list(flat[0]), delimiter="," if suffix == "csv" else "\t")
            writer.writeheader()
            writer.writerows(flat)
    else:
        path.write_text(json.dumps(GOOD) if suffix == "json" else "".join(json.dumps(row) + "\n" for row in GOOD))
    (block,) = FileDataset(str(path), **options).blocks()
    assert isinstance(block.metadata["topic"], Texts)
    assert block.ids[99] == "x99"


@pytest.mark.usefixtures("no_rows")
def test_rows_with_different_fields_and_blank_lines_are_good(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [{"id": 1, "a": None}, {"id": "x", "b": [1]}, {"id": "y", "source": None}]
    (tmp_path / "a.jsonl").write_text("\n".join(json.dumps(row) + "\n" for row in rows))
    examples = list(FileDataset(str(tmp_path / "a.jsonl")).examples())
    assert [e.metadata for e in examples] == [{"a": None}, {"b": [1]}, {}]


def test_rows_with_fields_of_their_own_take_memory_for_what_they_hold(tmp_path: Path) -> None:
    """Ten thousand fields in ten thousand rows are a hundred million cells, of which all but ten thousand are empty."""
    n = 10_000
    (tmp_path / "a.jsonl").write_text("".join(f'{{"id": {i}, "field {i}": {i}}}\n' for i in range(n)))
    code = (
        "import sys\nfrom harness.datasets.file import FileDataset\n"
        "blocks = FileDataset(sys.argv[1]).blocks()\n"
        "cells = [(len(block), len(block) * len(block.metadata)) for block in blocks]\n"
        "print(sum(rows for rows, _ in cells), max(most for _, most in cells))"
    )
    rows, cells = map(int, bounded.run(code, str(tmp_path / "a.jsonl"), memory=2 * bounded.GIB).split())
    assert rows == n
    assert cells <= parts.MOST_CELLS


def test_pandas_is_not_imported(tmp_path: Path) -> None:
    pq.write_table(pa.Table.from_pylist(GOOD), tmp_path / "a.parquet")
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in [*GOOD, {"id": 1, "o": [1, {"a": 2}]}]))
    code = (
        "import sys\nfrom harness.datasets.file import FileDataset\nfrom harness.systems.predictions import Predictions\n"
        "from harness.inputs.kept import Kept\nfrom harness.types import Texts\nKept.in_memory = 0\n"
        "for name in sys.argv[1:]:\n"
        "    kept = Kept.of(*FileDataset(name, columns={'source': 'source'} if 'parq' in name else None).blocks())\n"
        "    list(kept), kept[:50:2], kept.written\n"
        "print('pandas' in sys.modules)"
    )
    assert bounded.run(code, str(tmp_path / "a.parquet"), str(tmp_path / "a.jsonl")) == "False\n"
