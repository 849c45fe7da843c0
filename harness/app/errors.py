"""Hydra reports errors with tracebacks of its own making; here what a user can mend becomes one message.

A misspelt name is shown with the nearest valid one.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import HydraException, OverrideParseException
from hydra.types import RunMode
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from harness import config as core
from harness.app.calling import command, typed
from harness.types import HarnessError


def report(func: Callable[[], Any], arguments: list[str]) -> Any:
    """Calls; an error that a user can mend becomes one message and exit code 1."""
    try:
        return func()
    except KeyboardInterrupt:
        print(
            f"\nharness: interrupted; every finished batch is kept. To go on from here:\n  {command()}",
            file=sys.stderr,
        )
        sys.exit(130)
    except Exception as error:
        if os.environ.get("HYDRA_FULL_ERROR") == "1":
            raise
        if isinstance(error, HarnessError):
            print(f"harness: {error}", file=sys.stderr)
        elif isinstance(error, HydraException | OmegaConfBaseException):
            print(f"harness: {_explained(error, arguments)}", file=sys.stderr)
            sys.exit(2 if isinstance(error, OverrideParseException) else 1)
        else:
            raise
        sys.exit(1)


def _explained(error: Exception, arguments: list[str]) -> str:
    """Hydra's error in a line or two, with the nearest valid name where a name is wrong."""
    text = re.split(r"\n\s*(?:Config s|S)earch path", str(error).strip())[0].strip()
    if isinstance(error, OverrideParseException):
        problem = [line for line in text.splitlines() if line.strip(" ^") and "See https" not in line][-1]
        return f"{error.override} is not an override ({problem}); expected name=value, special characters quoted"
    wrong = re.search(r"Could not override '([^'@]+)", text)
    if wrong:
        name = wrong[1]
        valid = _valid_names(name, arguments)
        parent = name.rpartition(".")[0]
        beside = sorted({n.removeprefix(f"{parent}.") for n in valid if n.rpartition(".")[0] == parent})
        hint = core.nearest(name, valid)
        listed = f"; {parent or 'the top level'} has: {', '.join(beside)}" if beside else ""
        return f"{name} is not in the config{hint}{listed}"
    choice = re.search(r"(?:Could not find|Could not load) '([^']+)/([^'/]+)'", text)
    if choice:
        group, name = choice.groups()
        found = GlobalHydra.instance().config_loader().get_group_options(group)
        options = [option for option in found if not option.startswith("_")]  # those of a stored run, see score()
        if options:
            return f"{group}={name} is not a choice{core.nearest(name, options)}; {group} has: {', '.join(options)}"
    cause = f"\n{error.__cause__}" if error.__cause__ is not None else ""
    noise = ("full_key", "object_type", "reference_type", "See https")
    lines = [line for line in (text + cause).splitlines() if line.strip() and not line.strip().startswith(noise)]
    return "\n".join(lines)


def _valid_names(wrong: str, arguments: list[str]) -> list[str]:
    """Names that can be overridden, in the config composed without the wrong override."""
    loader = GlobalHydra.instance().hydra
    assert loader is not None
    groups = [g for g in loader.config_loader.list_groups("") if not g.startswith("hydra")]
    overrides = [a for a in arguments if not a.startswith("-") and "=" in a]
    kept = [a for a in overrides if not a.lstrip("+~").startswith((wrong + "=", wrong + "@"))]
    parser = OverridesParser.create()
    primary = "stored" if typed[:1] == ["score"] else "config"
    try:
        single = [a for a, o in zip(kept, parser.parse_overrides(kept), strict=True) if not o.is_sweep_override()]
        composed = loader.compose_config(primary, single, run_mode=RunMode.RUN, with_log_configuration=False)
    except (HydraException, OmegaConfBaseException):
        composed = loader.compose_config(primary, [], run_mode=RunMode.RUN, with_log_configuration=False)
    tree = OmegaConf.to_container(composed, resolve=False)
    assert isinstance(tree, dict)
    tree.pop("hydra", None)
    return [*groups, *_paths(tree)]


def _paths(tree: Mapping[Any, Any], prefix: str = "") -> Iterable[str]:
    for key, value in tree.items():
        if key == "_target_":
            continue
        yield f"{prefix}{key}"
        if isinstance(value, Mapping):
            yield from _paths(value, f"{prefix}{key}.")
