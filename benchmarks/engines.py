"""`engine=ray` beside `engine=local`: the same run by threads of one process, and by two replicas of one core each.

`BENCH_SCALE=0.01 python -m benchmarks engines` tries it on a hundredth of the pairs. The cluster is one that runs
already, as a user's does: how long it took to start is said apart, and so is the time that a run takes to import Ray,
to join the cluster and to get its first replica.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.generation import saved, written
from benchmarks.processes import Used, measured
from benchmarks.whole import BYTES, MANY, MILLION, folder_of, left_out, room, run, warmed
from harness.engines import cluster

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


@contextmanager
def running() -> Iterator[tuple[list[str], float]]:
    """(the overrides that use a cluster of this machine, the seconds that it took to start)."""
    import ray

    begun = time.perf_counter()
    cluster.connect("local")
    started = time.perf_counter() - begun
    address = ray.get_runtime_context().gcs_address
    try:
        yield ["engine=ray", f"engine.address={address}", "engine.replicas=2"], started
    finally:
        ray.shutdown()


def tables() -> Iterator[str]:
    with running() as (overrides, seconds):
        yield (
            "The same run by threads of one process and by two replicas of one core each on a Ray cluster of this "
            f"machine, which took {seconds:.1f} s to start. What a run takes to import Ray, to join the cluster and "
            "to get its first replica is a column of its own and not part of the ratio."
        )
        yield ""
        head = "what | engine | wall, s | until the first replica, s | peak of the driver, GB | ratio, that apart"
        yield f"| {head} | files | target |"
        yield "| --- | --- | ---: | ---: | ---: | ---: | --- | --- |"
        yield from pairs(overrides)
        yield from many(overrides)
        yield from outputs(overrides)


def pairs(on_ray: list[str]) -> Iterator[str]:
    """BLEU and ROUGE of a million pairs, in turn."""
    with folder_of(MILLION, plain=False) as folder:
        warmed(folder)
        local, ray = run("bleu,rouge", 1_000, "local"), [*run("bleu,rouge", 1_000, "ray"), *on_ray]
        what = f"{MILLION:,} pairs, BLEU and ROUGE"
        mine, theirs = measured(local, folder), measured(ray, folder)
        yield str(Row(what, "local", mine))
        start, same = started(folder / "ray"), alike(folder / "local", folder / "ray")
        ratio = (theirs.wall - start) / mine.wall
        yield str(Row(what, "ray, 2 replicas", theirs, start, ratio, same, f"at most {SLOWER}"))


def many(on_ray: list[str]) -> Iterator[str]:
    if room() < MANY * BYTES:
        yield left_out()
        return
    with folder_of(MANY, plain=False) as folder:
        used = measured([*run("bleu,rouge", 1_000, "ray"), *on_ray], folder)
        target = f"ends, driver under {DRIVER:g} GB"
        what, start = f"{MANY:,} pairs, BLEU and ROUGE", started(folder / "ray")
        yield str(Row(what, "ray, 2 replicas", used, start, target=target))


def outputs(on_ray: list[str]) -> Iterator[str]:
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
        theirs = measured([*command, "output_dir=ray", *on_ray], folder)
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
