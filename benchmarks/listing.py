"""`harness runs` over thousands of run folders, in a process of its own, from `python` to the printed table."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

from benchmarks.lexical import clock

RUNS = 10_000
QUESTIONS = {
    "all, the newest first": (),
    "filtered": ("dataset=embedded", "bleu>8", "since=5000d", "stats.seed=12345"),
    "sorted": ("--sort", "-bleu"),
    "filtered, sorted, the first 20": ("bleu>8", "--sort", "-rouge1", "--limit", "20"),
    "all, as JSON": ("--json",),
}


def tables() -> Iterator[str]:
    yield (
        f"{RUNS:,} run folders in 20 experiments, made from a real run with `metrics=lexical`. The first command reads "
        "scores.json and manifest.json of each and leaves an index; the others, the best of five, look at each folder "
        "and read what changed. Imports included."
    )
    yield ""
    yield f"| {RUNS:,} runs | command | seconds |"
    yield "| --- | --- | ---: |"
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)}
    call = partial(subprocess.run, cwd=None, env=environment, check=True, capture_output=True)
    with tempfile.TemporaryDirectory() as folder:
        harness = [sys.executable, "-m", "harness"]
        call([*harness, "run", "metrics=lexical", "tracking=none", "output_dir=one"], cwd=folder)
        copy(Path(folder) / "one", Path(folder) / "runs", RUNS)
        index = Path(folder) / "runs" / ".cache" / "records.sqlite"
        index.unlink(missing_ok=True)
        seconds = clock(partial(call, [*harness, "runs"], cwd=folder), 1)
        yield f"| all, without an index | `harness runs` | {seconds:.2f} |"
        for name, arguments in QUESTIONS.items():
            command = [*harness, "runs", *arguments]
            seconds = clock(partial(call, command, cwd=folder), 5)
            words = " ".join(f"'{word}'" if ">" in word else word for word in arguments)
            yield f"| {name} | `{f'harness runs {words}'.strip()}` | {seconds:.2f} |"


def copy(source: Path, runs: Path, number: int) -> None:
    """Runs of other names, scores and times."""
    chance = random.Random(1)
    scores, manifest = (json.loads((source / name).read_text()) for name in ("scores.json", "manifest.json"))
    ended = datetime.fromisoformat(manifest["ended"])
    for i in range(number):
        folder = runs / f"experiment-{i % 20}" / f"trial-{i}-{i:08x}"
        folder.mkdir(parents=True)
        scores["name"] = manifest["name"] = f"trial-{i}"
        for name in ("bleu", "rouge1"):
            scores["scores"][name]["estimate"] = 20 * chance.random() if name == "bleu" else chance.random()
        manifest["started"] = manifest["ended"] = (ended - timedelta(hours=i)).isoformat()
        manifest["config"]["tracking"]["experiment"] = f"experiment-{i % 20}"
        (folder / "scores.json").write_text(json.dumps(scores, indent=2))
        (folder / "manifest.json").write_text(json.dumps(manifest, indent=2))
        for table in ("examples.parquet", "statistics.parquet"):
            (folder / table).touch()
