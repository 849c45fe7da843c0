"""Odd options, odd names and odd files: each is refused with one message that says place, found and expected, or is
handled right. A case is a line."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROWS, Called, write_jsonl

Cli = Callable[..., Called]
RUN = (
    "run", "dataset=file", "dataset.path=dev.jsonl", "system=predictions", "system.path=good.jsonl",
    "metrics=exact_match", "tracking=none", "progress=false",
)  # fmt: skip
HUGE = "99999999999999999999999"


def refused(called: Called, expected: str) -> None:
    """One message, no traceback, nothing on standard output."""
    assert called.code in (1, 2), (called.code, called.out, called.err)
    lines = called.err.strip().splitlines()
    assert len(lines) == 1, called.err
    assert lines[0].startswith("harness: ")
    assert expected in lines[0]
    assert called.out == ""


# ---------------------------------------------------------------- options

OPTIONS = [
    ("name='  '", "name='  ' is blank; expected a name, or null for <dataset>-<system>"),
    ("name=''", "name='' is blank; expected a name"),
    ("name='\t'", "name='\\t' is blank; expected a name"),
    ("name='\u200b'", "name='\\u200b' is blank; expected a name"),
    ("output_dir=''", "output_dir='' is blank; expected a folder, . for the one you are in"),
    ("output_dir=' '", "output_dir=' ' is blank; expected a folder"),
    ("name='a\udcffb'", "name holds a lone surrogate (\\udcff) at position 2; expected Unicode text"),
    (f"limit={HUGE}", f"limit={HUGE}; expected a whole number of at most 18 digits"),
    ("limit=" + "9" * 5000, "an override has a number of thousands of digits; expected at most 18"),
    ("limit=0", "limit=0; expected at least 1"),
    (f"dataset.sample={HUGE}", f"dataset.sample={HUGE}; expected a whole number of at most 18 digits"),
    (f"dataset.shard=0/{HUGE}", f"dataset.shard=0/{HUGE}; expected i/n with i from 0 to n - 1 and at most 18 digits each"),
    ("dataset.shard='٠/٤'", "dataset.shard=٠/٤; expected i/n"),
    ("cache_gb=nan", "cache_gb=nan; expected a finite number"),
    ("cache_gb=inf", "cache_gb=inf; expected a finite number"),
    ("cache_gb=-1", "cache_gb=-1.0; expected gigabytes, 0 or more"),
    ("cache_gb=1e300", "cache_gb=1e+300; expected gigabytes, 0 or more"),
    ("stats.level=nan", "stats.level=nan; expected a finite number"),
    ("metrics=null", "metrics=null is not a choice; metrics has: answer_relevance, bertscore, bleu, chrf,"),
    ("system=null", "system=null is not a choice; system has: adapters, bm25, checkpoints, column, command, copy,"),
    ("dataset=null", "dataset=null is not a choice; dataset has: beir, embedded, file, huggingface,"),
    ("postprocess=null", "postprocess=null is not a choice; postprocess has: chat, none, strip"),
    ("stats=null", "stats=null is not a choice; stats has: default"),
    ("tracking=null", "tracking=null is not a choice; tracking has: mlflow, none"),
    ("dataset={a:1}", "dataset={a:1} is not a choice; dataset has: beir, embedded, file, huggingface,"),
    ("dataset=[1,null]", "dataset=[1,null] is not a choice; dataset has: beir, embedded, file, huggingface,"),
    ("dataset._target_=5", "dataset._target_ is 5; expected module.Class"),
    ("dataset._target_=os.sep", "dataset._target_=os.sep is a str; expected module.Class"),
    ("dataset._target_=.x", "dataset._target_=.x cannot be imported"),
    ("dry_run=5", "dry_run=5; expected true or false"),
    ("json=5", "json=5; expected true or false"),
    ("progress=1.5", "progress=1.5; expected true or false"),
    ("retry_failed=null", "retry_failed=None; expected true or false"),
    ("dry_run=???", "dry_run is not set; expected dry_run=…"),
    ('name="${nope}"', "name: Interpolation key 'nope' not found; expected ${…} to name what is there"),
    ('name="${oc.env:NOPE_NOPE}"', "name: KeyError raised while resolving interpolation: \"Environment variable 'NOPE_NOPE' not found\""),
]  # fmt: skip


@pytest.mark.parametrize(("option", "expected"), OPTIONS, ids=[option[:40] for option, _ in OPTIONS])
def test_options(files: Path, cli: Cli, option: str, expected: str) -> None:
    before = sorted(files.rglob("*"))
    refused(cli(*RUN, option), expected)
    assert sorted(files.rglob("*")) == before


def test_options_of_scoring_again(files: Path, cli: Cli) -> None:
    assert cli(*RUN, "output_dir=out").code == 0
    refused(cli("score", "out", "progress=5"), "progress=5; expected true or false")
    refused(cli("score", "out", "name=' '"), "name=' ' is blank; expected a name")
    refused(cli("score", "out", "output_dir=''"), "output_dir='' is blank; expected a folder")
    refused(cli("score", "out", f"stats.seed={HUGE}"), f"stats.seed={HUGE}; expected a whole number")


def test_a_device_that_is_not_there_is_said_before_anything_is_generated(files: Path, cli: Cli) -> None:
    bertscore = ("metrics=bertscore", "system=lead", "dataset=file", "dataset.path=dev.jsonl", "tracking=none")
    for device, reason in (("cuda:99", "cuda:99"), ("abacus", "abacus"), ("meta", "it computes nothing")):
        called = cli("run", *bertscore, f"metrics.bertscore.device={device}")
        refused(called, f"metrics.bertscore.device={device} cannot be used here (")
        assert reason in called.err
        assert "expected one of auto, cpu" in called.err
        assert not list(files.rglob("outputs.jsonl"))


# ---------------------------------------------------------------- data


def parquet(path: Path, **columns: Any) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table(columns), path)


def test_parquet_time_after_the_year_9999(files: Path, cli: Cli) -> None:
    import pyarrow as pa

    times = pa.array([0, 300_000_000_000, None, 0], pa.timestamp("s"))
    parquet(files / "dev.parquet", id=list("abcd"), references=["x"] * 4, when=times)
    called = cli(*RUN, "dataset.path=dev.parquet")
    refused(called, "dev.parquet row 2: 'when' cannot be read (")
    assert "; expected UTF-8 text, times of the years 1 to 9999, numbers" in called.err


@pytest.mark.parametrize("inside", ["[{}]", '{{"a": {}}}'])
def test_metadata_that_is_nested_without_end(files: Path, cli: Cli, inside: str) -> None:
    value = "1"
    for _ in range(500):
        value = inside.format(value)
    (files / "dev.jsonl").write_text(f'{{"id": "a", "references": ["x"], "deep": {value}}}\n')
    refused(cli(*RUN), "is nested more than 64 levels deep; expected fewer")


def test_repeats_beyond_reason(files: Path, cli: Cli) -> None:
    called = cli(
        "run", "dataset=file", "dataset.path=dev.jsonl", "system=random", "system.repeats=99999999999", "tracking=none"
    )
    refused(called, "system.repeats=99,999,999,999; expected at most 100,000")


def test_parquet_column_twice(files: Path, cli: Cli) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    ids, texts = pa.array(list("abcd")), pa.array(["x"] * 4)
    pq.write_table(pa.Table.from_arrays([ids, texts, ids], ["id", "references", "id"]), files / "dev.parquet")
    refused(cli(*RUN, "dataset.path=dev.parquet"), "dev.parquet has the column 'id' twice; expected each name once")


def test_ids_that_start_in_the_second_row(files: Path, cli: Cli) -> None:
    rows = [{k: v for k, v in ROWS[0].items() if k != "id"}, *ROWS[1:]]
    write_jsonl(files / "dev.jsonl", rows)
    expected = "dev.jsonl line 2 has an 'id', and the rows before it have none; expected one in all rows, or in none"
    refused(cli(*RUN), expected)


CHANGES = (
    "metadata.update(topic='pets') or true", "metadata.clear() or true", "metadata.pop('topic') != 'x'",
    "metadata.setdefault('new', 1) == 1", "tags.append('x') or true", "tags.sort() or true", "tags.reverse() or true",
    "metadata.__setitem__('topic', 1) or true",
)  # fmt: skip


@pytest.mark.parametrize("expression", CHANGES)
def test_filters_change_nothing(files: Path, cli: Cli, expression: str) -> None:
    write_jsonl(files / "dev.jsonl", [{**row, "tags": ["b", "a"]} for row in ROWS])
    refused(
        cli(*RUN, f'dataset.filter="{expression}"'),
        f"dataset.filter={expression} fails on the example 'a' (access to attribute",
    )


def test_metadata_named_as_the_column_of_other_metadata(files: Path, cli: Cli) -> None:
    """`output` has the column `metadata.output`, so a field of that name has another."""
    write_jsonl(files / "dev.jsonl", [{**row, "metadata.output": "dotted", "output": "plain"} for row in ROWS])
    assert cli(*RUN, "output_dir=out").code == 0
    assert cli("score", "out", "metrics=token_f1", "output_dir=again").code == 0  # from the stored columns and back
    import pyarrow.parquet as pq

    for folder in ("out", "again"):
        table = pq.read_table(files / folder / "examples.parquet").to_pydict()
        assert table["metadata.output"] == ["plain"] * 4
        assert table["metadata.metadata.output"] == ["dotted"] * 4


# ---------------------------------------------------------------- folders


def test_one_odd_run_is_listed_beside_the_others(files: Path, cli: Cli) -> None:
    for name in ("first", "second", "third"):
        assert cli(*RUN, f"name={name}").code == 0
    for name, blank in (("first", "  "), ("second", "")):
        (folder,) = (files / "runs" / "harness").glob(f"{name}-*")
        scores = json.loads((folder / "scores.json").read_text())
        (folder / "scores.json").write_text(json.dumps({**scores, "name": blank}))
    called = cli("runs")
    assert called.code == 0, called.err
    for name in ("first", "second", "third"):
        assert f"runs/harness/{name}-" in called.out
    assert cli("runs", "--json").code == 0


def test_times_by_an_expression(files: Path, cli: Cli) -> None:
    assert cli(*RUN).code == 0
    assert "1 run" in cli("runs", "ended~2").out
    assert "does not fit" in cli("runs", "ended!~2").out
    refused(cli("runs", "--in", "x" * 5000), "xxx; expected one with runs")


def test_only_own_files_are_swept(files: Path, cli: Cli) -> None:
    mine = {f".{name}.tmp": name for name in ("notes", "scores.json", "scores.json.abc")}
    for name, content in mine.items():
        (files / name).write_text(content)
    (files / ".folder.harness-unfinished").mkdir()
    (files / ".scores.json.k1ll3d.harness-unfinished").write_text("half")
    called = cli(*RUN, "output_dir=.")
    assert called.code == 0, called.err
    assert {path.name: path.read_text() for path in files.glob(".*.tmp")} == mine
    assert [path.name for path in files.glob(".*.harness-unfinished")] == [".folder.harness-unfinished"]
    assert cli(*RUN, "output_dir=.").code == 0  # it is a run's folder now


@pytest.mark.parametrize("name", ["config.yaml", "manifest.json"])
def test_files_that_no_run_wrote_are_not_overwritten(files: Path, cli: Cli, name: str) -> None:
    (files / name).write_text("mine: 1")
    refused(
        cli(*RUN, "output_dir=."),
        f"{name} would be overwritten, and . is not the folder of a run; expected a new folder",
    )
    assert (files / name).read_text() == "mine: 1"
    assert not (files / ".lock").exists()


def test_a_multirun_where_nothing_can_be_written(files: Path, cli: Cli) -> None:
    (files / "runs").write_text("a file where the folder belongs")
    called = cli(*RUN, "--multirun", "name=a,b")
    refused(called, "cannot be written (")
    assert "runs" in called.err
    assert "expected a folder that can be written" in called.err


@pytest.mark.parametrize("number", [errno.EROFS, errno.ENOSPC])
def test_a_multirun_on_a_disk_that_takes_nothing(
    files: Path, cli: Cli, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    make = os.mkdir

    def mkdir(path: Any, *options: Any, **named: Any) -> None:
        if ".multirun" in str(path) or str(path).endswith("runs"):
            raise OSError(number, os.strerror(number), str(path))
        make(path, *options, **named)

    monkeypatch.setattr(os, "mkdir", mkdir)
    refused(cli(*RUN, "--multirun", "name=a,b"), f"cannot be written ({os.strerror(number)}); expected a folder")


@pytest.mark.skipif(os.name != "posix", reason="the lock of POSIX")
@pytest.mark.parametrize("number", [errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP, errno.EACCES])
def test_a_file_system_without_locks(files: Path, cli: Cli, number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def flock(descriptor: int, operation: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("fcntl.flock", flock)
    reason = os.strerror(number)
    refused(cli(*RUN, "output_dir=out"), f"the run folder out is on a file system without locks ({reason}); expected")


def test_clearing_a_cache_that_cannot_be_written(files: Path, cli: Cli) -> None:
    lead = ("run", "dataset=file", "dataset.path=dev.jsonl", "system=lead", "metrics=exact_match", "tracking=none")
    assert cli(*lead).code == 0
    store = files / "runs" / ".cache" / "outputs.sqlite"
    assert store.exists()
    journal = Path(f"{store}-journal")
    journal.unlink(missing_ok=True)
    journal.mkdir()  # SQLite cannot write without its journal
    for flags in (("--clear",), ("--prune", "--max-size", "0KB"), ("--prune", "--older-than", "0d")):
        refused(cli("cache", *flags), "outputs.sqlite cannot be pruned (")
    journal.rmdir()
    called = cli("cache", "--clear")
    assert (called.code, called.err) == (0, "4 entries removed\n")
