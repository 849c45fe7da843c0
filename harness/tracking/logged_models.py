"""The model that was evaluated, as an external LoggedModel in MLflow, so that its scores stand on its own page.

The same weights are the same LoggedModel in every run and every experiment of a store: it is found by the tag
`harness.model_key`, a hash of the weights, or of an endpoint's address, model and revision. With the data set that
every number carries, MLflow then ranks models, the checkpoints of a training run among them:

    mlflow.search_logged_models(datasets=[{"dataset_name": "dev"}], order_by=[{"field_name": "metrics.bleu"}])

What has no knowable identity (a function, a program, stored outputs, a hub name without a revision) has no LoggedModel.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from harness.tracking import known
from harness.tracking.content import MAX_VALUE, cut
from harness.types import RunResult

KEY = "harness.model_key"
EXTERNAL = {"mlflow.model.isExternal": "true"}
OF_WEIGHTS = ("model", "adapter", "revision", "tokenizer", "dtype", "base_url", "step", "series")
"""Options of a system that say which model it is, not how it is asked."""
IN_TRAINING = ("step", "series")
"""Of these, what only an evaluation as a checkpoint knows."""
MAX_EXPERIMENTS = 1000


def model_of(client: Any, experiment: str, run: RunResult) -> str | None:
    """The id of the LoggedModel that was evaluated, made if there is none; None where there is no model to speak of."""
    from mlflow.exceptions import MlflowException

    about = run.manifest["system"].get("about", {})
    if "model_id" in about:  # a model of MLflow's own, if it is in this store
        with suppress(MlflowException):
            return str(client.get_logged_model(about["model_id"]).model_id)
        return None
    key = about.get("model_key")
    if not key or not re.fullmatch(r"[\w-]{1,128}", key):
        return None
    if known.model_ids(client.tracking_uri, KEY, key) != []:
        models = _known(client, [experiment], key) or _known(client, _experiments(client), key)
        if models:
            _place(client, models[0], params_of(run.manifest["config"].get("system") or {}, key))
            return str(models[0].model_id)
    made = _made(client, experiment, run, key)
    if known.model_ids(client.tracking_uri, KEY, key) == [made.model_id]:
        return str(made.model_id)
    first, *_ = _known(client, [experiment], key) or [made]
    if first.model_id != made.model_id:  # another process was quicker
        with suppress(MlflowException):
            client.delete_logged_model(made.model_id)
    return str(first.model_id)


def _experiments(client: Any) -> list[str]:
    return [str(entry.experiment_id) for entry in client.search_experiments(max_results=MAX_EXPERIMENTS)]


def _known(client: Any, experiments: list[str], key: str) -> list[Any]:
    """The LoggedModels of this key, the one that stays first."""
    models = client.search_logged_models(experiments, filter_string=f"tags.`{KEY}` = '{key}'")
    ready = [model for model in models if str(getattr(model.status, "value", model.status)) == "READY"]
    return sorted(ready, key=lambda model: (model.creation_timestamp, model.model_id))


def _place(client: Any, model: Any, params: Mapping[str, str]) -> None:
    """Adds to a model where it stands in its training, which whoever evaluated it first may not have known."""
    from mlflow.exceptions import MlflowException

    unknown = {name: params[name] for name in IN_TRAINING if name in params and name not in model.params}
    if unknown:
        with suppress(MlflowException):  # another process was quicker
            client.log_model_params(model.model_id, unknown)


def _made(client: Any, experiment: str, run: RunResult, key: str) -> Any:
    """As `mlflow.create_external_model` makes one, which knows the store of the process only."""
    from mlflow.models.utils import get_external_mlflow_model_spec

    model = client.create_logged_model(
        experiment_id=experiment,
        name=_name(run.system),
        tags={**EXTERNAL, KEY: key},
        params=params_of(run.manifest["config"].get("system") or {}, key),
    )
    with tempfile.TemporaryDirectory(prefix="harness-") as folder:
        get_external_mlflow_model_spec(model).save(str(Path(folder) / "MLmodel"))
        client.log_model_artifacts(model.model_id, folder)  # without it the model cannot be registered
    return client.finalize_logged_model(model.model_id, "READY")


def params_of(system: Mapping[str, Any], key: str) -> dict[str, str]:
    """What says which model it is."""
    chosen = {name: str(system[name]) for name in OF_WEIGHTS if system.get(name) is not None}
    return {"model_key": key, **{name: cut(value, MAX_VALUE, "") for name, value in chosen.items()}}


def _name(system: str) -> str:
    """A name that MLflow takes for a model."""
    return re.sub(r"[/:.%\"']", "_", system)[:200] or "_"


def versions_of(model: Any) -> list[tuple[str, str]]:
    """(name, version) of a LoggedModel in the registry."""
    try:
        known = json.loads(model.tags.get("mlflow.modelVersions", "[]"))
        return [(str(entry["name"]), str(entry["version"])) for entry in known]
    except (ValueError, TypeError, KeyError):  # none of MLflow's own
        return []


def set_alias(uri: str, run_id: str, alias: str) -> tuple[list[str], list[tuple[str, str]]]:
    """Gives the model of a run this alias in the registry; the ids of the run's models, and (name, version) of what has
    the alias now, none where the model is not registered."""
    from harness.tracking.backend import bounded, client_of, reachable

    reachable(uri)
    with bounded(0):
        client = client_of(uri)
        models = [str(model.model_id) for model in client.get_run(run_id).inputs.model_inputs]
        versions = [entry for model in models for entry in versions_of(client.get_logged_model(model))]
        newest = dict(sorted(versions, key=lambda entry: int(entry[1])))
        for name, version in newest.items():
            client.set_registered_model_alias(name, alias, version)
    return models, list(newest.items())
