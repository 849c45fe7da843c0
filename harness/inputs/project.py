"""The project file: `harness.yaml`, or `[tool.harness]` in pyproject.toml, in the folder that a command is called in or
above it.

| key | what it names |
| --- | --- |
| `config_dir` | a folder with YAML files of the user's own, as `--config-dir` does; plug-in code is found in it, too |
| `defaults` | overrides of every `harness run`, which those that are typed replace |
| `runs` | the folder that runs are kept in |

Paths are relative to the file. It is the user's own, as a YAML of `--config-dir` is, and names code that runs: one in a
run folder or a bundle, which may come from anyone, is not looked at, nor one that belongs to another user.
"""

from __future__ import annotations

import logging
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

from harness.types import HarnessError, nearest

log = logging.getLogger(__name__)
YAML, TOML = "harness.yaml", "pyproject.toml"
KEYS = ("config_dir", "defaults", "runs")
ROOT = 0
"""The user whose files everybody reads."""
RUNS = "runs"
"""Below the folder that the command is called in, where no project file says otherwise."""
RECEIVED = (("manifest.json", "scores.json"), ("bundle.json",))
"""Files that a run folder has, and a bundle."""


@dataclass(frozen=True)
class Project:
    """What a project file says."""

    file: Path | None = None
    config_dir: Path | None = None
    defaults: tuple[str, ...] = ()
    runs: Path | None = None

    @property
    def code(self) -> list[str]:
        """Folders that plug-in code is found in: the project's, that of the YAML files, those of their groups."""
        return [] if self.file is None else [str(self.file.parent), *code_beside(self.config_dir)]


def code_beside(config_dir: Path | None) -> list[str]:
    """The folder of YAML files and those of their groups."""
    if config_dir is None or not config_dir.is_dir():
        return []
    groups = sorted(path for path in config_dir.iterdir() if path.is_dir() and not path.name.startswith((".", "_")))
    return [str(path.absolute()) for path in (config_dir, *groups)]


def runs_folder() -> Path:
    """Where runs are kept, as seen from here."""
    runs = current().runs
    if runs is None:
        return Path(RUNS)
    try:
        return Path(os.path.relpath(runs))
    except ValueError:  # on another drive of Windows
        return runs


def current() -> Project:
    """That of the folder that the process is in, or of the next one above that has one."""
    try:
        here = Path.cwd()
    except OSError:  # the folder is gone
        return Project()
    for folder in (here, *here.parents):
        for name in (YAML, TOML):
            project = _read(folder / name)
            if project is not None:
                return project
    return Project()


def _read(path: Path) -> Project | None:
    """None where it is none."""
    try:
        known = path.stat()
    except OSError:
        return None
    if not path.is_file() or any(map(_is_received, path.parents)):
        return None
    return _parsed(path, (known.st_mtime_ns, known.st_size), known.st_uid)


def _is_received(folder: Path) -> bool:
    """Whether it is a run folder or a bundle."""
    return any(all((folder / name).exists() for name in names) for names in RECEIVED)


@lru_cache(maxsize=32)
def _parsed(path: Path, stamp: tuple[int, int], owner: int) -> Project | None:
    """`stamp`: of the file, which is read again once it has changed."""
    content = _content(path)
    if content is None:
        return None
    if hasattr(os, "getuid") and owner not in (os.getuid(), ROOT):
        log.warning("%s belongs to another user and is not read; a project file names code that runs", path)
        return None
    for key in content:
        if key not in KEYS:
            raise HarnessError(f"{path}: {key} is not a key{nearest(str(key), KEYS)}; expected {', '.join(KEYS)}")
    defaults = content.get("defaults") or []
    if not isinstance(defaults, list) or not all(isinstance(word, str) and "=" in word for word in defaults):
        raise HarnessError(f"{path}: defaults is {defaults!r}; expected a list of overrides, such as metrics=lexical")
    config_dir, runs = (_folder(path, content, key) for key in ("config_dir", "runs"))
    if config_dir is not None and not config_dir.is_dir():
        raise HarnessError(f"{path}: config_dir is {content['config_dir']}; expected a folder with YAML files of yours")
    return Project(path, config_dir, tuple(defaults), runs)


def _content(path: Path) -> Mapping[str, Any] | None:
    try:
        text = path.read_text(encoding="utf-8")
        if path.name == TOML:
            content = tomllib.loads(text).get("tool", {}).get("harness") if "[tool.harness" in text else None
        else:
            content = yaml.safe_load(text) or {}
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise HarnessError(f"{path} cannot be read ({error}); expected {', '.join(KEYS)}") from None
    if content is not None and not isinstance(content, Mapping):
        raise HarnessError(f"{path} is no mapping; expected {', '.join(KEYS)}")
    return content


def _folder(path: Path, content: Mapping[str, Any], key: str) -> Path | None:
    value = content.get(key)
    if value is None:
        return None
    if not isinstance(value, str) or not value.strip():
        raise HarnessError(f"{path}: {key} is {value!r}; expected a folder")
    return path.parent / Path(value).expanduser()
