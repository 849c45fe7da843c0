"""Seeds of one system in MLflow: runs that were made with `group_by=system.seed` and differ in it alone are nested
under one run, which has the scores of every seed, by seed, and their mean and standard deviation.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from typing import Any

from harness.inputs.files import digest
from harness.inputs.nested import leaves
from harness.tracking import content, logged_numbers
from harness.tracking.logged_numbers import Of
from harness.types import RunRecord, RunResult

TAG = "harness.seeds"
INCIDENTAL = ("system.name", "system.path")
"""What a run is called, not how it was set."""


def seed_of(run: RunResult | RunRecord) -> tuple[str, str, int] | None:
    """(what the runs of the same system share, what it is called, which seed this is); None where the run is no seed of
    a group."""
    config: Mapping[str, Any] = run.manifest["config"]
    parameter = config.get("group_by")
    parts = ("system", "postprocess", "metrics", "stats")
    settings = dict(leaves({part: config.get(part) for part in parts}))
    if not isinstance(parameter, str) or parameter not in settings:
        return None
    value = settings.pop(parameter)
    rest = {name: setting for name, setting in settings.items() if name not in INCIDENTAL}
    step = value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else 0
    return digest([run.dataset_key, run.name, parameter, rest])[:32], f"{run.name} by {parameter}", step


def log_seed(client: Any, parent: str, run: RunResult, step: int) -> None:
    """The scores of one seed at its step, and of all seeds so far the mean and the standard deviation."""
    ended = content.milliseconds(run.manifest["ended"])
    of = Of(run.dataset, run.dataset_key[: content.DIGEST])
    known = content.named(logged_numbers.scored(run.scores).items())
    metrics = [of.metric(name, value, ended, step) for name, value in known]
    new = False
    for name, score in run.scores.items():
        if score.headline and score.estimate is not None:
            points = {point.step: point.value for point in client.get_metric_history(parent, name)}
            new |= points.get(step) != score.estimate
            values = list({**points, step: score.estimate}.values())
            metrics.append(of.metric(f"seeds/{name}.mean", statistics.fmean(values), ended, len(values)))
            if len(values) > 1:
                metrics.append(of.metric(f"seeds/{name}.sd", statistics.stdev(values), ended, len(values)))
    if not new:
        return
    for batch in content.batches(metrics, [], []):
        client.log_batch(parent, **batch)
