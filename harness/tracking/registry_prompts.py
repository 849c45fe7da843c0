"""`system.prompt=prompts:/summarise/3`, or `prompts:/summarise@champion`: a prompt of MLflow's registry.

Before a run is built, its template takes the reference's place in the config, behind a Jinja comment that names the
version: `{# prompts:/summarise/3 #}Sum up: {{ source }}`. So an alias is pinned to the version that it meant, version
and text are part of the run's key, and whoever has the run folder can make the run again without the registry. In
MLflow the run is linked to the prompt.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from typing import Any

from harness.inputs.project import runs_folder
from harness.inputs.prompts import origin_of
from harness.masking import redacted
from harness.tracking import backend
from harness.types import HarnessError

SCHEME = "prompts:/"
REFERENCE = re.compile(r"prompts:/(?P<name>[^/@'`]+)(/(?P<version>[1-9]\d*)|@(?P<alias>[^/@'`]+))")
LINKED = "mlflow.linkedPrompts"
"""The tag by which MLflow links a run to prompts."""


def pinned(system: Mapping[str, Any], uri: str | None) -> dict[str, Any]:
    """The options of a system, with the template in place of a prompt of the registry; `uri`: the store to ask."""
    prompt = system.get("prompt")
    if not isinstance(prompt, str) or not prompt.startswith(SCHEME):
        return dict(system)
    reference = REFERENCE.fullmatch(prompt)
    if reference is None:
        raise HarnessError(f"system.prompt={prompt}; expected prompts:/NAME/3 or prompts:/NAME@ALIAS")
    return {**system, "prompt": _template(reference, uri or backend.default_uri(runs_folder()))}


def _template(reference: re.Match[str], uri: str) -> str:
    """The template of a prompt's version, behind what names it."""
    file = backend.sqlite_file(uri)
    if file is not None and not file.exists():  # MLflow would make an empty one
        raise _missing(reference, f"there is no MLflow store {file}", "the store that has the prompt (tracking.uri)")
    try:
        backend.reachable(uri)
        with backend.bounded(0):
            version = _version(reference, uri)
    except HarnessError:
        raise
    except Exception as error:  # MLflow raises its own, its database's and the network's errors
        raise _missing(reference, " ".join(redacted(error).split())[:300], "a store that answers") from None
    if not version.is_text_prompt:
        raise _missing(reference, f"it is a chat of {len(version.template)} messages", "a prompt that is one text")
    text = str(version.template)
    if not ("{%" in text and "%}" in text):  # then MLflow fills in {{ names }} and nothing else
        text = re.sub(r"\{[%#]", lambda match: f"{{{{ '{match[0]}' }}}}", text)
    return f"{{# {SCHEME}{version.name}/{version.version} #}}{text}"


def _version(reference: re.Match[str], uri: str) -> Any:
    """What the registry has; what is missing of it is said."""
    from mlflow import MlflowClient
    from mlflow.exceptions import MlflowException

    backend.quiet()
    client = MlflowClient(uri, registry_uri=os.environ.get("MLFLOW_REGISTRY_URI") or uri)
    name, number, alias = reference["name"], reference["version"], reference["alias"]
    try:
        if number is None:
            return client.get_prompt_version_by_alias(name, alias)
        return client.get_prompt_version(name, number)
    except MlflowException:
        if client.get_prompt(name) is None:
            names = sorted(prompt.name for prompt in client.search_prompts(max_results=20))
            known = f"one of: {', '.join(names)}" if names else "a prompt that was registered there"
            raise _missing(reference, f"{redacted(uri)} has no prompt {name!r}", known) from None
        versions = client.search_model_versions(f"name = '{name}' and tags.`mlflow.prompt.is_prompt` = 'true'")
        numbers = ", ".join(sorted((str(version.version) for version in versions), key=int))
        what = f"no version {number}" if alias is None else f"no alias {alias!r}"
        raise _missing(reference, f"the prompt {name!r} has {what}", f"a version that it has: {numbers}") from None


def _missing(reference: re.Match[str], reason: str, expected: str) -> HarnessError:
    return HarnessError(f"system.prompt={reference[0]}: {reason}; expected {expected}")


def linked(config: Mapping[str, Any]) -> dict[str, str]:
    """The tag that links a run of this config to its prompt in the registry; none where it has none."""
    origin = REFERENCE.fullmatch(reference_of(config) or "")
    if origin is None or origin["version"] is None:
        return {}
    return {LINKED: json.dumps([{"name": origin["name"], "version": origin["version"]}])}


def reference_of(config: Mapping[str, Any]) -> str | None:
    """`prompts:/summarise/3`, where the prompt of the config's system comes from the registry."""
    prompt = (config.get("system") or {}).get("prompt")
    return origin_of(prompt) if isinstance(prompt, str) else None
