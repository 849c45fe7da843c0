"""`engine=ray` beside `engine=local`: the same run by threads of one process, and by two replicas of one core each.

`BENCH_SCALE=0.01 python -m benchmarks engines` tries it on a hundredth of the pairs. The start of Ray, until its first
replica is ready, is shown apart: a cluster that runs already does not take it.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.generation import saved, written
from benchmarks.processes import Used, measured
from benchmarks.whole import BYTES, MANY, MILLION, folder_of, left_out, room, run, warmed

RAY = ["engine=ray", "engine.address=local", "engine.replicas=2"]
FILES = ("scores.json", "examples.parquet", "statistics.parquet")
OUTPUTS, NEW = 200, 24
SLOWER, SHARE, DRIVER = 1.2, 0.6, 2.0


class Row(NamedTuple):
    """A line of the table."""

    what: str
    engine: str
    used: Used
    start: float | None = None
    ratio: float | None = None
    files: str = ""
    target: str = ""

    def __str__(self) -> str:
        figures = [f"{self.used.wall:.1f}", *(_shown(value, 1) for value in (self.start, self.used.peak))]
        return f"| {' | '.join([self.what, self.engine, *figures, _shown(self.ratio, 2), self.files, self.target])} |"


def _shown(value: float | None, digits: int) -> str:
    return "" if value is None else f"{value:.{digits}f}"


def tables() -> Iterator[str]:
    yield (
        "The same run by threads of one process and by two replicas of one core each on a Ray cluster that it starts. "
        "The start of Ray, until its first replica is ready, is a column of its own and not part of the ratio."
    )
    yield ""
    head = "what | engine | wall, s | start of Ray, s | peak of the driver, GB | ratio of wall, start apart"
    yield f"| {head} | files | target |"
    yield "| --- | --- | ---: | ---: | ---: | ---: | --- | --- |"
    yield from pairs()
    yield from many()
    yield from outputs()


def pairs() -> Iterator[str]:
    """BLEU and ROUGE of a million pairs, in turn."""
    with folder_of(MILLION, plain=False) as folder:
        warmed(folder)
        local, ray = run("bleu,rouge", 1_000, "local"), [*run("bleu,rouge", 1_000, "ray"), *RAY]
        what = f"{MILLION:,} pairs, BLEU and ROUGE"
        mine, theirs = measured(local, folder), measured(ray, folder)
        yield str(Row(what, "local", mine))
        start, same = started(folder / "ray"), alike(folder / "local", folder / "ray")
        ratio = (theirs.wall - start) / mine.wall
        yield str(Row(what, "ray, 2 replicas", theirs, start, ratio, same, f"at most {SLOWER}"))


def many() -> Iterator[str]:
    if room() < MANY * BYTES:
        yield left_out()
        return
    with folder_of(MANY, plain=False) as folder:
        used = measured([*run("bleu,rouge", 1_000, "ray"), *RAY], folder)
        target = f"ends, driver under {DRIVER:g} GB"
        what, start = f"{MANY:,} pairs, BLEU and ROUGE", started(folder / "ray")
        yield str(Row(what, "ray, 2 replicas", used, start, target=target))


def outputs() -> Iterator[str]:
    """A model on one core, and two of it on one each."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model, data = saved(folder / "model"), written(folder / "data.jsonl", OUTPUTS)
        command = [
            sys.executable, "-m", "harness", "run", "dataset=file", f"dataset.path={data}", "system=huggingface",
            f"system.model={model}", "system.chat=false", f"system.max_new_tokens={NEW}", "system.device=cpu",
            "system.batch_tokens=1024", "metrics=[exact_match]", "tracking=none", "cache=none", "progress=false",
        ]  # fmt: skip
        what = f"{OUTPUTS} outputs of at most {NEW} tokens, SmolLM2-135M"
        mine = measured([*command, "engine.threads=1", "output_dir=local"], folder)
        theirs = measured([*command, "output_dir=ray", *RAY], folder)
        yield str(Row(what, "local, threads=1", mine))
        start, same = started(folder / "ray"), alike(folder / "local", folder / "ray")
        ratio = (theirs.wall - start) / mine.wall
        yield str(Row(what, "ray, 2 replicas", theirs, start, ratio, same, f"the same outputs, at most {SHARE}"))


def started(folder: Path) -> float:
    """Seconds until the first replica was ready."""
    manifest: dict[str, Any] = json.loads((folder / "manifest.json").read_text())
    return float(manifest["engine"]["start"])


def alike(folder: Path, other: Path) -> str:
    same = all((folder / name).read_bytes() == (other / name).read_bytes() for name in FILES)
    return "the same bytes" if same else "DIFFERENT"
