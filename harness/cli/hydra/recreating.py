"""Level 3 of `harness reproduce`: a virtual environment with the very distributions that took part, and the run
reproduced inside it by the harness of here.

Wheels only are installed: nothing is built, so nothing runs while installing. A distribution that has no wheel is
copied from here, where the very same one is installed. What was installed is compared with what was recorded, by the
hash of its RECORD.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

import harness
from harness.run import config as core
from harness.run import environment
from harness.store import finished
from harness.store.shape import VERSION
from harness.types.reproductions import CannotBeTried, Difference, Reproduction, Reproductions

NOT_FOUND = re.compile(r"No matching distribution found for ([A-Za-z0-9._-]+)")
ASIDE = ("mlflow", "altair", "vl-convert-python")
"""What harness needs to log and to draw, which reproducing does not; where they took part, they are in the lock."""
PATIENCE = 3600
"""Seconds that installing may take: torch is two gigabytes."""


@dataclass
class Lock:
    """Distributions by name with version and hash, and the Python that they were installed for."""

    python: str
    packages: dict[str, tuple[str, str | None]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def takes(self, document: Mapping[str, Any]) -> bool:
        """Adds those of another run, unless a version is another one."""
        if _minor(document["python"]) != _minor(self.python):
            return False
        other = {each["name"]: (each["version"], each.get("record")) for each in document["packages"]}
        if any(self.packages.get(name, package)[0] != package[0] for name, package in other.items()):
            return False
        self.packages |= other
        return True


def in_environment(folders: Sequence[Path], options: Any) -> Reproductions:
    """The runs reproduced in environments of their own, one for all of them where their packages agree."""
    locks = locked(folders)
    parts = []
    for lock, members in locks:
        targets = [options.run] if len(locks) == 1 else [str(member.absolute()) for member in members]
        with tempfile.TemporaryDirectory(prefix="harness-environment-") as place:
            python = _made(lock, Path(place))
            parts += [_inside(python, target, options) for target in targets]
    notes = [note for lock, _ in locks for note in lock.notes]
    if len(locks) > 1:
        notes.append(f"{len(locks)} environments, since runs had other versions; comparisons were not tested again")
    return _together(parts, {"packages": sum(len(lock.packages) for lock, _ in locks), "notes": notes})


def locked(folders: Sequence[Path]) -> list[tuple[Lock, list[Path]]]:
    """What would be installed, each with the runs that it is for; harness' own needs among it."""
    locks: list[tuple[Lock, list[Path]]] = []
    for folder in folders:
        document = _document(folder)
        for lock, members in locks:
            if lock.takes(document):
                members.append(folder)
                break
        else:
            lock = Lock(document["python"])
            lock.takes(document)
            locks.append((lock, [folder]))
    for lock, members in locks:
        _add_own_needs(lock, members)
    return locks


def _document(folder: Path) -> Mapping[str, Any]:
    document = finished.read_environment(folder)
    if document is None:
        raise CannotBeTried(f"{folder} has no environment.json that can be read; expected that of a run")
    return document


def _add_own_needs(lock: Lock, members: Sequence[Path]) -> None:
    """What harness itself needs to start, in the versions that were installed then."""
    installed = (finished.read_manifest(members[0]) or {}).get("packages") or {}
    waiting = [environment.OWN]
    seen: set[str] = set()
    while waiting:
        try:
            texts = requires(waiting.pop()) or []
        except PackageNotFoundError:
            continue
        for needed in map(Requirement, texts):
            name = environment.normal(needed.name)
            if name in (*seen, *ASIDE) or (needed.marker is not None and not needed.marker.evaluate({"extra": ""})):
                continue
            seen.add(name)
            waiting.append(name)
            if name not in lock.packages and VERSION.fullmatch(installed.get(name, "")):
                lock.packages[name] = (installed[name], None)


# ---------------------------------------------------------------- making it


def _made(lock: Lock, place: Path) -> Path:
    """The Python of a new environment that has what the lock says, and this harness."""
    interpreter = _interpreter(lock)
    _called([interpreter, "-m", "venv", "--without-pip", str(place)], "a virtual environment cannot be made")
    python = place / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    asked = _called([str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], "it has no Python")
    packages = Path(asked.stdout.strip())
    _install(lock, python, packages)
    own = Path(harness.__file__).parent
    shutil.copytree(own, packages / own.name, ignore=shutil.ignore_patterns("__pycache__", "conf"))
    shutil.copytree(core.conf_dir(), packages / own.name / "conf", ignore=shutil.ignore_patterns("__pycache__"))
    _check(lock, packages)
    return python


