"""Checkpoints of one training run in MLflow: nested under one run that has their scores by step, as a curve."""

from __future__ import annotations

from typing import Any

from harness.inputs.files import digest
from harness.tracking import content, logged_numbers
from harness.tracking.logged_numbers import Of
from harness.types import RunRecord, RunResult

TAG = "harness.series"


def series_of(run: RunResult | RunRecord) -> str | None:
    """What the curve is that the run is a point of: one training run, on one data set, scored in one way."""
    name = run.manifest["system"].get("series")
    config = run.manifest["config"]
    scored = [run.dataset_key, *(config.get(part) for part in ("postprocess", "metrics", "stats"))]
    return f"{run.dataset}-{name}-{digest(scored)[:8]}" if name else None


def log_point(client: Any, parent: str, run: RunResult, subscores: bool) -> None:
    """All steps in one run: its page draws them as a curve. One call is one transaction: the last number tells."""
    metrics = logged_numbers.metrics_of(run, Of(run.dataset, run.dataset_key[: content.DIGEST]), subscores)
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
    values = {**logged_numbers.scored(run.scores), "run/failed": float(run.failed)}
    mlflow.log_metrics({prefix + name: value for name, value in values.items()}, step, run_id=active.info.run_id)
    return str(active.info.run_id)
