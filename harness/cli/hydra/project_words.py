"""What the project file adds to `harness run`: the folder of YAML files, overrides, where a multirun keeps its marks.

What is typed comes first: a default is left out where its key, or the group that it belongs to, is typed, or set by an
experiment that is typed. A stored run that is executed again has none of them.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from harness.inputs.project import Project, code_beside, current
from harness.run import config as core

CONFIG_DIR = ("--config-dir", "-cd")
MARKS = ".multirun/${now:%Y-%m-%dT%H-%M-%S-%f}"
"""As in conf/config.yaml."""


def applied(typed: list[str]) -> list[str]:
    """The arguments of `harness run` with those of the project file before them."""
    project, folder = current(), typed_folder(typed)
    added: list[str] = []
    if folder is None and project.config_dir is not None:
        folder = project.config_dir
        added.append(f"--config-dir={os.path.relpath(folder)}")
    keys = {key_of(word) for word in typed if not word.startswith("-")}
    keys |= _of_experiments(typed, folder)
    added += [word for word in project.defaults if not keys & {key_of(word), key_of(word).partition(".")[0]}]
    if project.runs is not None and "hydra.sweep.dir" not in keys:
        added.append(f"hydra.sweep.dir='{os.path.relpath(project.runs)}/{MARKS}'")
    return [*added, *typed]


def find_code(project: Project, config_dir: Path | None) -> None:
    """Plug-ins are found from the project's folder, and beside their YAML files; last, so that they hide no library."""
    add_paths([*project.code, *code_beside(config_dir)])


def add_paths(folders: Iterable[str]) -> None:
    """Modules are found there, too."""
    sys.path.extend(folder for folder in folders if folder not in sys.path)


def key_of(word: str) -> str:
    """Of an override.

    >>> key_of("+experiment=demo"), key_of("metrics.bleu.tokenize=zh"), key_of("~system")
    ('experiment', 'metrics.bleu.tokenize', 'system')
    """
    return word.partition("=")[0].lstrip("+~").partition("@")[0]


def typed_folder(words: list[str]) -> Path | None:
    """The folder of `--config-dir`."""
    for i, word in enumerate(words):
        flag, equals, value = word.partition("=")
        if flag in CONFIG_DIR and (equals or i + 1 < len(words)):
            return Path(value if equals else words[i + 1])
    return None


def _of_experiments(words: list[str], folder: Path | None) -> set[str]:
    """The keys and groups that the chosen experiments set."""
    keys: set[str] = set()
    for word in words:
        if key_of(word) == "experiment":
            for name in word.partition("=")[2].strip("[]").split(","):
                keys |= _of_experiment(name.strip(), folder)
    return keys


def _of_experiment(name: str, folder: Path | None) -> set[str]:
    for place in (core.conf_dir(), *([] if folder is None else [folder])):
        try:
            content: Any = yaml.safe_load((place / "experiment" / f"{name}.yaml").read_text(encoding="utf-8"))
        except (OSError, ValueError, yaml.YAMLError):  # Hydra says what is wrong with it
            continue
        if isinstance(content, Mapping):
            chosen = [entry for entry in content.get("defaults") or [] if isinstance(entry, Mapping)]
            groups = {str(group).removeprefix("override ").strip().lstrip("/") for entry in chosen for group in entry}
            return groups | {str(key) for key in content}
    return set()
