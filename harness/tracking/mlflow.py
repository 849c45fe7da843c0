"""`tracking=mlflow`: a run folder as a run in MLflow.

Scores are logged under their names, bounds as `<name>/ci_low` and `<name>/ci_high`, with parameters and tags in as few
calls as MLflow allows; the data set as an input; the folder's files as artifacts. A run whose result is in the store
already is not logged again; one that is there in part is completed. Runs of one group (a multirun) are nested under one
parent run, those of a training run's checkpoints under one that has their curve, seeds of a system (`group_by`) under
one that has them all.
"""

from __future__ import annotations

import json
import re
import sqlite3
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import closing, nullcontext, suppress
from pathlib import Path
from typing import Any

from harness.inputs.files import digest, file_digest
from harness.tracking import backend, claim, content, evaluation_table, seed_parent
from harness.tracking.backend import default_uri, reachable
from harness.tracking.description import description
from harness.types import HarnessError, RunResult, Tracked

ARTIFACTS = (
    "scores.json",
    "config.yaml",
    "environment.json",
    "examples.parquet",
    "statistics.parquet",
    "outputs.jsonl",
)
RESULT = ("scores.json", "statistics.parquet", "examples.parquet")
SECONDS, BYTES_A_SECOND, ATTEMPTS = 60, 2**20, 4


class MlflowTracker:
    def __init__(self, experiment: str = "harness", uri: str | None = None) -> None:
        if not experiment.strip():
            raise HarnessError("tracking.experiment is empty; expected a name")
        self.runs = Path("runs")
        self.experiment = experiment
        self.uri = uri or default_uri(self.runs)
        self.anonymous = False
        """Whether no credentials go there: the store of a run folder that was trusted."""
        backend.check_uri(self.uri)

    def log(self, run: RunResult, group: str | None) -> Tracked:
        """Logs a stored run; raises whatever MLflow raises, for the caller to turn into a warning."""
        with backend.anonymous() if self.anonymous else nullcontext():
            return self._log(run, group)

    def _log(self, run: RunResult, group: str | None) -> Tracked:
        assert run.path is not None
        result = digest([file_digest(run.path / name) for name in RESULT])
        where = {"harness.key": run.manifest["key"], "harness.result": result}
        group = None if group is None else _plain(group)
        known = run.manifest["mlflow"]
        if known is not None and _logged(self.uri, self.experiment, known["run_id"], where, group):
            return Tracked(known["run_id"], self.uri, known.get("where", known["run_id"]), "already there")
        reachable(self.uri)
        sizes = [(run.path / name).stat().st_size for name in ARTIFACTS if (run.path / name).exists()]
        with backend.bounded(max(sizes)), backend.alone(self.uri):
            until = time.monotonic() + SECONDS + sum(sizes) / BYTES_A_SECOND  # waiting for others does not count
            client = backend.opened(self.uri)
            experiment = backend.experiment_id(client, self.uri, self.experiment, self.runs / "mlartifacts")
            run_id, how = self._settled(client, experiment, run, where, group, until)
        return Tracked(run_id, self.uri, self._page(experiment, run_id), how)

    def _settled(
        self, client: Any, experiment: str, run: RunResult, where: dict[str, str], group: str | None, until: float
    ) -> tuple[str, str]:
        """(run id, how it came to be there): logged, and still the one run with these tags after that.

        Others may log the same at the same time and delete what they find to be a double, this one too: then again.
        """
        from mlflow.exceptions import MlflowException

        how = ""
        for attempt in range(1, ATTEMPTS + 1):
            try:
                run_id, outcome, settled = self._once(client, experiment, run, where, group, until)
            except MlflowException:
                reachable(self.uri)  # else there is no use in going on
                if attempt == ATTEMPTS or time.monotonic() > until:
                    raise
            else:
                how = outcome if how in ("", "already there") else how
                if settled:
                    return run_id, how
        raise RuntimeError(f"others log the same run to {self.experiment!r} all the time")

    def _once(
        self, client: Any, experiment: str, run: RunResult, where: dict[str, str], group: str | None, until: float
    ) -> tuple[str, str, bool]:
        """(run id, what was done, whether it is the one run with these tags)."""
        start = content.milliseconds(run.manifest["started"])
        parent = self._parent(client, experiment, run, group, start)
        tags = {**where, **_below(parent)}
        entry, made = claim.only(client, experiment, tags, run.name, start)
        run_id = str(entry.info.run_id)
        if parent is not None and _series(run):
            _log_series(client, parent, run)
        elif parent is not None and (seed := seed_parent.seed_of(run)):
            seed_parent.log_seed(client, parent, run, seed[2])
        added = _Filling(client, self.uri, entry, run, until).fill()
        outcome = "logged" if made else "completed" if added else "already there"
        now = self._parent(client, experiment, run, group, start)
        if now != parent and now is not None:
            client.set_tag(run_id, claim.PARENT, now)
            return run_id, outcome, False
        return run_id, outcome, [match.info.run_id for match in claim.matching(client, experiment, tags)] == [run_id]

    def _parent(self, client: Any, experiment: str, run: RunResult, group: str | None, start: int) -> str | None:
        """The run that this one is nested under: the multirun's, below it the curve's, or that of a system's seeds."""
        parent = None
        if group:
            parent = _parent_run(client, experiment, {"harness.group": group}, f"multirun {group}", start)
        series = _series(run)
        if series:
            tags = {"harness.series": series, **_below(parent)}
            parent = _parent_run(client, experiment, tags, series, start)
        elif seed := seed_parent.seed_of(run):
            tags = {seed_parent.TAG: seed[0], **_below(parent)}
            parent = _parent_run(client, experiment, tags, seed[1], start)
        return parent

    def _page(self, experiment: str, run_id: str) -> str:
        if self.uri.startswith("http"):
            return f"{self.uri.rstrip('/')}/#/experiments/{experiment}/runs/{run_id}"
        return f"{run_id} in {self.uri}"


