"""Judgements and runs as TREC has them: read at once and line by line alike, and what is wrong named with its place."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from harness.inputs import trec_files
from harness.inputs.field_kernels import fields
from harness.inputs.trec_files import QRELS, RUN, WHITE, Table, read_table
from harness.types import HarnessError, Texts


def written(path: Path, content: str) -> Path:
    path.write_bytes(content.encode())
    return path


def by_query(table: Table) -> dict[str, list[tuple[str, float]]]:
    pairs = list(zip(table.documents.strings(), table.values.tolist(), strict=True))
    bounds = table.starts.tolist()
    return {query: pairs[a:b] for query, a, b in zip(table.queries.strings(), bounds, bounds[1:], strict=False)}  # type: ignore[misc]


SAID = {"301": [("FT-1", 2.0), ("FT-2", 0.0)], "302": [("é", -1.0)]}


@pytest.mark.parametrize(
    "content",
    [
        "301 0 FT-1 2\n301 0 FT-2 0\n302 0 é -1\n",
        "301\t0\tFT-1\t2\r\n301\t0\tFT-2\t0\r\n302\t0\té\t-1",
        "\ufeff301  0 FT-1   2 \n\n 301 0 FT-2 +0\n302 0 é -1\n\n",
        "301 0 FT-1 2\n302 0 é -1\n301 0 FT-2 0\n",  # a query in two places
    ],
)
def test_judgements(tmp_path: Path, content: str) -> None:
    assert by_query(read_table(written(tmp_path / "qrels.txt", content), QRELS, "judgements")) == SAID


@pytest.mark.parametrize(
    ("content", "layout", "message"),
    [
        ("301 0 d1 1\n301 0 d2\n", QRELS, "line 2 has 3 fields; expected 4 (query, iteration, document, grade)"),
        ("301 0 d1 1\n301 0 d2 1 1\n", QRELS, "line 2 has 5 fields; expected 4"),
        ("301 0 d1\n1 301 0 d2 1\n", QRELS, "line 1 has 3 fields"),  # eight fields in all
        ("301 0 d1 high\n", QRELS, "line 1 has the grade 'high'; expected a whole number"),
        ("301 0 d1 0.5\n", QRELS, "line 1 has the grade '0.5'; expected a whole number"),
        ("301 0 d1 1\n\n302 0 d1 1\n301 0 d1 2\n", QRELS, "line 4 has the document 'd1' for the query '301', which"),
        ("301 Q0 d1 1 nan tag\n", RUN, "line 1 has the score 'nan'; expected a finite number"),
        ("301 Q0 d1 1 1e999 tag\n", RUN, "line 1 has the score '1e999'; expected a finite number"),
        ("301 Q0 d1 1 2.5\n", RUN, "line 1 has 5 fields; expected 6 (query, Q0, document, rank, score, tag)"),
        ("301 0 d1 1\n", RUN, "line 1 has 4 fields; expected 6"),
        ("301 Q0 d1 1 2 tag\n301 Q0 d1 2 1 tag\n", RUN, "line 2 has the document 'd1' for the query '301', which"),
        ("", RUN, "is empty; expected a run: lines of 6"),
        ("\n \n", RUN, "is empty; expected a run"),
        ("301 Q0 d\0 1 2 tag\n", RUN, "line 1 has a NUL character"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, content: str, layout: trec_files.Format, message: str) -> None:
    with pytest.raises(HarnessError) as error:
        read_table(written(tmp_path / "file.txt", content), layout, "a run")
    assert str(error.value).startswith(f"{tmp_path / 'file.txt'} ")
    assert message in str(error.value)


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    (tmp_path / "run.txt").write_bytes(b"301 Q0 d1 1 2 tag\n301 Q0 \xff 2 1 tag\n")
    with pytest.raises(HarnessError, match="run.txt line 2 has byte 0xff at position 8, which is not UTF-8"):
        read_table(tmp_path / "run.txt", RUN, "a run")


WORDS = st.text(st.sampled_from("ab1-é\u00a0"), min_size=1, max_size=3)
LINES = st.lists(st.tuples(WORDS, WORDS, st.integers(-3, 3)), min_size=1, max_size=12, unique_by=lambda line: line[:2])


@given(LINES, st.sampled_from([" ", "\t", "  ", " \t "]), st.sampled_from(["\n", "\r\n", "\n\n"]))
def test_at_once_and_line_by_line_are_the_same(lines: list[tuple[str, str, int]], space: str, end: str) -> None:
    content = "".join(space.join((query, "0", document, str(grade))) + end for query, document, grade in lines)
    columns = trec_files._at_once(content.encode(), QRELS)
    slow = list(trec_files._lines(Path("x"), QRELS, enumerate(content.encode().splitlines(keepends=True), start=1)))
    assert [(query, document, grade) for _, query, document, grade in slow] == lines
    assert columns is not None
    assert list(zip(*columns, strict=True)) == lines


@given(st.text(st.sampled_from("a1 \t\r\n\0\x01é"), max_size=30), st.integers(1, 3))
@example("a 1\na\x01", 2)
def test_fields_are_split_as_a_line_is(content: str, width: int) -> None:
    rows = [WHITE.split(line.strip(" \t\r")) for line in content.split("\n") if line.strip(" \t\r")]
    columns = fields(content.encode(), width, range(width))
    if {"\0", "\x01"} & set(content) or any(len(row) != width for row in rows):
        assert columns is None  # line by line is right for what is rare, too
    else:
        assert columns is not None
        assert [list(column) for column in columns] == [[row[k] for row in rows] for k in range(width)]


SCORED = st.lists(
    st.tuples(st.sampled_from("pq"), WORDS, st.sampled_from([1.0, 1.0 + 1e-9, 1.0001, -0.0, 0.0, 1e39, 1e40, -2.5])),
    min_size=1, max_size=14, unique_by=lambda line: line[:2],
)  # fmt: skip


@given(SCORED)
def test_best_first_as_trec_eval_sorts(lines: list[tuple[str, str, float]]) -> None:
    table = Table.of(
        Texts.of([line[0] for line in lines]),
        Texts.of([line[1] for line in lines]),
        np.array([line[2] for line in lines]),
    )
    best = by_query(table.best_first())
    with np.errstate(over="ignore"):
        for query, documents in by_query(table).items():
            plain = sorted(documents, key=lambda pair: (np.float32(pair[1]), pair[0].encode()), reverse=True)
            assert best[query] == plain
