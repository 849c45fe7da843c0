"""What MLflow's table of runs opens on: the scores, the system, the data set and what was varied, as columns.

By itself it shows no score until its reader picks columns. A view that is kept with the experiment, as MLflow keeps the
views that people share, is opened by a link that names it: `harness ui` prints that link.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from harness.tracking import labelling
from harness.tracking.backend import bounded, client_of, reachable
from harness.tracking.content import MAX_TAG
from harness.types import HarnessError, RunResult

log = logging.getLogger(__name__)
NAME = "harness"
TAG = f"mlflow.sharedViewState.{NAME}"
PAGES = "workflowType=machine_learning"
QUERY = f"{PAGES}&viewStateShareKey={NAME}"
MOST = 24
"""Columns: beyond that nobody reads them."""
METRIC = "metrics.`"
RUN_NAME = "attributes.`Run Name`"
"""Wide enough to tell the cells of a sweep apart; MLflow takes a width only of a column whose place is given."""
SCORES = "Model metrics"
"""MLflow's section for the charts of numbers at the top level."""
STATE: dict[str, Any] = {
    "runsExpanded": {},
    "runsPinned": [],
    "runsHidden": [],
    "runsVisibilityMap": {},
    "runsHiddenMode": "FIRST_20_RUNS",
    "viewMaximized": False,
    "runListHidden": False,
    "isAccordionReordered": True,
    "compareRunSections": [
        {"uuid": f"harness-{name}", "name": name, "display": True, "isReordered": True, "deleted": False}
        | {"isGenerated": True}
        for name in (SCORES, "interval")
    ],
    "useGroupedValuesInCharts": True,
    "hideEmptyCharts": True,
    "groupBy": None,
    "groupsExpanded": {},
    "columnOrder": [RUN_NAME],
    "columnWidths": {RUN_NAME: 390},
    "autoRefreshEnabled": True,
    "globalLineChartConfig": {"xAxisKey": "step", "lineSmoothness": 0, "selectedXAxisMetricKey": ""},
}
"""The rest of the page as it opens without a view, but with more runs in its charts, and those of scores first. In a
section that nobody reordered MLflow puts a chart that comes later before the last one: the first score was the last."""


def columns_of(run: RunResult) -> list[str]:
    """The columns that show a run: headline scores, what was varied, system and data set."""
    scores = [name for name, score in run.scores.items() if score.headline]
    params = [*labelling.varied(run), "system", "dataset"]
    return [*(f"{METRIC}{name}`" for name in scores), *(f"params.`{name}`" for name in params)]


def runs_page(uri: str, address: str, experiment: str) -> str:
    """The page of an experiment's runs at a server's address, opened on that view; the list of experiments where the
    store has none of that name. Without the parameter MLflow opens on its pages for traces."""
    known = _experiment(uri, experiment)
    place = f"/{known.experiment_id}/runs" if known is not None else ""
    shown = QUERY if known is not None and TAG in known.tags else PAGES
    return f"{address.rstrip('/')}/#/experiments{place}?{shown}"


def _experiment(uri: str, name: str) -> Any:
    """As the store has it; None where it does not answer or has none of that name."""
    try:
        reachable(uri)
        with bounded(0):
            return client_of(uri).get_experiment_by_name(name)
    except HarnessError:
        raise
    except Exception as error:  # MLflow raises its own, its database's and the network's errors
        log.debug("%s gives no experiment %s: %s", uri, name, error)
        return None


def widened(tags: Mapping[str, str], columns: Sequence[str]) -> str | None:
    """The view with these columns too, for an experiment with these tags; None where it is there."""
    known = _columns(tags.get(TAG, ""))
    wider = [*known, *(name for name in columns if name not in known)][:MOST]
    scores = [column[len(METRIC) : -1] for column in wider if column.startswith(METRIC)]
    charts = [_chart(score) for score in scores]
    view = _view(wider, charts)
    while charts and len(view) > MAX_TAG:  # MLflow adds the others behind them
        charts.pop()
        view = _view(wider, charts)
    return None if view == tags.get(TAG) else view


def _view(columns: Sequence[str], charts: Sequence[Mapping[str, Any]]) -> str:
    return json.dumps({**STATE, "selectedColumns": columns, "compareRunCharts": charts})


def _chart(score: str) -> dict[str, Any]:
    """The chart of a score, as MLflow makes one itself: bars, and a line where there are training steps."""
    return {
        "uuid": f"harness-{score}",
        "type": "BAR",
        "metricKey": score,
        "displayName": score,
        "metricSectionId": f"harness-{SCORES}",
        "runsCountToCompare": 10,
        "deleted": False,
        "isGenerated": True,
    }


def keep(client: Any, experiment: str, view: str) -> None:
    """Keeps the view with the experiment; where another process does so at this moment, its own stays until the next
    run."""
    from mlflow.exceptions import MlflowException

    with suppress(MlflowException):
        client.set_experiment_tag(experiment, TAG, view)


def _columns(view: str) -> list[str]:
    try:
        columns = json.loads(view)["selectedColumns"]
    except (ValueError, KeyError, TypeError):  # none yet, or none of ours
        return []
    return [str(name) for name in columns] if isinstance(columns, list) else []
