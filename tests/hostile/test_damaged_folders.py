"""Damaged run folders: whatever stands where, every command ends with one message that names the file, or goes on."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from harness.analysis.stored.loading import load_run
from harness.store.records import record
from harness.store.rescored import Stored
from harness.types import HarnessError
from tests.conftest import Called
from tests.hostile import folders

Cli = Callable[..., Called]
Received = Callable[..., Path]
FAST = ("--resamples", "100", "--no-progress")
COMMANDS = (
    ("compare", "good", "bad", *FAST),
    ("table", "good", "bad", *FAST),
    ("report", "good", "bad", "-o", "r.html", *FAST),
    ("plot", "good", "bad", "-o", "f", "--format", "json", *FAST),
    ("power", "good", "bad", *FAST),
    ("best", "good", "bad", *FAST),
    ("runs", "--in", "."),
    ("runs", "--in", ".", "--json"),
    ("score", "good", "metrics=[ter]", "tracking=none", "progress=false"),
    ("sync", "good", "--uri", "sqlite:///s.db"),
)
WRONG: tuple[Any, ...] = (None, True, -1, 1e308, 2**70, "", "x", [], [1], {}, {"a": 1})
"""Values of every type, to stand in for those of another."""


def places(content: Any, prefix: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The way to every value of a document, two levels into mappings, the first item of each mapping of scores."""
    if isinstance(content, dict):
        for key, value in list(content.items())[
            : 2 if prefix[-1:] in (("scores",), ("metrics",), ("packages",)) else None
        ]:
            yield (*prefix, key)
            if len(prefix) < 3:
                yield from places(value, (*prefix, key))


def put(path: Path, place: tuple[str, ...], value: Any, without: bool = False) -> None:
    content = json.loads(path.read_text())
    inner = content
    for key in place[:-1]:
        inner = inner[key]
    if without:
        del inner[place[-1]]
    else:
        inner[place[-1]] = value
    path.write_text(json.dumps(content))


def read_all(folder: Path) -> list[str]:
    """What readers of a folder say of it; anything but a message is an error of the test."""
    said = []
    for read in (load_run, record, Stored):
        try:
            result: Any = read(folder)
            if read is load_run:
                result.examples  # noqa: B018
        except HarnessError as error:
            said.append(str(error))
    return said


@pytest.mark.slow
@pytest.mark.parametrize("name", folders.DOCUMENTS)
def test_a_wrong_type_at_every_place(received: Received, name: str) -> None:
    """Every field of both documents, absent and of every other type: read, or refused with one message."""
    folder = received("good")
    files, refused = (name, "examples.parquet", "not as this harness writes it", "written by an earlier harness"), 0
    for place, wrong, _ in damaged(folder, name):
        said = read_all(folder)
        refused += bool(said)
        assert all(any(file in message for file in files) and "\n" not in message for message in said), (place, wrong)
    assert refused > 100


@pytest.mark.slow
@pytest.mark.parametrize("command", [COMMANDS[i] for i in (1, 6, 8)], ids=lambda command: command[0])
@pytest.mark.parametrize("name", folders.DOCUMENTS)
def test_commands_on_what_is_read_all_the_same(
    cli: Cli, received: Received, name: str, command: tuple[str, ...]
) -> None:
    """Where a reader has nothing to say of the damage, no command stumbles over it."""
    folder = received("good")
    received("bad")
    for place, wrong, whole in damaged(folder, name):
        if not read_all(folder):
            assert "Traceback" not in cli(*command).err, (place, wrong)
        (folder / name).write_text(whole)


def damaged(folder: Path, name: str) -> Iterator[tuple[tuple[str, ...], Any, str]]:
    """(where, what, the text before) for each way to damage a document, which is as it was after each."""
    whole = (folder / name).read_text()
    for place in places(json.loads(whole)):
        for wrong in (*WRONG, "absent"):
            put(folder / name, place, wrong, without=wrong == "absent")
            yield place, wrong, whole
            (folder / name).write_text(whole)


