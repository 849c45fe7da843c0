"""`harness run --from RUN OVERRIDES…`: a run composed again from the choices and overrides that its manifest records.

Secrets are not recorded: they come from the environment, where a config says so, or are given as overrides. Where the
result goes is not taken over either: folder, group and MLflow store are those of here.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from harness.cli.hydra.project_words import key_of
from harness.cli.output import complain, show_warnings
from harness.inputs.files import listed
from harness.inputs.nested import settings
from harness.masking import MASK
from harness.run.config import UNKEYED
from harness.types import HarnessError

log = logging.getLogger(__name__)
CANNOT = 3
PLACES = ("output_dir", "group", "json", "dry_run", "progress", "tracking.uri", "tracking.under", "retry_failed")
"""Overrides that say where a result went and what was printed."""
stored: dict[str, Any] = {}
"""The config that is being composed again, and the names that the caller overrides."""


def taken(arguments: list[str]) -> list[str]:
    """The arguments of `harness run`, with those of a stored run in place of `--from RUN`."""
    stored.clear()
    run, left = _flag(arguments, "--from")
    trust = "--trust" in left
    left = [argument for argument in left if argument != "--trust"]
    if run is None:
        if trust:
            raise HarnessError("--trust without --from RUN; expected it where a stored run is executed again")
        return left
    from harness.analysis.papers.would_run import would_run
    from harness.analysis.stored.loading import find_run
    from harness.store.finished import documents

    show_warnings()
    folder = find_run(run)
    manifest = documents(folder)[0]
    own = [argument for argument in left if not argument.startswith("-")]
    again = [*_flags(manifest, left), *words(manifest, own)]
    for line in would_run(manifest):
        complain(f"would run {line}")
    if not trust:
        complain(f"{folder} names all of this, and a run folder may come from anyone; expected --trust, which runs it")
        sys.exit(CANNOT)
    stored["config"], stored["own"] = manifest["config"], {key_of(word) for word in left}
    return [*again, *left]


def _flag(arguments: list[str], name: str) -> tuple[str | None, list[str]]:
    """(the value of a flag, the other arguments)."""
    for i, argument in enumerate(arguments):
        if argument.startswith(f"{name}="):
            return argument.partition("=")[2], [*arguments[:i], *arguments[i + 1 :]]
        if argument == name:
            if i + 1 == len(arguments):
                raise HarnessError(f"{name} has no value; expected {name} RUN, a run folder, name or MLflow run id")
            return arguments[i + 1], [*arguments[:i], *arguments[i + 2 :]]
    return None, arguments


def words(manifest: Mapping[str, Any], own: Sequence[str] = ()) -> list[str]:
    """The overrides of the stored run's command that are typed again; `own`: those of the caller, which go first."""
    command = manifest.get("command") or {}
    overrides = command.get("overrides")
    if overrides is None:
        how = command.get("typed", "Python, or by an older harness")
        raise HarnessError(
            f"{manifest['name']} has no overrides in its manifest.json: it was made by {how}; expected a run that "
            "harness run made"
        )
    given = {key_of(word) for word in own}
    kept: list[str] = []
    secrets: list[str] = []
    for word in overrides:
        key = key_of(word)
        if key in PLACES or key in given or key.partition(".")[0] in given:
            continue
        (secrets if MASK in word else kept).append(word)
    for word in secrets:
        log.warning("%s was given as a secret, which is not recorded; expected %s=… again", key_of(word), key_of(word))
    keys = {key_of(word) for word in overrides} | given
    choices = {group: choice for group, choice in (command.get("choices") or {}).items() if group not in keys}
    return [f"{group}={choice}" for group, choice in choices.items() if choice is not None] + kept


def _flags(manifest: Mapping[str, Any], arguments: Sequence[str]) -> list[str]:
    """Hydra's flags that say where configs are, as far as the caller does not."""
    command = manifest.get("command") or {}
    flags = {
        "--config-path": command.get("config_path"),
        "--config-dir": next(iter(command.get("config_dirs") or ()), None),
    }
    name = command.get("config_name")
    flags["--config-name"] = None if name == "config" else name
    given = {argument.partition("=")[0] for argument in arguments}
    short = {"-cp": "--config-path", "-cd": "--config-dir", "-cn": "--config-name"}
    given |= {short[flag] for flag in given & short.keys()}
    return [f"{flag}={value}" for flag, value in flags.items() if value is not None and flag not in given]


def name_differences(composed: Mapping[str, Any]) -> None:
    """Says what of a config that was composed again is not as it is stored, where the caller did not say so."""
    before, now = dict(settings(stored["config"])), dict(settings(composed))
    changed = [
        f"{name} ({before.get(name, 'not set')} there, {now.get(name, 'not set')} here)"
        for name in sorted({*before, *now})
        if before.get(name) != now.get(name)
        and name.partition(".")[0] not in UNKEYED
        and MASK not in f"{before.get(name)} {now.get(name)}"
        and not any(name == own or name.startswith(f"{own}.") for own in stored["own"])
    ]
    if changed:
        log.warning("composed again, the config is not as it is stored: %s", listed(changed, 10))