def _interpreter(lock: Lock) -> str:
    here = ".".join(map(str, sys.version_info[:3]))
    if _minor(lock.python) == _minor(here):
        if lock.python != here:
            lock.notes.append(f"Python: {lock.python} there, {here} here")
        return sys.executable
    path = shutil.which(f"python{_minor(lock.python)}")
    if path is None:
        raise CannotBeTried(
            f"the run was made with Python {lock.python}, and this is {here}; expected python{_minor(lock.python)} on "
            "the PATH"
        )
    return path


def _minor(version: str) -> str:
    return ".".join(version.split(".")[:2])


def _install(lock: Lock, python: Path, packages: Path) -> None:
    """Wheels of exactly these versions; what has none is taken from here, or by its public version."""
    wanted = {name: version for name, (version, _) in lock.packages.items()}
    here = {dist.name: dist for dist in environment.distributions()}
    if importlib.util.find_spec("pip") is None:
        raise CannotBeTried("pip is not installed here; expected it, to install the recorded packages")
    command = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-deps", "--only-binary",
               ":all:", "--no-input", "--disable-pip-version-check", "--no-warn-script-location"]  # fmt: skip
    while wanted:
        lines = [f"{name}=={version}" for name, version in sorted(wanted.items())]
        asked = subprocess.run([*command, *lines], capture_output=True, text=True, timeout=PATIENCE)
        if asked.returncode == 0:
            return
        missing = NOT_FOUND.search(asked.stderr)
        name = environment.normal(missing[1]) if missing else None
        if name is None or name not in wanted:
            reason = next((line for line in asked.stderr.splitlines()[::-1] if line.strip()), "no reason")
            raise CannotBeTried(f"the recorded packages cannot be installed: {reason}")
        version, record = wanted.pop(name), lock.packages[name][1]
        local = here.get(name)
        if (
            local is not None
            and local.version == version
            and record in (None, environment.record_digest(local.contents))
        ):
            _copy(local, packages)
            lock.notes.append(f"{name} {version} has no wheel here and was copied: the same one is installed")
        elif "+" in version:
            wanted[name] = version.partition("+")[0]
            lock.notes.append(f"{name}: {version} there, {wanted[name]} here: the local version is on no index")
        else:
            raise CannotBeTried(f"{name} {version} has no wheel for this machine; expected it on the package index")


def _copy(dist: environment.Distribution, packages: Path) -> None:
    """A distribution of here, file by file as its RECORD has them."""
    for line in dist.contents.decode("utf-8", "replace").splitlines():
        name = line.rsplit(",", 2)[0].strip('"')
        source = dist.folder.parent / name
        if not name.startswith(("..", "/")) and source.is_file():
            (packages / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, packages / name)


def _check(lock: Lock, packages: Path) -> None:
    """Says what was installed that is not what was recorded."""
    for folder in sorted(packages.glob("*.dist-info")):
        match = environment.FOLDER.fullmatch(folder.name)
        name = environment.normal(match["name"]) if match else ""
        if match is None or name not in lock.packages:
            continue
        version, record = lock.packages[name]
        digest = environment.record_digest((folder / "RECORD").read_bytes())
        if record is not None and digest != record and match["version"] == version:
            lock.notes.append(
                f"{name} {version}: another wheel than was recorded (RECORD {record[:12]} there, "
                f"{(digest or 'none')[:12]} here)"
            )


# ---------------------------------------------------------------- inside it


def _inside(python: Path, target: str, options: Any) -> dict[str, Any]:
    """What `harness reproduce` says there, as JSON."""
    if importlib.util.find_spec("pip") is None:
        raise CannotBeTried("pip is not installed here; expected it, to install the recorded packages")
    command = [
        str(python), "-m", "harness", "reproduce", target, *options.overrides, "--from", options.level, "--json",
        "--trust", "--no-progress", "--tolerance", repr(options.tolerance),
    ]  # fmt: skip
    variables = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
    asked = subprocess.run(command, capture_output=True, text=True, env=variables)
    try:
        document: dict[str, Any] = json.loads(asked.stdout)
    except ValueError:
        reason = next(
            (line for line in asked.stderr.splitlines()[::-1] if line.strip()), f"exit code {asked.returncode}"
        )
        raise CannotBeTried(f"inside the environment: {reason}") from None
    if document.get("error"):
        raise CannotBeTried(f"inside the environment: {document['error']}")
    return document


def _called(command: list[str], otherwise: str) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=PATIENCE)
    except (OSError, subprocess.SubprocessError) as error:
        reason = (getattr(error, "stderr", None) or str(error)).strip().splitlines()[-1:]
        raise CannotBeTried(f"{otherwise}: {' '.join(reason)}") from None


def _together(parts: Sequence[Mapping[str, Any]], about: Mapping[str, Any]) -> Reproductions:
    runs = [Reproduction.of(run) for part in parts for run in part["runs"]]
    beside = [Difference(**each) for part in parts for each in part["beside"]]
    return Reproductions(runs, beside, sum(part["compared"] for part in parts), about)
