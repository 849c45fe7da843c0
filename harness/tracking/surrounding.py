"""What MLflow's own variables say of a run to come: `MLFLOW_EXPERIMENT_NAME`, and `MLFLOW_RUN_ID`, the id of a run that
surrounds it (a pipeline's, a training job's), which it is nested under.

They count where `tracking.experiment` and `tracking.under` are not given. A run nested under another goes to the
experiment of that one unless a name is given: MLflow's pages show nested runs within one experiment only. What they say
is kept in the run's config, so that `harness sync` later does the same.
"""

from __future__ import annotations

import logging
import os
import re
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from functools import cache
from typing import Any

from harness.inputs.project import runs_folder
from harness.masking import redacted
from harness.tracking import backend
from harness.types import HarnessError

log = logging.getLogger(__name__)
DEFAULT = "harness"
ID = re.compile(r"[\w-]{1,64}")
NAME_OF = """
select experiments.name from runs join experiments using (experiment_id)
where run_uuid = ? and runs.lifecycle_stage = 'active' and experiments.lifecycle_stage = 'active'
"""


def settled(tracking: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a tracker, with what the environment says in place of those that are not given."""
    under = tracking.get("under") or os.environ.get("MLFLOW_RUN_ID") or None
    experiment = tracking.get("experiment")
    if under is not None and not ID.fullmatch(str(under)):
        place = "tracking.under" if tracking.get("under") else "MLFLOW_RUN_ID"
        raise HarnessError(f"{place}={under} is no id of a run; expected one of MLflow's, such as {'0' * 7}…")
    if experiment is None:
        experiment = os.environ.get("MLFLOW_EXPERIMENT_NAME") or None
    if experiment is None and under is not None and not str(tracking.get("_target_")).endswith("NoTracking"):
        experiment = _experiment_of(tracking.get("uri") or backend.default_uri(runs_folder()), str(under))
    return {**tracking, "experiment": DEFAULT if experiment is None else experiment, "under": under}


@cache
def _experiment_of(uri: str, run_id: str) -> str | None:
    """The name of a run's experiment; None where the store does not have the run, or does not answer."""
    file = backend.sqlite_file(uri)
    try:
        if file is not None:  # importing MLflow takes seconds
            with closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True, timeout=5)) as database:
                row = database.execute(NAME_OF, (run_id,)).fetchone()
                return str(row[0]) if row else None
        from mlflow import MlflowClient

        backend.quiet()
        backend.reachable(uri)
        with backend.bounded(0):
            client = MlflowClient(tracking_uri=uri)
            return str(client.get_experiment(client.get_run(run_id).info.experiment_id).name)
    except Exception as error:  # the run is logged later, or not: that is said then
        log.debug("%s gives no run %s: %s", uri, run_id, error)
        return None


def there(client: Any, uri: str, under: str | None) -> str | None:
    """The run to nest under, where the store has it."""
    from mlflow.exceptions import MlflowException

    if under is None:
        return None
    try:
        if ID.fullmatch(under) and client.get_run(under).info.lifecycle_stage == "active":
            return under
    except MlflowException as error:
        if error.error_code != "RESOURCE_DOES_NOT_EXIST":
            raise
    log.warning("the surrounding run %s is not in %s: this one is nested under none", under, redacted(uri))
    return None
