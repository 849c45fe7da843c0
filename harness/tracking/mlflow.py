"""`tracking=mlflow`: a run folder as a run in MLflow.

Scores are logged under their names, bounds as `<name>/ci_low` and `<name>/ci_high`, in as few calls as MLflow allows;
the config as parameters; content keys and signatures as tags; the folder's files as artifacts. A run whose result is in
the store already is not logged again. Runs of one group (a multirun) are nested under one parent run.
"""

from __future__ import annotations

import logging
import os
import socket
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from harness.files import digest, file_digest, flat
from harness.types import HarnessError, RunResult, Score, Tracked

MAX_METRICS, MAX_PARAMS, MAX_VALUE, MAX_TAG, MAX_NOTE = 1000, 100, 6000, 5000, 8000  # MLflow's limits
TABLE_OF_RUNS = {"mlflow.experimentKind": "custom_model_development"}  # else the pages open on empty traces
ARTIFACTS = ("scores.json", "examples.parquet", "statistics.parquet", "config.yaml")
INCIDENTAL = (
    "name", "output_dir", "group", "retry_failed", "max_failed", "cache", "cache_gb", "dry_run", "json", "progress",
)  # fmt: skip
"""May differ when the same result is logged again; MLflow refuses a parameter of another value."""


def default_uri(runs: Path) -> str:
    """The environment's store, else SQLite in the runs folder."""
    return os.environ.get("MLFLOW_TRACKING_URI") or f"sqlite:///{runs.absolute() / 'mlflow.db'}"


class MlflowTracker:
    def __init__(self, experiment: str = "harness", uri: str | None = None) -> None:
        if not experiment.strip():
            raise HarnessError("tracking.experiment is empty; expected a name")
        self.runs = Path("runs")
        self.experiment = experiment
        self.uri = uri or default_uri(self.runs)
        if self.uri.startswith(("file:", ".", "/", "~")) or Path(self.uri).is_dir():
            raise HarnessError(
                f"tracking.uri={self.uri} is a folder store, which MLflow 3 no longer writes; "
                "expected sqlite:///FILE, http://HOST:PORT or a database URI"
            )

    def log(self, run: RunResult, group: str | None) -> Tracked:
        """Logs a stored run; raises whatever MLflow raises, for the caller to turn into a warning."""
        assert run.path is not None
        result = digest([file_digest(run.path / n) for n in ("scores.json", "statistics.parquet", "examples.parquet")])
        where = {"harness.key": run.manifest["key"], "harness.result": result}
        known = run.manifest["mlflow"]
        if known is not None and _logged(self.uri, self.experiment, known["run_id"], where, group):
            return Tracked(known["run_id"], self.uri, known["where"])
        reachable(self.uri)
        os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "2")
        from mlflow import MlflowClient

        quiet()
        if self.uri.startswith("sqlite:///"):
            Path(self.uri.removeprefix("sqlite:///")).parent.mkdir(parents=True, exist_ok=True)
        with _first(self.uri):
            client = MlflowClient(tracking_uri=self.uri)
            experiment = self._experiment(client)
            parent = self._parent(client, experiment, {"harness.group": group}, f"multirun {group}") if group else None
            series = _series(run)
            if series:
                parent = self._parent(client, experiment, {"harness.series": series, **_below(parent)}, series)
        where |= _below(parent)
        run_id, finished = _find(client, experiment, where)
        if run_id is None:
            tags = {**where, "mlflow.runName": run.name}
            start = _milliseconds(run.manifest["started"])
            run_id = client.create_run(experiment, start_time=start, tags=tags, run_name=run.name).info.run_id
        if not finished:
            if series and parent:
                _log(client, parent, metrics_of(run))  # all steps in one run: the page draws them as a curve
            self._fill(client, run_id, run)
        return Tracked(run_id, self.uri, self._page(experiment, run_id))

    def _experiment(self, client: Any) -> str:
        from mlflow.exceptions import MlflowException

        found = client.get_experiment_by_name(self.experiment)
        if found is None:
            # without a server MLflow would put artifacts in ./mlruns of whatever folder it is called in
            local = self.uri.startswith("sqlite:")
            location = (self.runs.absolute() / "mlartifacts").as_uri() if local else None
            try:
                return str(client.create_experiment(self.experiment, location, tags=TABLE_OF_RUNS))
            except MlflowException:  # another process was quicker
                found = client.get_experiment_by_name(self.experiment)
                if found is None:
                    raise
        if found.lifecycle_stage == "deleted":
            raise HarnessError(
                f"the MLflow experiment {self.experiment!r} was deleted; expected another tracking.experiment, "
                "or restore it in MLflow"
            )
        return str(found.experiment_id)

    def _parent(self, client: Any, experiment: str, where: dict[str, str], name: str) -> str:
        run_id, _ = _find(client, experiment, where)
        if run_id is None:
            run_id = client.create_run(experiment, tags=where, run_name=name).info.run_id
            client.set_terminated(run_id)
        return run_id

    def _fill(self, client: Any, run_id: str, run: RunResult) -> None:
        from mlflow.entities import LoggedModelInput, Param, RunTag

        ended = _milliseconds(run.manifest["ended"])
        model = _model(client, run)
        params = [Param(k, v[:MAX_VALUE]) for k, v in flat(run.manifest["config"]) if k not in INCIDENTAL]
        tags = [RunTag(k, v[:MAX_TAG]) for k, v in _tags(run).items()]
        tags.append(RunTag("mlflow.note.content", _note(run)[:MAX_NOTE]))
        client.log_batch(run_id, tags=tags)
        if model is not None:
            client.log_inputs(run_id, models=[LoggedModelInput(model)])
        _log(client, run_id, metrics_of(run, model))
        for some_params in _parts(params, MAX_PARAMS):
            client.log_batch(run_id, params=some_params)
        assert run.path is not None
        for name in ARTIFACTS:
            client.log_artifact(run_id, str(run.path / name))
        client.log_dict(run_id, {**run.manifest, "mlflow": {"run_id": run_id}}, "manifest.json")
        client.set_terminated(run_id, "FINISHED", end_time=ended)

    def _page(self, experiment: str, run_id: str) -> str:
        if self.uri.startswith("http"):
            return f"{self.uri.rstrip('/')}/#/experiments/{experiment}/runs/{run_id}"
        return f"{run_id} in {self.uri}"


