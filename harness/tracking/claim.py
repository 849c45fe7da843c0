"""One run in MLflow for one result, whoever else logs it at the same time.

MLflow cannot create a run unless there is one. So: look, create, look again. Of doubles the one with the smallest
(start time, run id) stays, and everybody who looks deletes the others and takes their children over: whatever the order
of events, all end with the same run.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from harness.tracking import known

PARENT = "mlflow.parentRunId"
MAX_NAME = 250
TRIES, PAUSE = 3, 0.2
"""How often, and after how many seconds, a double is deleted that could not be."""


def matching(client: Any, experiment: str, tags: Mapping[str, str]) -> list[Any]:
    """The runs with these tags, the one that stays first."""
    condition = " and ".join(f"tags.`{name}` = '{value}'" for name, value in tags.items())
    runs = client.search_runs([experiment], condition)
    return sorted(runs, key=lambda run: (run.info.start_time or 0, run.info.run_id))


def alone(client: Any, experiment: str, tags: Mapping[str, str], run_id: str) -> bool:
    """Whether a run is the one with these tags."""
    ids = known.run_ids(client.tracking_uri, experiment, tags)
    return (ids or [run.info.run_id for run in matching(client, experiment, tags)]) == [run_id]


def only(client: Any, experiment: str, tags: Mapping[str, str], name: str, start: int) -> tuple[Any, bool]:
    """(the run with these tags, whether it was made now)."""
    runs = [] if known.run_ids(client.tracking_uri, experiment, tags) == [] else matching(client, experiment, tags)
    made = None
    if not runs:
        made = client.create_run(experiment, start_time=start, tags=dict(tags), run_name=name[:MAX_NAME])
        if known.run_ids(client.tracking_uri, experiment, tags) == [made.info.run_id]:
            return made, True
        runs = matching(client, experiment, tags) or [made]
    kept, *doubles = runs
    for double in doubles:
        _remove(client, experiment, double.info.run_id, kept.info.run_id)
    return kept, made is not None and kept.info.run_id == made.info.run_id


def _remove(client: Any, experiment: str, double: str, kept: str) -> None:
    """Deletes a double; runs below it go below the one that stays."""
    from mlflow.exceptions import MlflowException

    for child in client.search_runs([experiment], f"tags.`{PARENT}` = '{double}'"):
        with suppress(MlflowException):  # somebody else deleted it
            client.set_tag(child.info.run_id, PARENT, kept)
    for attempt in range(TRIES):
        try:
            client.delete_run(double)
            return
        except MlflowException:  # somebody else deleted it, or a busy server did not
            with suppress(MlflowException):
                if client.get_run(double).info.lifecycle_stage == "deleted":
                    return
            time.sleep(PAUSE * (attempt + 1))
