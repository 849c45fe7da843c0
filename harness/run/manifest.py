"""manifest.json: what made a run, and the key by which a finished run is found to be still the right one."""

from __future__ import annotations

import json
import platform
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

import harness
from harness.inputs import files
from harness.masking import masked
from harness.run import environment
from harness.run.inputs_used import used
from harness.run.job import Job
from harness.run.machine import machine
from harness.store.shape import SCHEMA
from harness.types import RunResult

PACKAGES = ("numpy", "pandas", "pyarrow", "hydra-core", "mlflow", "sacrebleu", "numba", "nltk", "torch", "transformers")
INDIFFERENT = ("pandas", "hydra-core", "mlflow")
"""Those of them that no score depends on."""
DECIDING = (
    "compiled", "inputs/arrow.py", "inputs/hash_kernels.py", "inputs/hashing.py", "metrics", "postprocess.py",
    "run/answers.py", "run/health.py", "run/health_kernels.py", "run/rounds.py", "run/scoring.py", "run/sharding.py",
    "run/sinks.py", "run/stopping.py", "stats", "store/example_table.py", "store/folder.py", "store/writing.py",
    "types",
)  # fmt: skip
"""The code that decides what is in a result's files."""
MOST_CELLS = 32
"""Of sweeps that a run was a cell of."""


@dataclass(frozen=True)
class Facts:
    """What is known of a run beside its result."""

    examples: int
    content: Mapping[str, Any] | None
    """Of the examples, so that keys of shards add up; None where that is not known."""
    fields: Mapping[str, Any]
    """What of metadata fields the table of examples does not tell."""
    keys: Mapping[str, str | None]
    """Of the config, the system and the result."""
    generation: Mapping[str, Any]
    started: str
    earlier: Mapping[str, Any] | None
    """The manifest that was in the folder before."""
    raced: Mapping[str, Any] | None = None
    """Of a cell in a race how far it has come."""


def manifest(job: Job, result: RunResult, facts: Facts, digests: Mapping[str, str]) -> dict[str, Any]:
    """What made the run; `digests`: of the result's files. MLflow runs of the folder's earlier results stay known."""
    metrics = {name: {"signature": str(stats.signature), "key": stats.key} for name, stats in result.statistics.items()}
    earlier, system = facts.earlier, job.system
    unchanged = earlier is not None and earlier["metrics"] == metrics
    return {
        "schema": SCHEMA,
        "name": result.name,
        "key": facts.keys["config"],
        "result": facts.keys["result"],
        "files": dict(digests),
        "group": job.group,
        "cell": None if job.cell is None else dict(job.cell),
        "also": _other_cells(job, earlier),
        "dataset": {
            "name": result.dataset,
            "key": result.dataset_key,
            "cluster": result.cluster,
            "strata": result.strata,
            "examples": facts.examples,
            "about": masked(dict(job.dataset.about())),
            "content": facts.content,
            "fields": facts.fields,
        },
        "system": {
            "name": result.system,
            "key": facts.keys["system"],
            "repeats": system.repeats,
            "seeds": result.seeds,
            "about": masked(dict(system.about())),
            "step": system.step,
            "series": system.series,
        },
        "metrics": metrics,
        "health": result.health,
        "stopped": result.stopped,
        "raced": None if facts.raced is None else dict(facts.raced),
        "generation": dict(facts.generation),
        "seed": job.config["stats"]["seed"],
        "harness": harness.__version__,
        "code": own_code(),
        "command": None if job.call is None else dict(job.call),
        "inputs": _inputs(job),
        "packages": environment.versions(),
        "python": platform.python_version(),
        "engine": dict(job.engine.about()),
        "machine": machine(),
        "git": _git(),
        **_merged(job, facts),
        "mlflow": earlier["mlflow"] if earlier is not None and unchanged else None,
        "mlflow_run_ids": earlier["mlflow_run_ids"] if earlier is not None else [],
        "overrides": list(job.overrides),
        "config": dict(job.config),
    }


def _other_cells(job: Job, earlier: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    """The cells that the run was before, of this sweep or of others, which still find it by them; the newest last."""
    if earlier is None:
        return []
    before = {"group": earlier["group"], "cell": earlier.get("cell")}
    cells = [*earlier.get("also", ()), *([before] if before["group"] and before["cell"] else [])]
    own = {"group": job.group, "cell": job.cell}
    return [cell for i, cell in enumerate(cells) if cell != own and cell not in cells[i + 1 :]][-MOST_CELLS:]


def _merged(job: Job, facts: Facts) -> dict[str, Any]:
    """When a run began and ended; of one that shards became, what each of them was and when the first of them began
    and the last ended."""
    if job.shards is not None:
        return {name: job.shards.manifest[name] for name in ("shards", "started", "ended")}
    earlier = facts.earlier or {}
    same = earlier.get("result") == facts.keys["result"] and "shards" in earlier
    return {**({"shards": earlier["shards"]} if same else {}), "started": facts.started, "ended": now()}


def _inputs(job: Job) -> list[dict[str, Any]]:
    """The files that the run was made of; of one that is scored again or merged, what was known then."""
    original = job.original()
    return used(job.recipes) if original is None else list(original.get("inputs") or [])


@cache
def own_code() -> dict[str, Any]:
    """This package: the commit of its checkout or of what it was installed from, whether that was changed, and the
    hash of the code that decides results."""
    package = Path(__file__).parents[1]
    known = _git(package.parent) if (package.parent / ".git").exists() else _installed_from()
    return {**(known or {"commit": None, "dirty": None}), "hash": code()}


def _installed_from() -> dict[str, Any] | None:
    """The commit that pip installed this package from, where it did."""
    try:
        origin = json.loads(distribution(environment.OWN).read_text("direct_url.json") or "{}")
    except (PackageNotFoundError, ValueError):
        return None
    commit = origin.get("vcs_info", {}).get("commit_id")
    return {"commit": commit, "dirty": False} if commit else None


@cache
def code(package: Path = Path(__file__).parents[1]) -> str:
    """Hash of the code that decides results: an edit of it computes them again, an edit of a page or a command does
    not. What a system gives and what is read have keys of their own."""
    deciding = (path for place in DECIDING for path in _modules(package / place))
    return files.digest([[str(path.relative_to(package)), files.file_digest(path)] for path in deciding])


def _modules(place: Path) -> list[Path]:
    return sorted(place.rglob("*.py")) if place.is_dir() else [place]


def deciding_packages() -> dict[str, str]:
    """The versions of those packages that scores or the bytes of their files depend on."""
    installed = environment.versions()
    return {name: installed[name] for name in PACKAGES if name in installed and name not in INDIFFERENT}


def _git(folder: Path | None = None) -> dict[str, Any] | None:
    """The commit of a folder, by default the one the command was called in, and whether its tracked files were
    changed."""
    command = ["git", "status", "--porcelain=v2", "--branch", "--untracked-files=no"]
    try:
        asked = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    lines = asked.stdout.splitlines()
    commit = next((line.split()[-1] for line in lines if line.startswith("# branch.oid")), "(initial)")
    if commit == "(initial)":  # nothing is committed yet
        return None
    return {"commit": commit, "dirty": any(not line.startswith("#") for line in lines)}


def now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="milliseconds")