def quiet() -> None:
    """Importing mlflow sets its loggers to INFO; called after that."""
    for noisy in ("mlflow", "mlflow.store.db.utils", "alembic"):
        logging.getLogger(noisy).setLevel(logging.WARNING)


def metrics_of(run: RunResult, model: str | None = None) -> list[Any]:
    """Every number of a run, at the training step where it has one, on the page of a model where it is given."""
    from mlflow.entities import Metric

    values: dict[str, float | None] = {
        "examples": float(run.manifest["dataset"]["examples"]),
        "failed": float(run.failed),
        **{f"health/{name}": value for name, value in run.health.items() if name != "warnings"},
        **{f"generation/{name}": value for name, value in run.manifest["generation"].items()},
        **bounded(run.scores),
    }
    moment, step = _milliseconds(run.manifest["ended"]), run.manifest["system"].get("step") or 0
    found = {name: value for name, value in values.items() if value is not None}
    return [Metric(name, value, moment, step, model_id=model) for name, value in found.items()]


def bounded(scores: Mapping[str, Score]) -> dict[str, float]:
    """Scores under their names with their bounds, those that cannot be had left out."""
    values: dict[str, float | None] = {}
    for name, score in scores.items():
        values.update({name: score.estimate, f"{name}/ci_low": score.low, f"{name}/ci_high": score.high})
    return {name: value for name, value in values.items() if value is not None}


def log_to_active_run(run: RunResult, step: int, prefix: str) -> str | None:
    """Logs scores at a training step to the MLflow run that is active here; its id, None where there is none."""
    import mlflow

    active = mlflow.active_run()
    if active is None:
        return None
    values = {"failed": float(run.failed), **bounded(run.scores)}
    mlflow.log_metrics({prefix + name: value for name, value in values.items()}, step, run_id=active.info.run_id)
    return str(active.info.run_id)


def _log(client: Any, run_id: str, metrics: Sequence[Any]) -> None:
    for some in _parts(metrics, MAX_METRICS):
        client.log_batch(run_id, metrics=some)


def _series(run: RunResult) -> str | None:
    """The name of the curve that the run is a point of: one training run, on one data set, scored in one way."""
    name = run.manifest["system"].get("series")
    config = run.manifest["config"]
    scored = [run.dataset_key, *(config.get(part) for part in ("postprocess", "metrics", "stats"))]
    return f"{run.dataset}-{name}-{digest(scored)[:8]}" if name else None


def _below(parent: str | None) -> dict[str, str]:
    return {"mlflow.parentRunId": parent} if parent else {}