CASES = [
    ("manifest.json", "generation", {"cost": "free"}, "good/manifest.json is not that of a finished run ('free' for 'generation.cost')"),
    ("manifest.json", "generation", [], "good/manifest.json is not that of a finished run ([] for 'generation')"),
    ("manifest.json", "git", "abc", "good/manifest.json is not that of a finished run ('abc' for 'git')"),
    ("manifest.json", "git", {"commit": 5}, "good/manifest.json is not that of a finished run (5 for 'git.commit')"),
    ("manifest.json", "metrics", {"bleu": 1}, "good/manifest.json is not that of a finished run (1 for 'metrics.bleu')"),
    ("manifest.json", "metrics", {"bleu": {}}, "good/manifest.json is not that of a finished run (no 'metrics.bleu.signature')"),
    ("manifest.json", "mlflow", {"run_id": 1}, "good/manifest.json is not that of a finished run (1 for 'mlflow.run_id')"),
    ("manifest.json", "mlflow", {}, "good/manifest.json is not that of a finished run (no 'mlflow.run_id')"),
    ("manifest.json", "mlflow_run_ids", [1], "good/manifest.json is not that of a finished run (1 for 'mlflow_run_ids.0')"),
    ("manifest.json", "dataset.examples", "4", "good/manifest.json is not that of a finished run ('4' for 'dataset.examples')"),
    ("manifest.json", "dataset.about", [], "good/manifest.json is not that of a finished run ([] for 'dataset.about')"),
    ("manifest.json", "dataset.cluster", "nowhere", "good/examples.parquet cannot be read (no column 'nowhere')"),
    ("manifest.json", "dataset.strata", "nowhere", "good/examples.parquet cannot be read (no column 'nowhere')"),
    ("manifest.json", "system.repeats", True, "good/manifest.json is not that of a finished run (True for 'system.repeats')"),
    ("manifest.json", "system.step", "1", "good/manifest.json is not that of a finished run ('1' for 'system.step')"),
    ("manifest.json", "seed", 2**70, "good/manifest.json is not that of a finished run"),
    ("manifest.json", "started", "0001-01-01T00:00:00", "good/manifest.json is not that of a finished run ('0001-01-01T00:00:00' for a time)"),
    ("manifest.json", "config.tracking", "x", "good/manifest.json is not that of a finished run ('x' for 'tracking')"),
    ("manifest.json", "config.tracking.uri", 5, "good/manifest.json is not that of a finished run (5 for 'tracking.uri')"),
    ("manifest.json", "config.dataset", "x", "good/manifest.json is not that of a finished run ('x' for 'dataset')"),
    ("scores.json", "health", [], "good/scores.json is not that of a finished run ([] for 'health')"),
    ("scores.json", "health.warnings", "x", "good/scores.json is not that of a finished run ('x' for 'health.warnings')"),
    ("scores.json", "stopped", {"score": "bleu"}, "good/scores.json is not that of a finished run (no 'stopped.answer')"),
    ("scores.json", "failed", "0", "good/scores.json is not that of a finished run ('0' for 'failed')"),
    ("scores.json", "scores.bleu.level", "x", "good/scores.json is not that of a finished run ('x' for 'scores.bleu.level')"),
    ("scores.json", "scores.bleu.digits", -1, "good/scores.json is not that of a finished run (-1 for 'scores.bleu.digits')"),
    ("scores.json", "scores.bleu.note", 5, "good/scores.json is not that of a finished run (5 for 'scores.bleu.note')"),
    ("scores.json", "scores.bleu.higher_is_better", "yes", "('yes' for 'scores.bleu.higher_is_better')"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "place", "value", "expected"), CASES)
def test_the_message_of_each(cli: Cli, received: Received, name: str, place: str, value: Any, expected: str) -> None:
    folders.put(received("good"), name, place, value)
    received("bad")
    called = cli("compare", "good", "bad", *FAST)
    assert called.code == 1
    assert called.err.count("\n") == 1
    assert expected in called.err


TEXTS = [
    ("", "is not JSON"),
    ("{", "is not JSON"),
    ("NaN", "is not JSON"),
    ("\ufeff{}", "is not JSON"),
    ('"\\ud800"', "is not JSON"),
    (folders.nested(1_000), "is not that of a finished run (more than 64 levels of nesting)"),
    (folders.nested(1_000, "{}"), "is not that of a finished run (more than 64 levels of nesting)"),
    (folders.nested(1_000_000), "is not JSON (depth limit exceeded"),
    (f'{{"schema": 1, "config": {folders.nested(900)}}}', "is not that of a finished run (more than 64 levels of nesting)"),
    ("1" * 5_000, "is not JSON"),
]  # fmt: skip


@pytest.mark.parametrize("name", folders.DOCUMENTS)
@pytest.mark.parametrize(("text", "expected"), TEXTS, ids=[str(i) for i in range(len(TEXTS))])
def test_documents_that_are_none(cli: Cli, received: Received, name: str, text: str, expected: str) -> None:
    (received("good") / name).write_text(text)
    received("bad")
    for command in COMMANDS:
        called = cli(*command)
        assert "Traceback" not in called.err
        if command[0] != "runs":
            assert called.code == 1, command
            assert f"good/{name} {expected}" in called.err + called.out, command
    assert "good" in cli("runs", "--in", ".").out


