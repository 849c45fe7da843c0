"""Run folders whose Parquet files are some kilobytes that would be gigabytes of rows: one message, and little memory."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from harness.analysis.stored.loading import load_run
from harness.inputs import expanded
from harness.types import HarnessError
from tests.conftest import Called
from tests.hostile import bounded, folders

Cli = Callable[..., Called]
Received = Callable[..., Path]
N = 8192
OPTIONS = ("--resamples", "50", "--no-progress")
COMMANDS = (
    ("compare", "good", "bad", *OPTIONS),
    ("table", "good", "bad", *OPTIONS),
    ("report", "good", "bad", "-o", "r.html", *OPTIONS),
    ("plot", "good", "bad", "-o", "f", "--format", "json", *OPTIONS),
    ("power", "good", "bad", *OPTIONS),
    ("best", "good", "bad", *OPTIONS),
    ("score", "good", "metrics=[ter]", "tracking=none", "progress=false"),
    ("sync", "good", "--uri", "sqlite:///s.db"),
)


def repeated(values: int = N) -> pa.Array:
    """A megabyte stored once for so many rows."""
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(values, np.int32)), ["x" * 2**20])


def in_lists() -> pa.Array:
    return pa.ListArray.from_arrays(pa.array(range(N + 1), pa.int32()), repeated())


def in_structs() -> pa.Array:
    return pa.StructArray.from_arrays([repeated()], ["inner"])


def one_list() -> pa.Array:
    """A hundred and forty million nulls in the first row."""
    values = 14 * 10**7
    return pa.ListArray.from_arrays(pa.array([0, *[values] * N], pa.int32()), pa.nulls(values, pa.int8()))


def fixed() -> pa.Array:
    return pa.array([b"x" * 2**17] * N, pa.binary(2**17))


def examples(folder: Path, name: str, column: pa.Array, **how: Any) -> None:
    """examples.parquet of N rows with this column."""
    path = folder / "examples.parquet"
    with pq.ParquetFile(path) as file:
        table = file.read()
    columns = {field: table.column(field).take([0] * N) for field in table.column_names}
    columns |= {"id": pa.array([str(i) for i in range(N)]), name: column}
    pq.write_table(pa.table(columns), path, compression="zstd", **how)


def statistics(folder: Path, rows: int = 7 * 10**6) -> None:
    """statistics.parquet of so many rows, all zeros."""
    path = folder / "statistics.parquet"
    with pq.ParquetFile(path) as file:
        schema = file.schema_arrow
    group = pa.table({field.name: pa.array(np.zeros(10**6)) for field in schema}).replace_schema_metadata(
        schema.metadata
    )
    with pq.ParquetWriter(path, group.schema, compression="zstd") as writer:
        for _ in range(rows // 10**6):
            writer.write_table(group)


def columns(folder: Path) -> None:
    path = folder / "examples.parquet"
    with pq.ParquetFile(path) as file:
        table = file.read()
    names = [f"c{i}" for i in range(20_000)]
    pq.write_table(pa.table({f: table.column(f) for f in table.column_names} | dict.fromkeys(names, table["id"])), path)


def one_repeat(folder: Path) -> None:
    """One of 8,192 examples has a repeat 8,191: sixty million places for rows."""
    examples(folder, "repeat", pa.array([0] * (N - 1) + [N - 1], pa.int32()))
    path = folder / "statistics.parquet"
    with pq.ParquetFile(path) as file:
        table = file.read()
    pq.write_table(table.take([0] * N), path)


DELTA = {"use_dictionary": False, "column_encoding": {"output": "DELTA_BYTE_ARRAY"}}
IN_ALL = "more than 1,073,741,824 bytes of rows up to the column {!r} in a file of "
BOMBS = [
    ("one text", lambda f: examples(f, "output", repeated()), "examples", IN_ALL.format("output")),
    ("one reference", lambda f: examples(f, "references", in_lists()), "examples", IN_ALL.format("references.list.element")),
    ("a field", lambda f: examples(f, "topic", in_structs()), "examples", IN_ALL.format("topic.inner")),
    ("one list", lambda f: examples(f, "topic", one_list()), "examples", IN_ALL.format("topic.list.element")),
    ("fixed", lambda f: examples(f, "topic", fixed()), "examples", IN_ALL.format("topic")),
    ("prefixes", lambda f: examples(f, "output", pa.array(["x" * 2**17] * N), **DELTA), "examples", IN_ALL.format("output")),
    ("columns", columns, "examples", "columns, at most 12,000 are read"),
    ("one repeat", one_repeat, "examples", "a repeat 8191 among 8192 rows of 8192 examples"),
    ("zeros", statistics, "statistics", "more than 1,073,741,824 bytes of rows up to the column "),
]  # fmt: skip
ATTACKS = pytest.mark.parametrize(
    ("attack", "file", "said"), [bomb[1:] for bomb in BOMBS], ids=[bomb[0] for bomb in BOMBS]
)


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """The folder with a bomb, made once."""
    made: dict[Any, Path] = {}

    def of(attack: Callable[[Path], None], folder: Path) -> Path:
        if attack not in made:
            made[attack] = tmp_path_factory.mktemp("bomb") / "good"
            shutil.copytree(folder, made[attack])
            attack(made[attack])
        return made[attack]

    return of


@pytest.mark.slow
@ATTACKS
def test_file_that_is_far_larger_than_it_looks(
    finished: Path, kept: Callable[..., Path], attack: Callable[[Path], None], file: str, said: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(expanded, "room", lambda: 2**30)
    folder = kept(attack, finished / "good")
    with pytest.raises(HarnessError) as raised:
        load_run(folder).table  # noqa: B018
    assert str(raised.value).startswith(f"{folder}/{file}.parquet cannot be read ({said}" if said[0] == "m" else "")
    assert said in str(raised.value)
    assert f"; expected the {file} of a run" in str(raised.value)


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS, ids=[command[0] for command in COMMANDS])
@ATTACKS
def test_no_command_takes_the_memory(
    finished: Path, tmp_path: Path, kept: Callable[..., Path],
    attack: Callable[[Path], None], file: str, said: str, command: tuple[str, ...],
) -> None:  # fmt: skip
    shutil.copytree(kept(attack, finished / "good"), tmp_path / "good")
    folders.copy(finished / "bad", tmp_path / "bad")
    code, printed = bounded.harness(*command, folder=tmp_path, memory=3 * bounded.GIB, seconds=120)
    assert "Traceback" not in printed
    needless = file == "statistics" and command[0] in ("score", "sync")  # these read other files only
    if not needless and (command[0], attack) != ("sync", one_repeat):  # which logs rows and resamples none
        assert code == 1, printed
        assert f"good/{file}.parquet cannot be read (" in printed
        assert said in printed


def large(path: Path, texts: pa.Array) -> None:
    lists = pa.ListArray.from_arrays(pa.array(np.arange(len(texts) + 1, dtype=np.int32)), texts)
    ids = pa.array(np.arange(len(texts))).cast("string")
    pq.write_table(pa.table({"id": ids, "output": texts, "references": lists}), path, compression="zstd")


@pytest.mark.parametrize(
    ("rows", "length", "free"),
    [(20_000, 5_000, 2**20), pytest.param(1_000_000, 300, 2**30, marks=pytest.mark.slow)],
)
def test_large_runs_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: int, length: int, free: int
) -> None:
    """Long texts, each of its own, whatever they take; and as long as it is not too much, one text for all."""
    path = tmp_path / "examples.parquet"
    letters = np.random.default_rng(0).integers(97, 123, rows * length // 10, np.uint8).tobytes().decode() * 10
    own = pa.array([letters[i * length : (i + 1) * length] + str(i) for i in range(rows)])
    for texts, free_then in ((own, free), (own.take([0] * rows), 2**30)):
        monkeypatch.setattr(expanded, "room", lambda room=free_then: room)
        large(path, texts)
        with pq.ParquetFile(path) as file:
            expanded.check_expanded(path, file)
