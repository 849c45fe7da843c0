"""environment.json: the distributions that took part in a run, so that the same ones can be installed again.

A distribution took part if one of its modules was imported. Of each its exact version is kept, and the hash of what its
RECORD says of the files of its wheel: lines that an installer adds (scripts, byte code, its own name) are left out, so
the same wheel has the same hash wherever it is installed. Nothing is imported for it and no metadata is parsed; it
takes some 0.03 s of a process with all of MLflow in it.
"""

from __future__ import annotations

import os
import platform
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import Any

from harness.inputs.files import bytes_digest
from harness.run.job import Job
from harness.store.finished import read_environment
from harness.store.shape import SCHEMA

FOLDER = re.compile(r"(?P<name>.+?)-(?P<version>[^-]+)\.dist-info")
WHEEL_LINE = re.compile(rb"^(?!\.\./|/)[^\n]*,sha256=[^\n]*", re.MULTILINE)
INSTALLED_LINE = re.compile(
    rb"\.dist-info/(?:INSTALLER|REQUESTED|RECORD|direct_url\.json|uv_cache\.json|uv_build\.json),"
)
OWN = "harness-eval"
"""The name of this distribution."""
FORMER = "harness"
"""What it was called before 0.2.0; an environment that was kept may still list it."""


@dataclass(frozen=True)
class Distribution:
    """An installed distribution, by the folder that describes it."""

    name: str
    version: str
    folder: Path

    @property
    def tops(self) -> set[str] | None:
        """The names of its modules, where it tells them in a file of few lines."""
        try:
            lines = (self.folder / "top_level.txt").read_text(errors="replace").split()
        except OSError:
            return None
        return {normal(line.partition("/")[0]) for line in lines} or None

    @cached_property
    def contents(self) -> bytes:
        """Of its RECORD; nothing where there is none, as for a package that Debian installed."""
        try:
            return (self.folder / "RECORD").read_bytes()
        except OSError:
            return b""

    @cached_property
    def record(self) -> str | None:
        """The hash of what its RECORD says."""
        return record_digest(self.contents)


def of(job: Job) -> dict[str, Any]:
    """The content of environment.json of a run: with what took part in outputs that are not generated again."""
    earlier = [read_environment(folder) for folder in (*job.origins, job.folder)]
    return document(package for known in earlier if known for package in known["packages"])


def document(earlier: Iterable[Mapping[str, Any]] = ()) -> dict[str, Any]:
    """The content of environment.json. `earlier`: distributions that took part in what is reused of other runs, or of
    an earlier one: they stay where they are still the same here."""
    installed = {dist.name: dist for dist in distributions()}
    took_part = {dist.name: dist for dist in _imported(frozenset(sys.modules), tuple(installed.values()))}
    took_part |= {name: installed[name] for name in _still_here(earlier, installed) - took_part.keys()}
    return {
        "schema": SCHEMA,
        "python": platform.python_version(),
        "implementation": platform.python_implementation(),
        "platform": platform.platform(),
        "machine": platform.machine(),
        "packages": [
            {"name": name, "version": dist.version, "record": dist.record} for name, dist in sorted(took_part.items())
        ],
    }


def _still_here(earlier: Iterable[Mapping[str, Any]], installed: Mapping[str, Distribution]) -> set[str]:
    same = (package for package in earlier if package["name"] in installed)
    return {package["name"] for package in same if installed[package["name"]].version == package["version"]}


def record_digest(contents: bytes) -> str | None:
    """The hash of what a RECORD says of a wheel's own files, in any order; None where it says nothing."""
    lines = [line.rstrip(b"\r") for line in WHEEL_LINE.findall(contents) if not INSTALLED_LINE.search(line)]
    return bytes_digest(b"\n".join(sorted(lines))) if lines else None


@cache
def versions() -> dict[str, str]:
    """Of all distributions that are installed here."""
    return {dist.name: dist.version for dist in distributions()}


def distributions() -> list[Distribution]:
    """All that are installed here, by name; of several of one name the one that Python imports."""
    return list(_installed(tuple((place, _changed(place)) for place in dict.fromkeys(sys.path))))


def _changed(place: str) -> int | None:
    """When a folder of packages was last changed: installing one does so."""
    try:
        return os.stat(place or ".").st_mtime_ns
    except OSError:
        return None


@lru_cache(maxsize=1)
def _installed(places: tuple[tuple[str, int | None], ...]) -> tuple[Distribution, ...]:
    known: dict[str, Distribution] = {}
    for place, _ in places:
        try:
            names = [entry for entry in os.listdir(place or ".") if entry.endswith(".dist-info")]
        except OSError:
            continue
        for entry in names:
            if match := FOLDER.fullmatch(entry):
                name = normal(match["name"])
                known.setdefault(name, Distribution(name, match["version"], Path(place, entry)))
    return tuple(sorted((d for d in known.values() if d.name not in (OWN, FORMER)), key=lambda dist: dist.name))


def normal(name: str) -> str:
    """A distribution's name as indices write it.

    >>> normal("PyYAML"), normal("typing_extensions")
    ('pyyaml', 'typing-extensions')
    """
    return re.sub(r"[-_.]+", "-", name).lower()


@lru_cache(maxsize=1)
def _imported(modules: frozenset[str], installed: tuple[Distribution, ...]) -> tuple[Distribution, ...]:
    """Those of which a module is loaded: the same for runs between which nothing was imported."""
    return tuple(imported())


def imported() -> Iterator[Distribution]:
    """Those of which a module is loaded."""
    by_place: dict[str, list[Distribution]] = {}
    for dist in distributions():
        by_place.setdefault(str(dist.folder.parent), []).append(dist)
    for place, files in _loaded_files().items():
        left: dict[str, set[str]] = {}
        for path in files:
            left.setdefault(normal(path.partition("/")[0].partition(".")[0]), set()).add(path)
        dists = by_place.get(place, [])
        for dist in sorted(dists, key=lambda each: each.name not in left):  # most are called like their module
            if not left:
                break
            tops = {dist.name} if dist.name in left else dist.tops
            likely = left.keys() if tops is None else left.keys() & tops
            taken = [_take(left, top, dist) for top in list(likely)]
            if any(taken):
                yield dist


def _take(left: dict[str, set[str]], top: str, dist: Distribution) -> bool:
    """Takes away those of the files below a name that the distribution's RECORD has; whether there are any."""
    contents = b"\n" + dist.contents
    owned = {path for path in left[top] if b"\n" + path.encode() + b"," in contents}
    left[top] -= owned
    if not left[top]:
        del left[top]
    return bool(owned)


def _loaded_files() -> dict[str, set[str]]:
    """For each folder of installed packages the files of the loaded modules at its top: that of the package or, of one
    that several distributions share, those of its parts."""
    places = {place for place in sys.path if place.endswith(("site-packages", "dist-packages"))}
    loaded: dict[str, set[str]] = {place: set() for place in places}
    whole: set[str] = set()
    for name in sorted(sys.modules, key=lambda each: each.count(".")):
        if any(parent in whole for parent in _parents(name)):
            continue
        path = getattr(sys.modules[name], "__file__", None)
        if not isinstance(path, str):
            continue
        place = next((place for place in places if path.startswith(place + os.sep)), None)
        if place is not None:
            loaded[place].add(path[len(place) + 1 :].replace(os.sep, "/"))
            whole.add(name)
    return loaded


def _parents(name: str) -> Iterable[str]:
    parts = name.split(".")
    return (".".join(parts[:i]) for i in range(1, len(parts)))
