"""Tracking: what logging a run to MLflow on SQLite adds, against MLflow's own calls for the same."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks import resume
from benchmarks.lexical import clock


def tables() -> Iterator[str]:
    """Everything in one process; the run is evaluated first, then logged anew to an empty store each time."""
    with tempfile.TemporaryDirectory() as folder, inside(Path(folder)):
        resume.write(Path(folder))
        evaluated(Path(folder))
        from harness.store.finished import read
        from harness.tracking.mlflow import MlflowTracker

        imports = clock(lambda: __import__("mlflow.tracking.client"), 1)
        run = read(Path("out"), None)
        tracker = MlflowTracker("warm", f"sqlite:///{folder}/mlflow.db")
        empty = clock(lambda: tracker.log(run, None), 1)
        times, theirs = [], []
        for i in range(3):
            start = time.perf_counter()
            MlflowTracker(f"ours-{i}", tracker.uri).log(run, None)
            times.append(time.perf_counter() - start)
            theirs.append(by_mlflow(tracker.uri, f"theirs-{i}", Path("out")))
        size = sum(path.stat().st_size for path in Path("out").iterdir()) / 1e6
        yield (
            f"A run of {resume.EXAMPLES:,} examples with every lexical metric, {len(run.scores)} scores with their "
            f"bounds, {size:.1f} MB, logged to SQLite: numbers, parameters, tags, data set, description, table of "
            f"examples and files. The best of three; load of the machine {os.getloadavg()[0]:.1f}."
        )
        yield ""
        yield "| | s |"
        yield "| --- | ---: |"
        yield f"| harness | {min(times):.2f} |"
        yield f"| MLflow, a `log_metric` and `log_param` a value, `log_table`, `log_artifact` | {min(theirs):.2f} |"
        yield ""
        yield f"Once: importing MLflow {imports:.1f} s, and making the store with the first run in it {empty:.1f} s."


def evaluated(folder: Path) -> None:
    """The run folder `out`, nothing logged."""
    from harness.cli.main import main

    suite = "metrics=[bleu,chrf,chrfpp,ter,nist,rouge,exact_match,token_f1]"
    data = ("dataset=file", "dataset.path=dev.jsonl", "system=predictions", "system.path=outputs.jsonl")
    with open(folder / "printed.txt", "w") as printed, redirected(printed.fileno()):
        try:
            main(["run", *data, suite, "stats.resamples=1000", "tracking=none", "output_dir=out", "progress=false"])
        except SystemExit as ended:
            if ended.code:
                raise


def by_mlflow(uri: str, experiment: str, folder: Path) -> float:
    """Seconds for the same through MLflow's interface, a call a value and the examples by `log_table`."""
    import json

    import mlflow
    import pandas as pd

    from harness.store.finished import read
    from harness.tracking.labelling import params_of

    scores = json.loads((folder / "scores.json").read_text())["scores"]
    params = params_of(read(folder, None))

    before = mlflow.get_tracking_uri()
    mlflow.set_tracking_uri(uri)
    mlflow.create_experiment(experiment, (Path.cwd() / "mlartifacts").as_uri())
    mlflow.set_experiment(experiment)
    start = time.perf_counter()
    with mlflow.start_run():
        for name, score in scores.items():
            for value in ("estimate", "low", "high"):
                if score[value] is not None:
                    mlflow.log_metric(name if value == "estimate" else f"interval/{name}.{value}", score[value])
        for param in params:
            mlflow.log_param(param.key, param.value)
        mlflow.log_table(pd.read_parquet(folder / "examples.parquet"), "examples.json")
        for path in sorted(folder.iterdir()):
            mlflow.log_artifact(str(path))
    spent = time.perf_counter() - start
    mlflow.set_tracking_uri(before)
    return spent


@contextmanager
def inside(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


@contextmanager
def redirected(descriptor: int) -> Iterator[None]:
    """Standard output goes to a file."""
    kept = os.dup(1)
    os.dup2(descriptor, 1)
    try:
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)