@contextmanager
def _first(uri: str) -> Iterator[None]:
    """One process at a time makes a SQLite store, the experiment and the parent run."""
    if not uri.startswith("sqlite:///") or os.name != "posix":
        yield
        return
    import fcntl

    with open(uri.removeprefix("sqlite:///") + ".lock", "a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


LOGGED = """
select 1 from runs join experiments using (experiment_id)
where run_uuid = ? and experiments.name = ? and runs.status = 'FINISHED'
    and runs.lifecycle_stage = 'active' and experiments.lifecycle_stage = 'active'
"""
PARENT = """
select 1 from tags as child join runs on runs.run_uuid = child.value join tags as own on own.run_uuid = child.value
where child.run_uuid = ? and child.key = 'mlflow.parentRunId' and runs.lifecycle_stage = 'active'
    and own.key = 'harness.group' and own.value = ?
"""


def _logged(uri: str, experiment: str, run_id: str, tags: Mapping[str, str], group: str | None) -> bool:
    """Whether a SQLite store has the finished run with these tags; asked of SQLite, as importing MLflow takes seconds.

    False where that cannot be known: then MLflow is asked.
    """
    if not uri.startswith("sqlite:///"):
        return False
    try:
        path = Path(uri.removeprefix("sqlite:///")).absolute().as_uri()
        with closing(sqlite3.connect(f"{path}?mode=ro", uri=True, timeout=5)) as store:
            found = dict(store.execute("select key, value from tags where run_uuid = ?", (run_id,)))
            return (
                all(found.get(name) == value for name, value in tags.items())
                and store.execute(LOGGED, (run_id, experiment)).fetchone() is not None
                and (group is None or store.execute(PARENT, (run_id, group)).fetchone() is not None)
            )
    except sqlite3.Error:  # no such file, or the tables of another MLflow
        return False


def _find(client: Any, experiment: str, tags: Mapping[str, str]) -> tuple[str | None, bool]:
    """(run id, whether it is finished) of the run with these tags."""
    condition = " and ".join(f"tags.`{k}` = '{v}'" for k, v in tags.items())
    for run in client.search_runs([experiment], condition, max_results=1):
        return run.info.run_id, run.info.status == "FINISHED"
    return None, False


def reachable(uri: str) -> None:
    """MLflow retries for minutes where nobody listens; ask first."""
    parts = urlsplit(uri)
    proxied = parts.scheme in getproxies() and not proxy_bypass(parts.hostname or "")
    if parts.scheme in ("http", "https") and parts.hostname and not proxied:
        try:
            port = parts.port or (443 if parts.scheme == "https" else 80)
            socket.create_connection((parts.hostname, port), timeout=5).close()
        except OSError as error:
            raise ConnectionError(f"no answer from {parts.scheme}://{parts.hostname}:{port} ({error})") from None


def _parts(items: Sequence[Any], size: int) -> Iterator[Sequence[Any]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]


def _tags(run: RunResult) -> dict[str, str]:
    manifest = run.manifest
    tags = {
        "harness.dataset": run.dataset,
        "harness.dataset_key": run.dataset_key,
        "harness.system": run.system,
        "harness.system_key": str(manifest["system"]["key"]),
        "harness.seed": str(manifest["seed"]),
        "harness.folder": str(run.path),
        **{f"harness.system.{name}": value for name, value in manifest["system"].get("about", {}).items()},
    }
    if manifest.get("git"):
        tags["mlflow.source.git.commit"] = manifest["git"]["commit"]
    for name, metric in manifest["metrics"].items():
        tags[f"harness.signature.{name}"] = metric["signature"]
    return tags


def _model(client: Any, run: RunResult) -> str | None:
    """The id of the MLflow model that was evaluated, if it is in this store."""
    from mlflow.exceptions import MlflowException

    model = run.manifest["system"].get("about", {}).get("model_id")
    try:
        return client.get_logged_model(model).model_id if model else None
    except MlflowException:
        return None


def _note(run: RunResult) -> str:
    """The score table in Markdown, for the run's page."""
    lines = [f"**{run.name}**: {run.manifest['dataset']['examples']} examples, {run.failed} failed", ""]
    lines += [f"- {warning}" for warning in run.health["warnings"]] + [""]
    lines += ["| score | estimate | low | high |", "| --- | ---: | ---: | ---: |"]
    for score in run.scores.values():
        cells = ["" if x is None else f"{x:.4f}" for x in (score.estimate, score.low, score.high)]
        lines.append(f"| {score.name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _milliseconds(moment: str) -> int:
    from datetime import datetime

    return int(datetime.fromisoformat(moment).timestamp() * 1000)
