"""Resume: the same command on a finished run, in a process of its own, from `python` to the printed table."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from benchmarks.lexical import clock

EXAMPLES = 10_000
SYSTEMS = {
    "outputs in a file": ("system=predictions", "system.path=outputs.jsonl"),
    "outputs in the journal": ("system=lead",),
}


def tables() -> Iterator[str]:
    yield (
        f"`harness run … metrics=lexical` of {EXAMPLES:,} examples, logged to MLflow, and the same command again, "
        "imports included. The best of three."
    )
    yield ""
    yield "| | first, s | again, s |"
    yield "| --- | ---: | ---: |"
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)}
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder))
        for name, system in SYSTEMS.items():
            command = [sys.executable, "-m", "harness", "run", "dataset=file", "dataset.path=dev.jsonl", *system]
            work = partial(
                subprocess.run,
                [*command, "metrics=lexical"],
                cwd=folder,
                env=environment,
                check=True,
                capture_output=True,
            )
            first = clock(work, 1)
            yield f"| {name} | {first:.1f} | {clock(work, 3):.2f} |"


def write(folder: Path, examples: int = EXAMPLES) -> None:
    """dev.jsonl and outputs.jsonl with about 20 words an example."""
    chance = random.Random(1)
    words = [f"w{i}" for i in range(3000)]
    with open(folder / "dev.jsonl", "w") as data, open(folder / "outputs.jsonl", "w") as outputs:
        for i in range(examples):
            source, reference, output = (" ".join(chance.choices(words, k=20)) for _ in range(3))
            row = {"id": str(i), "source": source, "references": [reference]}
            data.write(json.dumps(row) + "\n")
            outputs.write(json.dumps({"id": str(i), "output": f"{reference[:60]} {output[:60]}"}) + "\n")
