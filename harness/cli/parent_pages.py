"""Pages of parent runs in MLflow: what came out of a multirun, or of a training run's checkpoints, made of their run
folders and put on the page of the run that they are nested under. Whatever goes wrong costs a warning, never a result.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import Any

from harness.types import RunRecord

log = logging.getLogger(__name__)


def log_parents(runs: Iterable[RunRecord], tracker_of: Callable[[RunRecord], Any]) -> int:
    """Puts on each parent's page what came out of the runs below it, where that is not there; how many were not.

    `tracker_of` gives what a run is logged by.
    """
    from harness.analysis.sweeps.outcomes import outcome
    from harness.run.logging import reason
    from harness.tracking.parents import Parent, parent_of

    families: dict[Parent, list[RunRecord]] = {}
    for run in runs:
        parent = parent_of(run, run.manifest.get("group"))
        while parent is not None:
            families.setdefault(parent, []).append(run)
            parent = parent.above
    made = 0
    for parent, members in families.items():
        if len(members) < 2 or parent.of_seeds:  # that has the seeds' scores by itself
            continue
        folders = [str(run.path) for run in members]
        try:
            tracker = tracker_of(members[0])
            if getattr(tracker, "parents", False):
                made += tracker.log_outcome(members, parent, lambda folders=folders: outcome(folders))
        except Exception as error:
            log.warning("the page of %s in MLflow says nothing of its runs: %s", parent.name, reason(error))
    return made