class _Filling:
    """Logs what a run in MLflow lacks."""

    def __init__(self, client: Any, uri: str, entry: Any, run: RunResult, until: float) -> None:
        assert run.path is not None
        self.client, self.uri, self.entry, self.run, self.folder, self.until = client, uri, entry, run, run.path, until
        self.run_id = entry.info.run_id

    def fill(self) -> bool:
        """Whether anything was missing."""
        examples = evaluation_table.examples_of(
            self.folder / "examples.parquet", self.run.manifest["dataset"]["examples"], list(self.run.scores)
        )
        note = description(self.run, examples.shown, examples.rows)
        data = self.entry.data
        model = _model(self.client, self.run)
        metrics = _absent(content.metrics_of(self.run, model), data.metrics)
        params = _absent(content.params_of(self.run.manifest["config"]), data.params)
        tags = _absent(content.tags_of(self.run, {**evaluation_table.TAG, "mlflow.note.content": note}), data.tags)
        sent = False
        for batch in content.batches(metrics, params, tags):
            self._in_time()
            self.client.log_batch(self.run_id, **batch)
            sent = True
        if not self.entry.inputs or not self.entry.inputs.dataset_inputs:
            from mlflow.entities import LoggedModelInput

            models = None if model is None else [LoggedModelInput(model)]
            self.client.log_inputs(self.run_id, [content.dataset_of(self.run, examples.fields)], models)
            sent = True
        sent |= self._artifacts(examples.content)
        if self.entry.info.status != "FINISHED":
            self.client.set_terminated(self.run_id, "FINISHED", content.milliseconds(self.run.manifest["ended"]))
            sent = True
        return sent

    def _artifacts(self, examples: bytes) -> bool:
        sizes = {item.path: item.file_size for item in self.client.list_artifacts(self.run_id)}
        manifest = {**self.run.manifest, "mlflow": {"run_id": self.run_id}}
        failed: dict[str, Exception] = {}
        sent = False
        with tempfile.TemporaryDirectory(prefix="harness-") as made:
            (Path(made) / "manifest.json").write_text(json.dumps(manifest, indent=2, ensure_ascii=False) + "\n")
            (Path(made) / evaluation_table.FILE).write_bytes(examples)
            paths = [self.folder / name for name in ARTIFACTS if (self.folder / name).exists()]
            for path in [*paths, Path(made) / evaluation_table.FILE, Path(made) / "manifest.json"]:
                if path.name in sizes and (path.name == "manifest.json" or sizes[path.name] == path.stat().st_size):
                    continue
                self._in_time()
                sent = True
                try:
                    self.client.log_artifact(self.run_id, str(path))
                except Exception as error:
                    reachable(self.uri)  # else there is no use in going on
                    failed[path.name] = error
        if failed:
            name, why = next(iter(failed.items()))
            raise RuntimeError(f"{', '.join(failed)} could not be sent to the run {self.run_id} ({name}: {why})")
        return sent

    def _in_time(self) -> None:
        if time.monotonic() > self.until:
            raise TimeoutError(f"{self.run_id} was not logged in time: the store is too slow")


