"""Every kind of file that is wrong is refused with its place, what was found and what was expected."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.inputs import files, parts
from harness.types import HarnessError


def rows(path: Path, **options: bool) -> list[dict[str, object]]:
    return [row for _, row in files.read_rows(path, "a data file", **options)]


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("a.jsonl", b'{"id": 1}\n{"id": 2\n', "a.jsonl line 2 is not JSON"),
        ("a.jsonl", b'{"id": 1}\n[1, 2]\n', "a.jsonl line 2 is list '[1, 2]'; expected an object"),
        ("a.jsonl", b'{"id": "caf\xe9"}\n', "a.jsonl line 1 has byte 0xe9 at position 12, which is not UTF-8"),
        ("a.jsonl", b'{"id": "a\x00b"}\n', "a.jsonl line 1 has a NUL character at position 10"),
        ("a.jsonl", '{"id": 1}\n'.encode("utf-16"), "starts with a UTF-16 byte order mark; expected UTF-8"),
        ("a.jsonl", b'{"id": ' + b"1" * 5000 + b"}\n", "a.jsonl line 1 is not JSON"),
        ("a.json", b'{"id": 1}', "a.json holds one object (id); expected a list of objects"),
        ("a.json", b"[1", "a.json is not JSON"),
        ("a.csv", b"id,source\n1,a,b\n", "a.csv line 2 has 3 fields; expected 2 as in the header (id, source)"),
        ("a.csv", b'id,source\n1,"a" b\n', "a.csv line 2 cannot be read"),
        ("a.csv", b"id,id\n1,2\n", "a.csv line 1 names the column 'id' twice"),
        ("a.parquet", b"not parquet", "a.parquet is not a Parquet file"),
        ("a.xlsx", b"", "ends in '.xlsx'; expected one of .jsonl, .json, .csv, .tsv, .parquet"),
    ],
)
def test_bad_content_is_refused_with_its_place(tmp_path: Path, name: str, content: bytes, expected: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(HarnessError) as raised:
        rows(tmp_path / name)
    assert expected in str(raised.value)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("\ufeffNr;Note\r\n1;2,5\r\n", {"Nr": "1", "Note": "2,5"}),  # as Excel writes where the comma is in numbers
        ('"Nr, alt";Note\n"1;1";2\n', {"Nr, alt": "1;1", "Note": "2"}),
        ("Nr\tNote\n1\t2;5\n", {"Nr": "1", "Note": "2;5"}),
        ("Nr,Note;alt\n1,2;5\n", {"Nr": "1", "Note;alt": "2;5"}),  # a comma in the header decides
        ("Nr\n1;2\n", {"Nr": "1;2"}),
    ],
)
def test_the_header_of_a_csv_says_what_is_between_its_cells(
    tmp_path: Path, content: str, expected: dict[str, str]
) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(content.encode())
    assert rows(path) == [expected]
    (part,) = parts.read_parts(path, "a data file")
    assert {name: list(column) for name, column in (part.columns or {}).items()} == {
        k: [v] for k, v in expected.items()
    }


def test_a_file_of_windows_says_how_to_make_it_utf_8(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes("id;text\n1;Straße\n".encode("cp1252"))
    with pytest.raises(HarnessError, match=r"line 2 has byte 0xdf .* iconv -f WINDOWS-1252 -t UTF-8"):
        rows(tmp_path / "a.csv")


def test_missing_file_names_its_neighbours(tmp_path: Path) -> None:
    (tmp_path / "dev.jsonl").write_text("")
    with pytest.raises(HarnessError, match=r"div.jsonl does not exist; expected a data file .* has: dev.jsonl"):
        rows(tmp_path / "div.jsonl")
    with pytest.raises(HarnessError, match=r"does not exist; expected a data file .* has: dev.jsonl\)$"):
        rows(tmp_path / "system1.jsonl")  # which .jsonl alone does not make near
    with pytest.raises(HarnessError, match="is a folder; expected a data file"):
        rows(tmp_path)
    with pytest.raises(HarnessError, match="cannot be read \\(File name too long\\)"):
        rows(tmp_path / ("x" * 300 + ".jsonl"))


def test_a_damaged_parquet_file(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"id": [str(i) for i in range(1000)]}), path, compression="snappy", use_dictionary=False)
    content = bytearray(path.read_bytes())
    content[40:600] = b"\xff" * 560
    path.write_bytes(content)
    with pytest.raises(HarnessError, match="a.parquet cannot be read after row 0"):
        rows(path)


def test_mark_and_crlf_are_dropped(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"\xef\xbb\xbfone\r\ntwo\r\n")
    assert files.read_lines(tmp_path / "a.txt") == ["one", "two"]
    (tmp_path / "a.csv").write_bytes(b'\xef\xbb\xbfid,source\r\n1,"x,\r\ny"\r\n')
    assert rows(tmp_path / "a.csv") == [{"id": "1", "source": "x,\ny"}]


def test_lines_end_at_newlines_only(tmp_path: Path) -> None:
    text = "a\x0bb\x0cc\x1cd\x85e\u2028f\rg"
    (tmp_path / "a.txt").write_text(f"{text}\n\nlast", encoding="utf-8", newline="")
    assert files.read_lines(tmp_path / "a.txt") == [text, "", "last"]


def test_a_line_of_a_megabyte_is_read(tmp_path: Path) -> None:
    long = "word " * 250_000
    for name, content in (("a.csv", f"id,source\n1,{long}\n"), ("a.jsonl", f'{{"source": "{long}"}}\n')):
        (tmp_path / name).write_text(content)
        assert rows(tmp_path / name)[0]["source"] == long


def test_tsv_with_plain_quotes(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text('id\tsource\n1\t"Stop" he said\n')
    with pytest.raises(HarnessError, match=r"set dataset\.quoting=false \(of outputs: system\.quoting=false\)"):
        rows(tmp_path / "a.tsv")
    assert rows(tmp_path / "a.tsv", quoting=False) == [{"id": "1", "source": '"Stop" he said'}]


def test_text_refuses_what_cannot_be_stored() -> None:
    assert files.text("é", "x", "source") == "é"
    for value, expected in (
        ("a\ud800", "a lone surrogate (\\ud800) at position 2"),
        ("a\0", "a NUL character at position 2"),
        (3, "'source' is int '3'; expected a string"),
        (None, "'source' is null"),
    ):
        with pytest.raises(HarnessError) as raised:
            files.text(value, "dev.jsonl line 3", "source")
        assert expected in str(raised.value)
        assert "dev.jsonl line 3" in str(raised.value)


def test_digest_knows_content_not_order() -> None:
    assert files.digest({"a": 1, "b": [2, "é"]}) == files.digest({"b": [2, "é"], "a": 1})
    assert files.digest(["a", "b"]) != files.digest(["b", "a"])


def test_what_the_quick_parser_refuses_is_read_as_before(tmp_path: Path) -> None:
    """NaN, an escaped lone surrogate, blank lines: the standard library's reading of JSON."""
    (tmp_path / "a.jsonl").write_text(
        '{"x": NaN}\n  \n\n{"x": "\\ud800"}\n{"x": -Infinity, "é": 12345678901234567890}\n'
    )
    rows = list(files.read_rows(tmp_path / "a.jsonl", "data"))
    assert [place.rpartition(" ")[2] for place, _ in rows] == ["1", "4", "5"]
    assert str(rows[0][1]["x"]) == "nan"
    assert rows[1][1] == {"x": "\ud800"}
    assert rows[2][1] == {"x": float("-inf"), "é": 12345678901234567890}
    (tmp_path / "a.json").write_text('[{"x": NaN}, {"x": 1}]')
    assert [place.rpartition(" ")[2] for place, _ in files.read_rows(tmp_path / "a.json", "data")] == ["1", "2"]


@pytest.mark.parametrize("content", ["", "a", "a\n", "\n", "a\n\nb", "a\r\nb\r\n", "\ufeffa\nb\x0bc\u2028d"])
def test_lines_are_counted_as_they_are_read(tmp_path: Path, content: str) -> None:
    (tmp_path / "a.txt").write_text(content, encoding="utf-8", newline="")
    assert files.count_lines(tmp_path / "a.txt") == len(files.read_lines(tmp_path / "a.txt"))
