"""What a run in MLflow is called and said to be: its name, parameters and short tags, and one document of long keys.

The parameters are what one looks for: the system, the data set, the metrics, what was set on the command line and what
a sweep varies. The rest of the config is in config.yaml; content keys, signatures and what system and data set say of
themselves are in keys.json.
"""

from __future__ import annotations

import getpass
import json
from collections.abc import Mapping
from typing import Any

from harness.inputs.nested import nodes
from harness.tracking.content import MAX_TAG, MAX_VALUE, cut, named
from harness.tracking.registry_prompts import linked, reference_of
from harness.types import RunResult
from harness.types.settings import deciding

INCIDENTAL = deciding("place", "manner")
"""May differ when the same result is logged again; MLflow refuses a parameter of another value."""
KEYS = "keys.json"
TELLING = ("system.model", "system.adapter", "system.revision", "system.path", "dataset.path", "limit")
"""Shown wherever they are set: what was evaluated, on what."""
NAMED = ("system", "system.path", "system.model", "system.name", "dataset", "dataset.path")
"""What the names of system and data set tell already."""
SHORT = 16
"""Characters of a content key in a tag; keys.json has all of them."""


def name_of(run: RunResult) -> str:
    """The run's name; of a cell of a sweep the system with what varies: `checkpoint-200 temperature=0.7 top_p=0.9`."""
    parameters, given = varied(run), run.manifest["config"].get("name")
    telling = {name: value for name, value in parameters.items() if name not in NAMED}
    if given is not None and parameters:
        return f"{run.name} {run.manifest['cell']['label']}"
    if not telling:
        return run.name
    if len(telling) == len(parameters) and not any(name.startswith("dataset") for name in telling):
        return f"{run.system} {run.manifest['cell']['label']}"
    last = [name.rpartition(".")[2] for name in telling]
    words = [
        f"{short if last.count(short) == 1 else name}={cut(value, 40, '')}"
        for (name, value), short in zip(telling.items(), last, strict=True)
    ]
    plain = not any(name.startswith("dataset") for name in parameters)
    return " ".join([run.system if plain else run.name, *words])


def varied(run: RunResult) -> dict[str, str]:
    """What the sweep set for this cell."""
    cell: Mapping[str, Any] = run.manifest.get("cell") or {}
    return {str(name): str(value) for name, value in (cell.get("parameters") or {}).items()}


def _step(run: RunResult) -> dict[str, str]:
    """By which a checkpoint differs from the others of its training run."""
    system = run.manifest["system"]
    return {"system.step": str(system["step"])} if system.get("series") else {}


def params_of(run: RunResult) -> list[Any]:
    """System, data set and metrics, what was set on the command line, and what the sweep varies."""
    from mlflow.entities import Param

    config = run.manifest["config"]
    known = dict(nodes(config))
    typed = [name for name in run.manifest.get("overrides", ()) if name.partition(".")[0] not in INCIDENTAL]
    params = {"system": run.system, "dataset": run.dataset, "metrics": ", ".join(run.manifest["metrics"])}
    for name in (*TELLING, *typed, *varied(run)):
        value = reference_of(config) if name == "system.prompt" else None
        value = value or known.get(name)
        if name not in params and value is not None and not isinstance(value, Mapping):
            params[name] = str(value)
    return [Param(name, cut(value, MAX_VALUE, "whole in config.yaml")) for name, value in named(params.items())]


def tags_of(run: RunResult, more: Mapping[str, str]) -> list[Any]:
    """Who ran what, where and of which commit; all of them short."""
    from mlflow.entities import RunTag

    manifest = run.manifest
    tags = {
        "harness.system": run.system,
        "harness.dataset": run.dataset,
        "harness.seed": str(manifest["seed"]),
        "harness.version": str(manifest["harness"]),
        "harness.folder": str(run.path),
        "mlflow.user": user(),
        "mlflow.source.name": "harness",
        "mlflow.source.type": "LOCAL",
        "mlflow.runType": "evaluation",  # its page then shows what is below parents
        **{f"varied.{name}": value for name, value in {**varied(run), **_step(run)}.items()},
        **linked(manifest["config"]),
    }
    if manifest.get("git"):
        tags["mlflow.source.git.commit"] = manifest["git"]["commit"]
        tags["harness.git.dirty"] = str(manifest["git"]["dirty"]).lower()
    cuts = [(name, cut(value, MAX_TAG, "whole in manifest.json")) for name, value in named(tags.items())]
    return [RunTag(name, value) for name, value in [*cuts, *more.items()]]


def user() -> str:
    """Whoever calls this, as MLflow has it."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # nobody with a name
        return "unknown"


def keys_document(run: RunResult, result: str) -> str:
    """keys.json: content keys in full, signatures, and what system and data set say of themselves."""
    manifest = run.manifest
    document = {
        "key": manifest["key"],
        "result": result,
        "dataset": {"key": run.dataset_key, **manifest["dataset"].get("about", {})},
        "system": {"key": manifest["system"]["key"], **manifest["system"].get("about", {})},
        "metrics": {name: dict(metric) for name, metric in manifest["metrics"].items()},
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
