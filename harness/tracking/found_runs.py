"""Runs that are found in MLflow by a tag, by the alias or version of the model that they evaluated, or by their id; and
their files, where the folder is on another machine.

`tags.stage=production`, `models:/summarizer@champion`, `models:/summarizer/3`, or 32 hexadecimal digits.
"""

from __future__ import annotations

import json
import re
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from harness.inputs.project import runs_folder
from harness.tracking import backend
from harness.types import HarnessError

TAG = re.compile(r"tags\.([\w./ -]+)=(.*)")
NOT_THERE = ("RESOURCE_DOES_NOT_EXIST", "INVALID_PARAMETER_VALUE")
"""What MLflow's errors are called where a name is unknown; the second of an alias."""
MODEL = re.compile(r"models:/([^/@]+)(?:@([\w.-]+)|/(\d+))")
ID = re.compile(r"[0-9a-f]{32}")
FILES = ("scores.json", "examples.parquet", "statistics.parquet", "manifest.json", "config.yaml", "environment.json")
MOST_RUNS = 1000


def is_asked(name: str) -> bool:
    """Whether a name is one that MLflow knows runs by.

    >>> [is_asked(name) for name in ("tags.stage=production", "models:/m@champion", "dev-sysA", "runs/a")]
    [True, True, False, False]
    """
    return any(pattern.fullmatch(name) for pattern in (TAG, MODEL, ID))


def folders(name: str) -> list[Path]:
    """The folders of the newest such run on each data set."""
    uri = backend.default_uri(runs_folder())
    file = backend.sqlite_file(uri)
    if file is not None and not file.exists():
        raise HarnessError(f"there is no MLflow store {file} to find {name!r} in; expected one, or MLFLOW_TRACKING_URI")
    try:
        backend.reachable(uri)
        with backend.bounded(0), backend.alone(uri):
            client = backend.opened(uri)
            newest: dict[str, Any] = {}
            for run in sorted(_runs(client, name), key=lambda run: run.info.start_time, reverse=True):
                if "harness.result" in run.data.tags:
                    newest.setdefault(run.data.tags.get("harness.dataset", ""), run)
            places = [_folder(client, run) for run in newest.values()]
    except HarnessError:
        raise
    except Exception as error:  # whatever MLflow, its store or the network raises
        missing = getattr(error, "error_code", None) in NOT_THERE
        expected = "a run, model, version or alias that is there" if missing else "a store that answers"
        raise HarnessError(f"{name!r} cannot be looked up in MLflow ({error}); expected {expected}") from None
    if not places:
        raise HarnessError(f"MLflow has no run of harness for {name!r}; expected one that harness run logged there")
    return places


def _runs(client: Any, name: str) -> list[Any]:
    if tag := TAG.fullmatch(name):
        value = tag[2].replace("'", "''")
        experiments = [entry.experiment_id for entry in client.search_experiments(max_results=MOST_RUNS)]
        return list(client.search_runs(experiments, f"tags.`{tag[1]}` = '{value}'", max_results=MOST_RUNS))
    if model := MODEL.fullmatch(name):
        by_alias = model[2] is not None
        version = (
            client.get_model_version_by_alias(model[1], model[2])
            if by_alias
            else client.get_model_version(model[1], model[3])
        )
        model_id = version.model_id or str(version.source or "").removeprefix("models:/")
        ids = dict.fromkeys(metric.run_id for metric in client.get_logged_model(model_id).metrics or ())
        return [client.get_run(run_id) for run_id in ids if run_id]
    return [client.get_run(name)]


def _folder(client: Any, run: Any) -> Path:
    """Where its files are: the folder that it was logged from, else a copy of its artifacts that ends with the
    program."""
    own = Path(str(run.data.tags.get("harness.folder", "")))
    if _is_of(own, run.info.run_id):
        return own
    place = Path(_copies().name, str(run.info.run_id))
    if not place.exists():
        place.mkdir()
        there = {entry.path for entry in client.list_artifacts(run.info.run_id)}
        for name in FILES:
            if name in there:
                client.download_artifacts(run.info.run_id, name, str(place))
    return place


def _is_of(folder: Path, run_id: str) -> bool:
    """Whether the folder is here, and still that of the run."""
    try:
        manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
        return bool(run_id in manifest["mlflow_run_ids"])
    except (OSError, ValueError, KeyError, TypeError):
        return False


@cache
def _copies() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="harness-mlflow-")
