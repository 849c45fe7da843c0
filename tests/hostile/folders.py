"""Small finished runs, and ways to damage a copy of one: other JSON, other Parquet metadata, other kinds of files."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable, Mapping
from contextlib import chdir, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tests.conftest import BAD, GOOD, ROWS, write_jsonl

DOCUMENTS = ("manifest.json", "scores.json")
FILES = (*DOCUMENTS, "examples.parquet", "statistics.parquet")
PAYLOAD = """import pathlib, sys
pathlib.Path({marker!r}).touch()
class Metric:
    incidental = ()
    def __init__(self, **options): pathlib.Path({marker!r}).touch()
def score(sums):
    pathlib.Path({marker!r}).touch()
    return sums[:, 0]
"""
"""A module that leaves a mark wherever any of it is run."""


def make(place: Path) -> None:
    """`good` and `bad` below `place`: run folders of two systems on the same four examples."""
    from harness.cli.main import main

    data = write_jsonl(place / "dev.jsonl", ROWS)
    for name, outputs in (("good", GOOD), ("bad", BAD)):
        rows = [{"id": row["id"], "output": output} for row, output in zip(ROWS, outputs, strict=True)]
        predictions = write_jsonl(place / f"{name}.jsonl", rows)
        words = ["run", "dataset=file", f"dataset.path={data}", "system=predictions", f"system.path={predictions}"]
        words += ["metrics=[bleu,chrf]", "stats.resamples=100", "tracking=none", f"output_dir={place / name}"]
        before = list(sys.argv), list(sys.path)
        code: Any = 0
        try:
            with chdir(place), redirect_stdout(StringIO()), redirect_stderr(StringIO()):
                main([*words, f"name={name}", "progress=false"])
        except SystemExit as ended:
            code = ended.code
        finally:
            sys.argv, sys.path[:] = before
        assert not code, words


def edit_json(folder: Path, name: str, change: Callable[[Any], Any]) -> None:
    """The document with what `change` makes of it; a change that returns None changed it in place."""
    path = folder / name
    content = json.loads(path.read_text())
    changed = change(content)
    path.write_text(json.dumps(content if changed is None else changed))


def put(folder: Path, name: str, place: str, value: Any) -> None:
    """`value` at a dotted place of a document: `put(folder, "manifest.json", "dataset.key", 5)`."""

    def change(content: Any) -> None:
        *path, last = place.split(".")
        for key in path:
            content = content[key]
        content[last] = value

    edit_json(folder, name, change)


def described(folder: Path) -> dict[str, Any]:
    """What statistics.parquet says of its metrics."""
    metadata = pq.read_schema(folder / "statistics.parquet").metadata
    content: dict[str, Any] = json.loads(metadata[b"harness"])
    return content


def describe(folder: Path, content: Any) -> None:
    """statistics.parquet with this in place of what it says of its metrics: text as it is, else as JSON."""
    path = folder / "statistics.parquet"
    with pq.ParquetFile(path) as file:
        table = file.read()
    text = content if isinstance(content, str | bytes) else json.dumps(content)
    pq.write_table(table.replace_schema_metadata({"harness": text}), path)


def name_metric(folder: Path, target: Any, options: Any = None, metric: str = "bleu") -> None:
    """The rows of a metric as those of another: its `_target_` and options."""
    content = described(folder)
    content["metrics"][metric] |= {"_target_": target} | ({} if options is None else {"options": options})
    describe(folder, content)


def replace_column(folder: Path, name: str, values: Any, file: str = "examples.parquet") -> None:
    """A Parquet file with another column of that name; None: without it."""
    path = folder / file
    with pq.ParquetFile(path) as opened:
        table = opened.read()
    metadata = table.schema.metadata
    columns: Mapping[str, Any] = {key: table.column(key) for key in table.column_names} | {name: values}
    columns = {key: column for key, column in columns.items() if column is not None}
    pq.write_table(pa.table(columns).replace_schema_metadata(metadata), path)


def as_folder(folder: Path, name: str) -> None:
    (folder / name).unlink()
    (folder / name).mkdir()


def as_link(folder: Path, name: str, target: Path) -> None:
    (folder / name).unlink(missing_ok=True)
    (folder / name).symlink_to(target)


def as_pipe(folder: Path, name: str) -> None:
    (folder / name).unlink(missing_ok=True)
    os.mkfifo(folder / name)


def nested(levels: int, kind: str = "[]") -> str:
    """JSON of so many levels."""
    return ('{"a":' if kind == "{}" else "[") * levels + "1" + ("}" if kind == "{}" else "]") * levels


def copy(source: Path, target: Path) -> Path:
    shutil.copytree(source, target)
    return target