HEADS = [
    ("[]", "[] for an object"),
    ("{", "unexpected end of data"),
    ({}, "no 'metrics'"),
    ({"metrics": []}, "[] for 'metrics'"),
    ({"metrics": {"bleu": 1}}, "1 for 'metrics.bleu'"),
    ({"metrics": {"bleu": {}}}, "no 'metrics.bleu._target_'"),
    (folders.nested(1_000), "more than 64 levels of nesting"),
    (f'{{"metrics": {folders.nested(900, "{}")}}}', "more than 64 levels of nesting"),
]
FIELDS = [
    ("_target_", 5, "5 for 'metrics.bleu._target_'"),
    ("_target_", None, "None for 'metrics.bleu._target_'"),
    ("options", "x", "'x' for 'metrics.bleu.options'"),
    ("version", "1", "'1' for 'metrics.bleu.version'"),
    ("columns", [], "nothing in 'metrics.bleu.columns'"),
    ("columns", ["nowhere"], "0 columns bleu:nowhere"),
    ("columns", [1], "1 for 'metrics.bleu.columns.0'"),
    ("definition", "x", "'x' for 'metrics.bleu.definition'"),
    ("definition", {"a": {}}, "{} for 'metrics.bleu.definition.a'"),
    ("provenance", None, "None for 'metrics.bleu.provenance'"),
    ("key", 5, "5 for 'metrics.bleu.key'"),
    ("lists", ["sys_len"], "int64 for lists of whole numbers"),
]


@pytest.mark.parametrize(("head", "expected"), HEADS, ids=[str(i) for i in range(len(HEADS))])
def test_heads_of_statistics(cli: Cli, received: Received, head: Any, expected: str) -> None:
    folders.describe(received("good"), head)
    received("bad")
    for command in COMMANDS[:6]:
        called = cli(*command)
        assert called.code == 1 and called.err.count("\n") == 1, command
        assert called.err.startswith("harness: good/statistics.parquet cannot be read (")
        assert expected in called.err


@pytest.mark.slow
@pytest.mark.parametrize(("field", "value", "expected"), FIELDS)
def test_fields_of_statistics(cli: Cli, received: Received, field: str, value: Any, expected: str) -> None:
    folder = received("good")
    content = folders.described(folder)
    content["metrics"]["bleu"][field] = value
    folders.describe(folder, content)
    received("bad")
    called = cli(*COMMANDS[0])
    assert (called.code, called.err.count("\n")) == (1, 1)
    assert called.err.startswith("harness: good/statistics.parquet cannot be read (")
    assert expected in called.err
    assert cli(*COMMANDS[8]).code == 0  # the rows are computed again


OPTIONS = [
    ("harness.metrics.bleu.Bleu", {"max_order": "4"}, "metrics.bleu.max_order is '4'; expected a whole number"),
    ("harness.metrics.bleu.Bleu", {"max_order": 10**6}, "metrics.bleu.max_order=1000000; expected 1 to 9"),
    ("harness.metrics.bleu.Bleu", {"weights": "x"}, "metrics.bleu.weights is 'x'; expected a list of numbers or null"),
    ("harness.metrics.chrf.Chrf", {}, "statistics.parquet: bleu has the columns sys_len, "),
    ("harness.metrics.python.PythonMetric", {"function": "f:f", "name": [1]}, "metrics.bleu.name is [1]; expected a text"),
]  # fmt: skip


@pytest.mark.parametrize(("target", "options", "expected"), OPTIONS)
def test_options_of_stored_metrics(cli: Cli, received: Received, target: str, options: Any, expected: str) -> None:
    folders.name_metric(received("good"), target, options)
    received("bad")
    called = cli(*COMMANDS[0])
    assert (called.code, called.err.count("\n")) == (1, 1)
    assert expected in called.err


