"""Bad input, from the command line: exit code 1, one message with place, found and expected, and nothing lost."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import ROWS, Called, write_jsonl

RUN = ("run", "dataset=file", "dataset.path=dev.jsonl", "system=predictions", "system.path=good.jsonl", "metrics=lexical", "tracking=none")  # fmt: skip
DEV = "".join(json.dumps(row) + "\n" for row in ROWS).encode()
GOOD = b"".join(b'{"id": "%s", "output": "x"}\n' % i.encode() for i in "abcd")


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("dev.jsonl", None, "dev.jsonl does not exist; expected a data file"),
        ("dev.jsonl", b"", "the data set dev is empty; expected at least one example"),
        ("dev.jsonl", DEV + DEV, "dev.jsonl line 5 has the id 'a', already used in dev.jsonl line 1; expected unique ids"),
        ("dev.jsonl", DEV.replace(b'"it is raining", "rain falls"', b""), "1 of 4 examples has no references ('b'); expected at least one each, since bleu needs them"),
        ("dev.jsonl", DEV.replace(b"Dogs", b"D\xffgs"), "dev.jsonl line 3 has byte 0xff at position"),
        ("dev.jsonl", DEV.replace(b"Dogs", b"D\x00gs"), "dev.jsonl line 3 has a NUL character"),
        ("dev.jsonl", DEV.replace(b"Dogs", b"D\\u0000gs"), "dev.jsonl line 3: 'source' holds a NUL character at position 2"),
        ("dev.jsonl", DEV.replace(b"Dogs", b"D\\ud83dgs"), "dev.jsonl line 3: 'source' holds a lone surrogate (\\ud83d) at position 2"),
        ("good.jsonl", None, "good.jsonl does not exist; expected a file of outputs"),
        ("good.jsonl", GOOD[:-27], "good.jsonl lacks 1 of the data set's ids ('d'); expected the data set's 4 ids, each once (where there is no output, null: it counts as failed)"),
        ("good.jsonl", GOOD + b'{"id": "z", "output": "x"}\n', "good.jsonl has 1 id that the data set does not have ('z')"),
        ("good.jsonl", GOOD + GOOD, "good.jsonl line 5 has the id 'a', already used in good.jsonl line 1"),
        ("good.jsonl", GOOD.replace(b'"x"', b'"\\ud800"'), "good.jsonl line 1: 'output' holds a lone surrogate"),
    ],
)  # fmt: skip
def test_files(files: Path, cli: Callable[..., Called], name: str, content: bytes | None, expected: str) -> None:
    if content is None:
        (files / name).unlink()
    else:
        (files / name).write_bytes(content)
    before = {path: path.read_bytes() for path in files.iterdir() if path.is_file()}
    called = cli(*RUN)
    assert called.code == 1
    assert expected in called.err
    assert called.err.startswith("harness: ")
    assert len(called.err.strip().splitlines()) == 1
    assert called.out == ""
    assert {path: path.read_bytes() for path in files.iterdir() if path.is_file()} == before
    assert not list(files.rglob("scores.json"))


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        (("dataset.columns.source=article",), "dev.jsonl line 1 has no 'article'; found: id, source, references, topic"),
        (("dataset.cluster=speaker",), "dev.jsonl line 1 has no 'speaker'; found: id, source, references, topic (dataset.cluster=speaker)"),
        (("system.path=lines.txt",), "lines.txt has 1 line; expected 4, one for each example of the data set"),
        (("output_dir=dev.jsonl/out",), "the run folder dev.jsonl/out cannot be written"),
        (("limit=0",), "limit=0; expected at least 1"),
        (("metrics=[]",), "no metric was chosen"),
    ],
)  # fmt: skip
def test_options(files: Path, cli: Callable[..., Called], more: tuple[str, ...], expected: str) -> None:
    (files / "lines.txt").write_text("one\n")
    called = cli(*RUN, *more)
    assert called.code == 1
    assert expected in called.err
    assert len(called.err.strip().splitlines()) == 1


def test_marks_line_ends_and_long_lines_are_fine(files: Path, cli: Callable[..., Called]) -> None:
    clean = cli(*RUN, "output_dir=clean")
    assert clean.code == 0
    (files / "dev.jsonl").write_bytes(b"\xef\xbb\xbf" + DEV.replace(b"\n", b"\r\n"))
    (files / "good.jsonl").write_bytes(b"\xef\xbb\xbf" + (files / "good.jsonl").read_bytes().replace(b"\n", b"\r\n"))
    assert cli(*RUN, "output_dir=marked").code == 0
    assert (files / "clean" / "scores.json").read_bytes() == (files / "marked" / "scores.json").read_bytes()
    rows = [{**ROWS[0], "references": ["word " * 200_000]}, *ROWS[1:]]
    write_jsonl(files / "dev.jsonl", rows)
    assert cli(*RUN, "metrics=bleu", "output_dir=long").code == 0


def test_an_example_without_references_is_fine_where_none_is_needed(files: Path, cli: Callable[..., Called]) -> None:
    (files / "conf" / "metrics").mkdir(parents=True)
    (files / "conf" / "metrics" / "words.yaml").write_text("words:\n  _target_: harness.testing.WordCount\n")
    write_jsonl(files / "dev.jsonl", [{"id": row["id"], "source": row["source"]} for row in ROWS])
    called = cli(*RUN, "--config-dir", "conf", "metrics=words")
    assert called.code == 0, called.err
    assert cli(*RUN).code == 1
