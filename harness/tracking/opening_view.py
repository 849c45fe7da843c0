"""What MLflow's table of runs opens on: the scores, the system, the data set and what was varied, as columns.

By itself it shows no score until its reader picks columns. A view that is kept with the experiment, as MLflow keeps the
views that people share, is opened by a link that names it: `harness ui` prints that link.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from typing import Any

from harness.tracking import labelling
from harness.tracking.backend import bounded, quiet, reachable
from harness.types import RunResult

log = logging.getLogger(__name__)
NAME = "harness"
TAG = f"mlflow.sharedViewState.{NAME}"
PAGES = "workflowType=machine_learning"
QUERY = f"{PAGES}&viewStateShareKey={NAME}"
MOST = 24
"""Columns: beyond that nobody reads them."""
MOST_OPENED = 20
"""Parent runs whose cells are shown: the page closes them, and its charts are of what is shown."""
STATE: dict[str, Any] = {
    "runsPinned": [],
    "runsHidden": [],
    "runsVisibilityMap": {},
    "runsHiddenMode": "FIRST_20_RUNS",
    "viewMaximized": False,
    "runListHidden": False,
    "isAccordionReordered": False,
    "useGroupedValuesInCharts": True,
    "hideEmptyCharts": True,
    "groupBy": None,
    "groupsExpanded": {},
    "columnOrder": [],
    "columnWidths": {},
    "autoRefreshEnabled": True,
    "globalLineChartConfig": {"xAxisKey": "step", "lineSmoothness": 0, "selectedXAxisMetricKey": ""},
}
"""The rest of the page as it opens without a view, with more runs in its charts."""


def columns_of(run: RunResult) -> list[str]:
    """The columns that show a run: headline scores, what was varied, system and data set."""
    scores = [name for name, score in run.scores.items() if score.headline]
    params = [*labelling.varied(run), "system", "dataset"]
    return [*(f"metrics.`{name}`" for name in scores), *(f"params.`{name}`" for name in params)]


def runs_page(uri: str, address: str, experiment: str) -> str:
    """The page of an experiment's runs at a server's address, opened on that view; the list of experiments where the
    store has none of that name. Without the parameter MLflow opens on its pages for traces."""
    known = _experiment(uri, experiment)
    place = f"/{known.experiment_id}/runs" if known is not None else ""
    shown = QUERY if known is not None and TAG in known.tags else PAGES
    return f"{address.rstrip('/')}/#/experiments{place}?{shown}"


def _experiment(uri: str, name: str) -> Any:
    """As the store has it; None where it does not answer or has none of that name."""
    from mlflow import MlflowClient

    quiet()
    try:
        reachable(uri)
        with bounded(0):
            return MlflowClient(tracking_uri=uri).get_experiment_by_name(name)
    except Exception as error:  # MLflow raises its own, its database's and the network's errors
        log.debug("%s gives no experiment %s: %s", uri, name, error)
        return None


def widened(tags: Mapping[str, str], columns: Sequence[str], parents: Sequence[str]) -> str | None:
    """The view with these columns too, and with what is below these runs shown, for an experiment with these tags; None
    where it has them."""
    view = _view(tags.get(TAG, ""))
    known, shown = view["selectedColumns"], view["runsExpanded"]
    wider = [*known, *(name for name in columns if name not in known)][:MOST]
    opened = [*(name for name in shown if name not in parents), *parents][-MOST_OPENED:]
    if wider == known and set(opened) == set(shown):
        return None
    return json.dumps({**STATE, "selectedColumns": wider, "runsExpanded": dict.fromkeys(opened, True)})


def _view(text: str) -> dict[str, Any]:
    empty: dict[str, Any] = {"selectedColumns": [], "runsExpanded": {}}
    try:
        view = json.loads(text)
    except ValueError:  # none yet
        return empty
    known = isinstance(view, dict) and all(isinstance(view.get(name), type(kind)) for name, kind in empty.items())
    return view if known else empty