YEAR = datetime.datetime(2026, 1, 1)
TABLES = [
    ("examples.parquet", "id", None, "no column 'id'"),
    ("examples.parquet", "id", [1, 2, 3, 4], "the column 'id' is not as a run writes it, but of int64"),
    ("examples.parquet", "id", ["a", "b", None, "d"], "the column 'id' is not as a run writes it"),
    ("examples.parquet", "id", ["a", "b", "b", "d"], "an id twice"),
    ("examples.parquet", "references", ["a", "b", "c", "d"], "the column 'references' is not as a run writes it, but of string"),
    ("examples.parquet", "references", [["a"], None, ["c"], ["d"]], "the column 'references' is not as a run writes it"),
    ("examples.parquet", "references", [["a"], [None], ["c"], ["d"]], "the column 'references' is not as a run writes it"),
    ("examples.parquet", "references", [[["a"]], [], [], []], "the column 'references' is not as a run writes it"),
    ("examples.parquet", "repeat", ["0", "0", "0", "0"], "the column 'repeat' is not as a run writes it, but of string"),
    ("examples.parquet", "repeat", [0, 0, -1, 2**40], "the column 'repeat' is not as a run writes it"),
    ("examples.parquet", "output", [1.0, 2.0, 3.0, 4.0], "the column 'output' is not as a run writes it, but of double"),
    ("examples.parquet", "bleu", ["1", "2", "3", "4"], "the column 'bleu' is not as a run writes it, but of string"),
    ("examples.parquet", "topic", pa.array([2**62] * 4, pa.timestamp("us")), "cannot be read ("),
    ("examples.parquet", "raw_output", None, "no column 'raw_output'"),
    ("statistics.parquet", "bleu:sys_len", None, "0 columns bleu:sys_len"),
    ("statistics.parquet", "bleu:sys_len", ["1", "2", "3", "4"], "not only finite numbers in the column bleu:sys_len"),
    ("statistics.parquet", "bleu:sys_len", [float("inf")] * 4, "not only finite numbers in the column bleu:sys_len"),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("file", "column", "values", "expected"), TABLES)
def test_columns(cli: Cli, received: Received, file: str, column: str, values: Any, expected: str) -> None:
    folders.replace_column(received("good"), column, values, file)
    received("bad")
    called = cli(*COMMANDS[0])
    assert (called.code, called.err.count("\n")) == (1, 1)
    assert called.err.startswith(f"harness: good/{file} cannot be read (")
    assert expected in called.err
    for command in COMMANDS:
        assert "Traceback" not in cli(*command).err


def test_text_that_is_no_unicode_and_rows_that_are_missing(cli: Cli, received: Received) -> None:
    received("bad")
    broken = pa.Array.from_buffers(
        pa.string(),
        4,
        [None, pa.py_buffer(b"\0\0\0\0\1\0\0\0\2\0\0\0\3\0\0\0\4\0\0\0"), pa.py_buffer(b"\xff\xfe\xfd\xfc")],
    )
    folder = received("good")
    folders.replace_column(folder, "output", broken)
    assert "good/examples.parquet cannot be read (" in cli(*COMMANDS[0]).err
    shorter = received("good", "short")
    import pyarrow.parquet as pq

    with pq.ParquetFile(shorter / "examples.parquet") as file:
        table = file.read()
    pq.write_table(table.slice(0, 3), shorter / "examples.parquet")
    called = cli("compare", "short", "bad", *FAST)
    assert "short/examples.parquet cannot be read (3 rows, and 4 of statistics); expected the examples" in called.err


def test_what_pandas_is_told_is_not_followed(cli: Cli, received: Received) -> None:
    import pyarrow.parquet as pq

    path = received("good") / "examples.parquet"
    with pq.ParquetFile(path) as file:
        table = file.read()
    advice = {"index_columns": ["id"], "columns": [{"name": "id", "pandas_type": "x"}], "column_indexes": 5}
    pq.write_table(table.replace_schema_metadata({"pandas": json.dumps(advice)}), path)
    received("bad")
    called = cli(*COMMANDS[0])
    assert called.code == 0, called.err
    assert list(load_run("good").examples["id"]) == ["a", "b", "c", "d"]


def test_a_manifest_without_schema_is_written_anew(cli: Cli, finished: Path, received: Received) -> None:
    """As its message promises: the same run again mends the folder."""
    folder = received("good")
    manifest = json.loads((folder / "manifest.json").read_text())
    words = ["run", "dataset=file", f"dataset.path={finished / 'dev.jsonl'}", "system=predictions"]
    words += [f"system.path={finished / 'good.jsonl'}", "metrics=[bleu,chrf]", "stats.resamples=100", "tracking=none"]
    words += ["name=good", "progress=false", "output_dir=good"]
    assert cli(*words).code == 0
    before = {name: (folder / name).read_bytes() for name in folders.FILES[1:]}
    folders.edit_json(folder, "manifest.json", lambda content: {k: v for k, v in content.items() if k != "schema"})
    received("bad")
    refused = cli(*COMMANDS[0])
    assert "(no 'schema'); expected it as a run leaves it (the same harness run writes it anew)" in refused.err
    again = cli(*words)
    assert again.code == 0, again.err
    assert cli(*COMMANDS[0]).code == 0
    assert {name: (folder / name).read_bytes() for name in folders.FILES[1:]} == before
    assert json.loads((folder / "manifest.json").read_text())["key"] == manifest["key"]
