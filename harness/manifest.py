"""manifest.json: what made a run, and the key by which a finished run is found to be still the right one."""

from __future__ import annotations

import inspect
import os
import platform
import subprocess
from collections.abc import Mapping
from datetime import datetime, timezone
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import harness
from harness import files
from harness.store.shape import SCHEMA
from harness.types import RunResult

PACKAGES = ("numpy", "pandas", "pyarrow", "hydra-core", "mlflow", "sacrebleu", "numba", "nltk", "torch", "transformers")


def manifest(
    result: RunResult,
    dataset: Mapping[str, Any],
    system: Mapping[str, Any],
    config: Mapping[str, Any],
    keys: Mapping[str, str | None],
    digests: Mapping[str, str],
    generation: Mapping[str, Any],
    group: str | None,
    started: str,
    earlier: Mapping[str, Any] | None,
) -> dict[str, Any]:
    """What made the run. `dataset` and `system`: more to tell of them; `keys` are those of the config, the system and
    the result, `digests` of the result's files.

    MLflow runs of the folder's earlier results stay known.
    """
    metrics = {name: {"signature": str(one.signature), "key": one.key} for name, one in result.statistics.items()}
    unchanged = earlier is not None and earlier["metrics"] == metrics
    return {
        "schema": SCHEMA,
        "name": result.name,
        "key": keys["config"],
        "result": keys["result"],
        "files": dict(digests),
        "group": group,
        "dataset": {
            "name": result.dataset,
            "key": result.dataset_key,
            "cluster": result.cluster,
            "strata": result.strata,
            **dataset,
        },
        "system": {"name": result.system, "key": keys["system"], **system},
        "metrics": metrics,
        "health": result.health,
        "stopped": result.stopped,
        "generation": dict(generation),
        "seed": config["stats"]["seed"],
        "harness": harness.__version__,
        "packages": packages(),
        "python": platform.python_version(),
        "machine": {"system": platform.platform(), "cpus": os.cpu_count()},
        "git": _git(),
        "started": started,
        "ended": now(),
        "mlflow": earlier["mlflow"] if earlier is not None and unchanged else None,
        "mlflow_run_ids": earlier["mlflow_run_ids"] if earlier is not None else [],
        "config": dict(config),
    }


@cache
def packages() -> dict[str, str]:
    return {name: found for name in PACKAGES if (found := _version(name))}


@cache
def code() -> str:
    """Hash of this package's own code: whatever changes in it, results are computed again."""
    folder = Path(__file__).parent
    return files.digest([files.file_digest(path) for path in sorted(folder.rglob("*.py"))])


def source(part: object) -> str:
    """What identifies the code of a part: its name and, for one of the user's own, its text."""
    kind = type(part)
    name = f"{kind.__module__}.{kind.__qualname__}"
    if name.startswith("harness."):
        return name
    try:
        return name + inspect.getsource(kind)
    except (OSError, TypeError):  # made in a shell
        return name


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _git() -> dict[str, Any] | None:
    """The commit of the folder the command was called in, and whether its tracked files were changed."""

    def ask(*arguments: str) -> str:
        asked = subprocess.run(["git", *arguments], capture_output=True, text=True, timeout=10, check=True)
        return asked.stdout.strip()

    try:
        return {"commit": ask("rev-parse", "HEAD"), "dirty": bool(ask("status", "--porcelain", "-uno"))}
    except (OSError, subprocess.SubprocessError):
        return None


def now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="milliseconds")
