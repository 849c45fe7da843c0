"""A log of another tool as a run: its samples, its outputs and the scores that it stored go through the one flow.

Whoever read the log hands in the data set and the system that it makes; nothing here knows a format.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import yaml

from harness.inputs import plugins
from harness.run.config import build_metric, conf_dir, key, metric_specs
from harness.run.job import Job
from harness.stats.options import Options
from harness.tracking.surrounding import settled
from harness.types import Dataset, HarnessError, Metric, System
from harness.types.settings import Config

TARGET = "harness.metrics.imported.Imported"
MLFLOW, NOWHERE = "harness.tracking.mlflow.MlflowTracker", "harness.tracking.none.NoTracking"
BY_TEXT = "lexical"
"""The metrics of a log that has no scores."""


@dataclass(frozen=True)
class Stored:
    """A score that the log has for each sample."""

    name: str
    field: str
    higher_is_better: bool = True


@dataclass(frozen=True)
class Received:
    """What a log gives."""

    dataset: Dataset
    system: System
    scores: Sequence[Stored]
    tool: str
    version: str | None
    content: str
    """Hash of what was read."""


@dataclass(frozen=True)
class Destination:
    """Where the runs go, and what is computed of their outputs beside the stored scores."""

    output_dir: str | None = None
    uri: str | None = None
    """The MLflow store; None: the caller's own, `none`: no store."""
    metrics: Sequence[str] = ()
    resamples: int | None = None
    experiment: str | None = None
    """In MLflow."""
    specs: Mapping[str, Mapping[str, Any]] | None = None
    """`_target_` and options of all metrics, where the caller has them."""
    stats: Options | None = None
    many: bool = False
    """`output_dir` is the parent of several runs."""


def job_of(received: Received, to: Destination, metrics: Mapping[str, Metric] | None = None) -> Job:
    """The job that makes a run of a log; `metrics`: made already."""
    specs = to.specs or {**_stored(received), **_computed(received, to)}
    if not specs:
        raise HarnessError(
            f"the log of {received.system.name} on {received.dataset.name} has neither scores nor references; "
            "expected one of them"
        )
    config = _config(received, to, specs)
    tracking = config["tracking"]
    return Job(
        dataset=received.dataset,
        system=received.system,
        postprocess=plugins.build(config["postprocess"]["_target_"], _options(config["postprocess"]), "postprocess"),
        metrics=metrics or {name: build_metric(name, spec) for name, spec in specs.items()},
        stats=Options(**config["stats"]),
        tracker=plugins.build(tracking["_target_"], _options(tracking), "tracking"),
        key=key(config),
        specs=specs,
        config=config,
        output_dir=to.output_dir,
        many=to.many,
        command="harness import",
    )


def _stored(received: Received) -> dict[str, dict[str, Any]]:
    """The stored scores, under their own names; one that this package has gets a name that says whose it is."""
    own, specs = own_names(), {}
    for score in received.scores:
        name = f"{score.name}_imported" if score.name in own else score.name
        specs[name] = {
            "_target_": TARGET,
            "field": score.field,
            "name": name,
            "tool": received.tool,
            "score": score.name,
            "higher_is_better": score.higher_is_better,
            "version": received.version,
        }
    return specs


def _computed(received: Received, to: Destination) -> dict[str, dict[str, Any]]:
    names = to.metrics
    if not names and not received.scores:
        names = (BY_TEXT,) if any(len(block.references.flat) for block in received.dataset.blocks()) else ()
    return {name: spec for chosen in names for name, spec in metric_specs(chosen).items()}


def own_names() -> set[str]:
    """What this package's metrics and their headline scores are called, those of fixed names."""
    files = [path.read_text(encoding="utf-8") for path in (conf_dir() / "metrics").glob("*.yaml")]
    keys = {name for text in files for name in yaml.safe_load(text) or ()}
    rouge = {f"rouge{kind}" for kind in (*range(1, 10), "L", "Lsum", "W", "S", "SU")}
    return (keys - {"defaults"}) | rouge | {"id", "repeat", "source", "references", "output", "error", "raw_output"}


def _config(received: Received, to: Destination, specs: Mapping[str, Any]) -> dict[str, Any]:
    """As `harness run` composes one: what makes the run what it is, and the defaults."""
    config = asdict(Config())
    for group, choice in (("postprocess", "none"), ("engine", "local")):
        config[group] = yaml.safe_load((conf_dir() / group / f"{choice}.yaml").read_text(encoding="utf-8"))
    config["dataset"] = {"imported": received.tool, "name": received.dataset.name, "cluster": received.dataset.cluster}
    config["system"] = {"imported": received.tool, "name": received.system.name, "content": received.content}
    config["metrics"] = dict(specs)
    config["tracking"]["_target_"] = NOWHERE if to.uri == "none" else MLFLOW
    config["tracking"]["uri"] = None if to.uri == "none" else to.uri
    if to.experiment is not None:
        config["tracking"]["experiment"] = to.experiment
    config["tracking"] = settled(config["tracking"])
    if to.stats is not None:
        config["stats"] = asdict(to.stats)
    if to.resamples is not None:
        config["stats"]["resamples"] = to.resamples
    return config


def _options(spec: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in spec.items() if name != "_target_"}


def check_apart(jobs: Sequence[Job]) -> None:
    """Each run has a folder of its own."""
    folders: dict[Path, Job] = {}
    for job in jobs:
        if job.folder in folders:
            raise HarnessError(
                f"two logs would become the run {job.folder}: the same log is given twice; expected each once"
            )
        folders[job.folder] = job