def _absent(items: Sequence[Any], present: Mapping[str, Any]) -> list[Any]:
    return [item for item in items if item.key not in present]


def _parent_run(client: Any, experiment: str, tags: Mapping[str, str], name: str, start: int) -> str:
    entry, made = claim.only(client, experiment, tags, name, start)
    if made or entry.info.status != "FINISHED":
        client.set_terminated(entry.info.run_id)
    return str(entry.info.run_id)


def _log_series(client: Any, parent: str, run: RunResult) -> None:
    """All steps in one run: its page draws them as a curve. One call is one transaction: the last number tells."""
    metrics = content.metrics_of(run)
    last = metrics[-1]
    points = {(point.step, point.value) for point in client.get_metric_history(parent, last.key)}
    if (last.step, last.value) not in points:
        for batch in content.batches(metrics, [], []):
            client.log_batch(parent, **batch)


def log_to_active_run(run: RunResult, step: int, prefix: str) -> str | None:
    """Logs scores at a training step to the MLflow run that is active here; its id, None where there is none."""
    import mlflow

    active = mlflow.active_run()
    if active is None:
        return None
    values = {"failed": float(run.failed), **content.bounded(run.scores)}
    mlflow.log_metrics({prefix + name: value for name, value in values.items()}, step, run_id=active.info.run_id)
    return str(active.info.run_id)


def _series(run: RunResult) -> str | None:
    """What the curve is that the run is a point of: one training run, on one data set, scored in one way."""
    name = run.manifest["system"].get("series")
    config = run.manifest["config"]
    scored = [run.dataset_key, *(config.get(part) for part in ("postprocess", "metrics", "stats"))]
    return _plain(f"{run.dataset}-{name}-{digest(scored)[:8]}") if name else None


def _plain(text: str) -> str:
    """A text that MLflow can be asked for; its hash where it holds quotes and the like."""
    return text if re.fullmatch(r"[\w .:/+-]{1,200}", text) else digest(text)[:32]


def _below(parent: str | None) -> dict[str, str]:
    return {claim.PARENT: parent} if parent else {}


def _model(client: Any, run: RunResult) -> str | None:
    """The id of the MLflow model that was evaluated, if it is in this store."""
    from mlflow.exceptions import MlflowException

    model = run.manifest["system"].get("about", {}).get("model_id")
    with suppress(MlflowException):
        return str(client.get_logged_model(model).model_id) if model else None
    return None


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
    file = backend.sqlite_file(uri)
    if file is None:
        return False
    try:
        with closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True, timeout=5)) as database:
            stored = dict(database.execute("select key, value from tags where run_uuid = ?", (run_id,)))
            return (
                all(stored.get(name) == value for name, value in tags.items())
                and database.execute(LOGGED, (run_id, experiment)).fetchone() is not None
                and (group is None or database.execute(PARENT, (run_id, group)).fetchone() is not None)
            )
    except sqlite3.Error:  # no such file, or the tables of another MLflow
        return False
