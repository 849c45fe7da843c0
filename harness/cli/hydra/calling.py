"""The command as it was typed, to be shown where it should be typed again."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import Any

from hydra.core.hydra_config import HydraConfig
from omegaconf import OmegaConf

from harness import masking
from harness.cli.hydra import secrets
from harness.run import config as core

program: list[str] = []
typed: list[str] = []
"""Program, and what came after it."""
TYPED = "command-line"
"""What Hydra calls the provider of configs that --config-dir names."""


def begin(words: list[str]) -> None:
    """Keeps what was typed, and secrets out of what is told."""
    program[:] = ["python", "-m", "harness"] if Path(sys.argv[0]).name == "__main__.py" else ["harness"]
    typed[:] = words
    masking.forget()
    secrets.keep()


def command() -> str:
    """The command as it was typed, quoted for a shell; secrets are masked, as everywhere."""
    words = [_masked(word) for word in typed]
    return masking.redacted(shlex.join([*program, *words])) if words else "the same command"


def _masked(word: str) -> str:
    """An argument without its secret, where it is one."""
    name, equals, value = word.partition("=")
    return f"{name}={masking.masked({name.rpartition('.')[2]: value}).popitem()[1]}" if equals else word


def recorded() -> dict[str, Any]:
    """The command for the manifest: as it was typed and, of `harness run`, what Hydra made of it, so that `harness run
    --from` can compose the same again. Of one cell of a multirun, that cell's overrides."""
    known: dict[str, Any] = {"typed": command(), "folder": os.getcwd()}
    if typed[:1] != ["run"] or not HydraConfig.initialized():
        return known
    hydra_config = HydraConfig.get()
    words: Any = OmegaConf.to_container(hydra_config.overrides.task)  # not resolved: `${.key}` means nothing in a list
    overrides = [masking.redacted(_masked(str(word))) for word in words]
    choices: Any = OmegaConf.to_container(hydra_config.runtime.choices)
    sources = _sources(hydra_config)
    return {
        **known,
        "overrides": overrides,
        "choices": {
            group: None if choice is None else str(choice)
            for group, choice in sorted((str(group), choice) for group, choice in choices.items())
            if not group.startswith("hydra/")
        },
        "config_name": hydra_config.job.config_name,
        "config_path": next((path for path in sources.get("main", []) if Path(path) != core.conf_dir()), None),
        "config_dirs": sources.get(TYPED, []),
    }


def config_dirs(hydra_config: Any) -> list[str]:
    """The folders with YAML files of the user's own."""
    return _sources(hydra_config).get(TYPED, [])


def _sources(hydra_config: Any) -> dict[str, list[str]]:
    """By who named them the folders that configs came from."""
    named: dict[str, list[str]] = {}
    sources: Any = OmegaConf.to_container(hydra_config.runtime.config_sources)
    for source in sources:
        named.setdefault(source["provider"], []).append(source["path"])
    return named
