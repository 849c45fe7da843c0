"""What a run in MLflow lacks of its run folder, sent: numbers, parameters, tags, inputs and artifacts."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.tracking import content, evaluation_table, labelling, logged_models, logged_numbers, traces
from harness.tracking.backend import reachable
from harness.tracking.description import description
from harness.tracking.logged_numbers import Of
from harness.types import RunResult

ARTIFACTS = (
    "scores.json",
    "config.yaml",
    "environment.json",
    "examples.parquet",
    "statistics.parquet",
    "outputs.jsonl",
)


@dataclass(frozen=True)
class Wanted:
    """What of a run is logged beside its headline scores."""

    subscores: bool = False
    """Sub-scores too."""
    traces: int = 0
    """Of so many examples."""


@dataclass(frozen=True)
class Task:
    """A run to be logged: what identifies its result, and until when it may take."""

    run: RunResult
    where: Mapping[str, str]
    """The tags by which it is found again."""
    result: str
    """Hash of the result's files."""
    until: float
    wanted: Wanted
    under: str | None = None
    """A run that surrounds it."""

    @property
    def folder(self) -> Path:
        assert self.run.path is not None
        return self.run.path

    def check_time(self, run_id: str) -> None:
        if time.monotonic() > self.until:
            raise TimeoutError(f"{run_id} was not logged in time: the store is too slow")


class Filling:
    """Logs what a run in MLflow lacks."""

    def __init__(self, client: Any, uri: str, entry: Any, task: Task) -> None:
        self.client, self.uri, self.entry, self.task, self.run = client, uri, entry, task, task.run
        self.run_id = entry.info.run_id

    def fill(self) -> bool:
        """Whether anything was missing."""
        examples = evaluation_table.examples_of(
            self.task.folder / "examples.parquet", self.run.manifest["dataset"]["examples"], list(self.run.scores)
        )
        note = description(self.run, examples.shown, examples.rows)
        data = self.entry.data
        dataset = content.dataset_of(self.run, examples.fields)
        model = logged_models.model_of(self.client, str(self.entry.info.experiment_id), self.run)
        of = Of(dataset.dataset.name, dataset.dataset.digest, model)
        metrics = _absent(logged_numbers.metrics_of(self.run, of, self.task.wanted.subscores), data.metrics)
        params = _absent(labelling.params_of(self.run), data.params)
        tags = _absent(labelling.tags_of(self.run, {**evaluation_table.TAG, "mlflow.note.content": note}), data.tags)
        sent = False
        for batch in content.batches(metrics, params, tags):
            self.task.check_time(self.run_id)
            self.client.log_batch(self.run_id, **batch)
            sent = True
        if not self.entry.inputs or not self.entry.inputs.dataset_inputs:
            from mlflow.entities import LoggedModelInput

            models = None if model is None else [LoggedModelInput(model)]
            self.client.log_inputs(self.run_id, [dataset], models)
            sent = True
        sent |= self._artifacts(examples.content)
        sent |= self._traces(model)
        if self.entry.info.status != "FINISHED":
            self.client.set_terminated(self.run_id, "FINISHED", content.milliseconds(self.run.manifest["ended"]))
            sent = True
        return sent

    def _traces(self, model: str | None) -> bool:
        wanted = str(self.task.wanted.traces)
        if not self.task.wanted.traces or self.entry.data.tags.get(traces.TAG) == wanted:
            return False
        place = traces.Place(str(self.entry.info.experiment_id), self.run_id, model)
        traces.log_traces(self.client, place, self.run, self.task.wanted.traces)
        self.client.set_tag(self.run_id, traces.TAG, wanted)
        return True

    def _artifacts(self, examples: bytes) -> bool:
        sizes = {item.path: item.file_size for item in self.client.list_artifacts(self.run_id)}
        manifest = {**self.run.manifest, "mlflow": {"run_id": self.run_id}}
        failed: dict[str, Exception] = {}
        sent = False
        with tempfile.TemporaryDirectory(prefix="harness-") as made:
            folder = Path(made)
            (folder / "manifest.json").write_text(json.dumps(manifest, indent=2, ensure_ascii=False) + "\n")
            (folder / evaluation_table.FILE).write_bytes(examples)
            (folder / labelling.KEYS).write_text(labelling.keys_document(self.run, self.task.result))
            paths = [self.task.folder / name for name in ARTIFACTS if (self.task.folder / name).exists()]
            paths += [folder / name for name in (evaluation_table.FILE, labelling.KEYS, "manifest.json")]
            for path in paths:
                if path.name in sizes and (path.name == "manifest.json" or sizes[path.name] == path.stat().st_size):
                    continue
                self.task.check_time(self.run_id)
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


def _absent(items: Sequence[Any], present: Mapping[str, Any]) -> list[Any]:
    return [item for item in items if item.key not in present]
