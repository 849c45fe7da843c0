"""What was evaluated in memory as a run: the folder that every command understands, and its run in MLflow.

The outputs go through the one flow once more, as those of an imported log do (harness/run/from_log.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from harness import masking
from harness.inputs import files, plugins
from harness.report.terminal.progress import silent
from harness.run.answers import Answers
from harness.run.config import OWN_METRIC
from harness.run.from_log import Destination, Received, job_of
from harness.run.logging import Store, sync
from harness.run.runner import run
from harness.stats.options import Options
from harness.types import BlockDataset, Example, Examples, HarnessError, Metric, Outputs, RunResult, System

TOOL = "harness.evaluate"


@dataclass(frozen=True)
class InMemoryRun:
    """All that decides a result in memory."""

    answers: Answers
    metrics: Mapping[str, Metric]
    options: Options
    name: str
    cluster: str | None

    def save(self, folder: str | Path | None) -> RunResult:
        return self._run(None if folder is None else str(folder), "none")

    def log(self, uri: str | None, experiment: str | None) -> RunResult:
        return self._run(None, uri, experiment)

    def _run(self, folder: str | None, uri: str | None, experiment: str | None = None) -> RunResult:
        dataset, system = _Data(self), _Given(self)
        received = Received(dataset, system, (), TOOL, None, system.key())
        specs = masking.masked({name: _spec(metric) for name, metric in self.metrics.items()})
        to = Destination(folder, uri, experiment=experiment, specs=specs, stats=self.options)
        job = replace(job_of(received, to, self.metrics), given_name=self.name, command=f"{TOOL}(…)")
        return replace(run(job, silent), keep=StoredRun(job.folder))


@dataclass(frozen=True)
class StoredRun:
    """A run that has a folder."""

    folder: Path

    def save(self, folder: str | Path | None) -> RunResult:
        raise HarnessError(f"the run is stored already, in {self.folder}; expected a result of harness.evaluate")

    def log(self, uri: str | None, experiment: str | None) -> RunResult:
        from harness.store.finished import read

        (synced,) = sync([self.folder], Store(uri, experiment))
        if synced.error is not None:
            raise HarnessError(f"{self.folder} was not logged to MLflow: {synced.error}")
        return replace(read(self.folder, None), keep=self)


class _Data(BlockDataset):
    def __init__(self, of: InMemoryRun) -> None:
        self._rows, self.cluster, self.name = of.answers.rows, of.cluster, "memory"

    def blocks(self) -> Iterator[Examples]:
        return self._rows.blocks()


class _Given(System):
    stored = True

    def __init__(self, of: InMemoryRun) -> None:
        self._answers, self.name, self._next = of.answers, of.name, 0

    def key(self) -> str:
        texts = [[output.text, output.error] for block in self._answers.raw() for output in block]
        return files.digest([TOOL, texts])

    def align(self, ids: Sequence[str]) -> None:
        self._next, self._outputs = 0, Outputs.joined(list(self._answers.raw()))

    def generate(self, batch: Sequence[Example]) -> Outputs:
        """Of the next rows: all are asked for in their order."""
        first, self._next = self._next, self._next + len(batch)
        return self._outputs[first : self._next]


def _spec(metric: Metric) -> dict[str, Any]:
    """What makes the metric again for whoever reads the folder."""
    if metric.spec is not None:
        return dict(metric.spec)
    target = f"{type(metric).__module__}.{type(metric).__qualname__}"
    if OWN_METRIC.fullmatch(target) and plugins.build(target, {}).definition() != metric.definition():
        raise HarnessError(
            f"the metric {metric.name} was handed in as an object, whose options nobody knows; expected its name, or "
            f'{{"{metric.name}": {{…}}}} with the options, to save it'
        )
    return {"_target_": target}
