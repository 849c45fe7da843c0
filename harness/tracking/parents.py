"""Runs that others are nested under: the multirun's, below it that of a training run's checkpoints or of a system's
seeds; and what came out of those below, on the parent's own page.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.inputs.files import digest
from harness.tracking import claim, content, curve_parent, labelling, seed_parent
from harness.tracking.description import MAX_NOTE
from harness.types import Outcome, RunRecord, RunResult

GROUP = "harness.group"
OUTCOME = "harness.outcome"
"""The tag that says of which results a parent's page is."""


@dataclass(frozen=True)
class Parent:
    """A run that others are nested under, by what identifies it."""

    tags: tuple[tuple[str, str], ...]
    name: str
    above: Parent | None = None

    @property
    def of_seeds(self) -> bool:
        """Whether those below it are seeds of one system."""
        return any(name == seed_parent.TAG for name, _ in self.tags)

    def claimed(self, client: Any, experiment: str, start: int, under: str | None) -> list[str]:
        """The ids of its parents and its own, made where they are not there, outermost first; `under`: the run that
        surrounds them all."""
        outer = [] if under is None else [under]
        over = self.above.claimed(client, experiment, start, under) if self.above else outer
        tags = {**dict(self.tags), **below(over[-1] if over else None)}
        entry, made = claim.only(client, experiment, tags, self.name, start)
        if made or entry.info.status != "FINISHED":
            client.set_terminated(entry.info.run_id)
        return [*over, str(entry.info.run_id)]


def parent_of(run: RunResult | RunRecord, group: str | None) -> Parent | None:
    """The innermost one of a run."""
    outer = Parent(((GROUP, plain(group)),), f"multirun {group}") if group else None
    series = curve_parent.series_of(run)
    if series:
        return Parent(((curve_parent.TAG, plain(series)),), series, outer)
    if seed := seed_parent.seed_of(run):
        return Parent(((seed_parent.TAG, seed[0]),), seed[1], outer)
    return outer


def plain(text: str) -> str:
    """A text that MLflow can be asked for; its hash where it holds quotes and the like."""
    return text if re.fullmatch(r"[\w .:/+-]{1,200}", text) else digest(text)[:32]


def below(parent: str | None) -> dict[str, str]:
    return {claim.PARENT: parent} if parent else {}


def log_outcome(client: Any, run_id: str, outcome: Outcome, of: str) -> None:
    """Puts on a parent's page what came out of the runs below it; `of` says of which results, and is noted last, so
    that what was cut short is done again."""
    from mlflow.entities import Metric, RunTag

    now = client.get_run(run_id).info.start_time
    with tempfile.TemporaryDirectory(prefix="harness-") as folder:
        for name, data in outcome.files.items():
            (Path(folder) / name).write_bytes(data)
        client.log_artifacts(run_id, folder)
    known = content.named((f"best/{name}", value) for name, value in outcome.best.items())
    metrics = [Metric(name, value, now, 0) for name, value in known]
    tags = {**outcome.tags, "mlflow.note.content": content.cut(outcome.note, MAX_NOTE, "whole in scores.md")}
    tags |= {"mlflow.user": labelling.user(), "mlflow.source.name": "harness", "mlflow.source.type": "LOCAL"}
    cuts = [
        RunTag(name, content.cut(value, MAX_NOTE, "whole in scores.csv")) for name, value in content.named(tags.items())
    ]
    for batch in content.batches(metrics, [], cuts):
        client.log_batch(run_id, **batch)
    client.update_run(run_id, name=outcome.name[: claim.MAX_NAME])
    client.set_tag(run_id, OUTCOME, of)


def results_of(manifests: list[Mapping[str, Any]]) -> str:
    """By which results a parent's page is known to be true."""
    return digest(sorted(str(manifest["result"]) for manifest in manifests))[: labelling.SHORT]
