"""Reading data: ten million rows through a selection in bounded memory, every format, and what a row costs."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import orjson

from benchmarks.lexical import _peak
from harness.datasets.file import FileDataset
from harness.datasets.selection import Selection
from harness.datasets.text import TextDataset
from harness.inputs import files
from harness.inputs.kept import Kept
from harness.run.reading import content_of
from harness.systems.predictions import Predictions
from harness.types import Texts

MANY, SOME, RUN = 10_000_000, 1_000_000, 100_000
SELECTIONS: dict[str, dict[str, Any]] = {
    "shard": {"shard": "0/1000"},
    "sample": {"sample": 1000},
    "filter": {"filter": "doc == 'document 7'"},
}


def row(i: int) -> dict[str, Any]:
    source = f"sentence number {i} of a document that says little but says it at some length"
    return {
        "id": f"ex-{i}",
        "source": source,
        "references": [f"reference {i} " + source[:50]],
        "doc": f"document {i // 20}",
    }


def write(path: Path, n: int) -> None:
    """n rows of about 200 bytes."""
    if path.suffix == ".jsonl":
        with open(path, "wb") as handle:
            for i in range(n):
                handle.write(orjson.dumps(row(i)) + b"\n")
    elif path.suffix == ".csv":
        with open(path, "w", newline="") as text:
            writer = csv.writer(text)
            writer.writerow(row(0))
            writer.writerows(
                [example["id"], example["source"], example["references"][0], example["doc"]]
                for example in map(row, range(n))
            )
    elif path.suffix == ".parquet":
        import pyarrow as pa
        import pyarrow.parquet as pq

        with pq.ParquetWriter(path, pa.Table.from_pylist([row(0)]).schema) as parquet:
            for start in range(0, n, 50_000):
                parquet.write_table(pa.Table.from_pylist([row(i) for i in range(start, min(n, start + 50_000))]))
    else:
        with open(path, "w") as text:
            text.writelines(row(i)["source"] + "\n" for i in range(n))


def measured(path: str, selection: str) -> dict[str, float]:
    """In a process of its own: seconds of processor time, examples selected, memory before and at most."""
    dataset = TextDataset(path) if path.endswith(".txt") else FileDataset(path)
    select = Selection(**SELECTIONS[selection])
    next(dataset.blocks())  # imports what the format needs
    before, start = _peak(), time.process_time()
    chosen = sum(map(len, select.blocks(dataset.blocks())))
    return {"seconds": time.process_time() - start, "chosen": chosen, "before": before, "peak": _peak()}


def streaming(folder: Path) -> Iterator[str]:
    yield "| rows | format | selection | examples | seconds | rows a second | peak memory, MiB | of it before reading |"
    yield "| ---: | --- | --- | ---: | ---: | ---: | ---: | ---: |"
    cases = [
        *((n, "jsonl", "shard") for n in (RUN, SOME, MANY)),
        (MANY, "jsonl", "sample"),
        (SOME, "jsonl", "filter"),
        *((SOME, suffix, "shard") for suffix in ("csv", "parquet", "txt")),
    ]
    for n, suffix, selection in cases:
        path = folder / f"{n}.{suffix}"
        if not path.exists():
            write(path, n)
        command = [sys.executable, "-m", "benchmarks.reading", str(path), selection]
        answer = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        ((name, value), *_) = SELECTIONS[selection].items()
        yield (
            f"| {n:,} | {suffix} | `{name}={value}` | {answer['chosen']:,} | {answer['seconds']:.1f} | "
            f"{n / answer['seconds']:,.0f} | {answer['peak']:.0f} | {answer['before']:.0f} |"
        )


def costs(folder: Path) -> Iterator[str]:
    """What 100,000 rows cost before any metric sees them."""
    path, outputs = folder / f"{RUN}.jsonl", folder / "outputs.jsonl"
    outputs.write_bytes(
        b"".join(orjson.dumps({"id": f"ex-{i}", "output": row(i)["source"]}) + b"\n" for i in range(RUN))
    )
    lines = path.read_bytes().splitlines()
    kept = Kept.of(*FileDataset(str(path)).blocks())
    ids = Texts.joined([block.ids for block in kept.blocks()])

    def drained(rows: Iterator[Any]) -> None:
        for _ in rows:
            pass

    stages: dict[str, Callable[[], object]] = {
        "JSON parsed by the standard library": lambda: drained(map(json.loads, lines)),
        "JSON parsed by orjson": lambda: drained(map(orjson.loads, lines)),
        "rows with their places": lambda: drained(files.read_rows(path, "data")),
        "examples as columns": lambda: drained(FileDataset(str(path)).blocks()),
        "examples one by one": lambda: drained(FileDataset(str(path)).examples()),
        "the data's key": lambda: content_of(kept).key,
        "outputs of `system=predictions`, aligned": lambda: Predictions(str(outputs)).align(ids),
    }
    yield f"| {RUN:,} rows | seconds |"
    yield "| --- | ---: |"
    for name, work in stages.items():
        yield f"| {name} | {min(spent(work) for _ in range(5)):.2f} |"


def spent(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def tables() -> Iterator[str]:
    with tempfile.TemporaryDirectory() as name:
        yield (
            "Every row is read and checked, as columns; what is not selected is dropped at once. "
            "One core; seconds of processor time, since that is what other work on the machine disturbs least.\n"
        )
        yield from streaming(Path(name))
        yield ""
        yield from costs(Path(name))


if __name__ == "__main__":
    print(json.dumps(measured(*sys.argv[1:])))
