"""What links and traces cost: `python -m benchmarks linking`.

Runs are synced to SQLite twice in one process, with their links (every number with its data set and its model, each run
a model of its own) and as they were logged before there were links; and one run is logged with 100 and with 10,000
examples as traces. RUNS in the environment is another number of runs than 1,000.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks import resume
from benchmarks.tracking import evaluated, inside
from harness.inputs.files import digest

RUNS = int(os.environ.get("RUNS", "1000"))
TRACES = (100, 10_000)
SMALL = ("scores.json", "config.yaml", "environment.json", "examples.parquet", "statistics.parquet", "manifest.json")


def tables() -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder, inside(Path(folder)):
        resume.write(Path(folder))
        evaluated(Path(folder))
        yield from links(Path(folder))
        yield ""
        yield from traces(Path(folder))


def links(folder: Path) -> Iterator[str]:
    """Every other batch of runs with links, so that both meet the same machine and a store of the same size."""
    folders = copies(folder, RUNS)
    spent = {False: 0.0, True: 0.0}
    uris = {linked: f"sqlite:///{folder}/{'linked' if linked else 'plain'}.db" for linked in spent}
    for uri in uris.values():  # the store is made, and MLflow imported, before the clock runs
        synced(folders[:1], uri, True)
    for start in range(1, RUNS, 50):
        for linked in spent:
            spent[linked] += synced(folders[start : start + 50], uris[linked], linked)
    yield (
        f"`harness sync` of {RUNS:,} runs of 8 scores to SQLite, each of a model of its own, in turns of 50; load of "
        f"the machine {os.getloadavg()[0]:.1f}."
    )
    yield ""
    yield "| | processor, s | ratio |"
    yield "| --- | ---: | ---: |"
    yield f"| numbers without data set and model, no model | {spent[False]:.1f} | 1 |"
    yield f"| with both | {spent[True]:.1f} | {spent[True] / spent[False]:.2f} |"


def copies(folder: Path, number: int) -> list[Path]:
    """The run `out` many times, each of another model and with few examples."""
    import pyarrow.parquet as pq

    manifest = json.loads((folder / "out" / "manifest.json").read_text())
    made = []
    for i in range(number):
        place = folder / "copies" / f"run-{i}"
        place.mkdir(parents=True)
        for name in SMALL:
            source = folder / "out" / name
            if name.endswith(".parquet"):
                pq.write_table(pq.read_table(source).slice(0, 20), place / name)
            elif name != "manifest.json" and source.exists():
                (place / name).write_bytes(source.read_bytes())
        key = digest([i])
        about = {**manifest["system"].get("about", {}), "model_key": key}
        own = {**manifest, "key": key, "system": {**manifest["system"], "about": about}}
        (place / "manifest.json").write_text(json.dumps(own))
        made.append(place)
    return made


def synced(folders: list[Path], uri: str, linked: bool) -> float:
    """Seconds of the processor for logging these runs."""
    from harness.store.finished import read
    from harness.tracking.mlflow import MlflowTracker

    with plain(not linked):
        tracker = MlflowTracker("many", uri)
        start = time.process_time()
        for folder in folders:
            tracker.log(read(folder, None), None)
        return time.process_time() - start


@contextmanager
def plain(wanted: bool) -> Iterator[None]:
    """Runs as they were logged before there were links."""
    from harness.tracking import logged_models
    from harness.tracking.logged_numbers import Of

    model_of, metric = logged_models.model_of, Of.metric

    def unlinked(self: Of, name: str, value: float, moment: int, step: int) -> Any:
        from mlflow.entities import Metric

        return Metric(name, value, moment, step)

    if wanted:
        logged_models.model_of = lambda client, experiment, run: None
        Of.metric = unlinked  # type: ignore[method-assign]
    try:
        yield
    finally:
        logged_models.model_of = model_of
        Of.metric = metric  # type: ignore[method-assign]


def traces(folder: Path) -> Iterator[str]:
    from harness.store.finished import read
    from harness.tracking.mlflow import MlflowTracker

    run = read(folder / "out", None)
    scores = sum(score.headline for score in run.scores.values())
    yield (
        f"A run with {scores} headline scores and 20 words in each text, logged to SQLite with so many of its examples "
        "as traces, beside the same without."
    )
    yield ""
    yield "| traces | processor, s | wall, s | MB of SQLite |"
    yield "| ---: | ---: | ---: | ---: |"
    for number in TRACES:
        spent = []
        for wanted in (0, number):
            uri = f"sqlite:///{folder}/traces-{number}-{wanted}.db"
            MlflowTracker("warm", uri).log(run, None)
            before = time.process_time(), time.perf_counter(), _size(uri)
            MlflowTracker("traces", uri, traces=wanted).log(run, None)
            after = time.process_time(), time.perf_counter(), _size(uri)
            spent.append([now - then for now, then in zip(after, before, strict=True)])
        processor, wall, size = (with_ - without for without, with_ in zip(*spent, strict=True))
        yield f"| {number:,} | {processor:.1f} | {wall:.1f} | {size / 1e6:.1f} |"


def _size(uri: str) -> int:
    """Bytes of a store, what is not yet merged into its file included."""
    file = Path(uri.removeprefix("sqlite:///"))
    return sum(path.stat().st_size for path in (file, Path(f"{file}-wal")) if path.exists())
