"""The runs that a document names: found, and their stored rows scored again."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from harness.analysis.comparing.groups import merged
from harness.analysis.stored.loading import find_run, load_run
from harness.analysis.stored.trust import Trusted
from harness.inputs.choices import METHODS
from harness.stats import intervals
from harness.stats.design import Design
from harness.stats.options import Options
from harness.store.records import records
from harness.types import RunResult, Score

NEAR = 1e-9
"""How far a stored score may be from that of its rows, of its size: sums on other machines."""


class TracedRuns:
    """Finds the runs that a document names, and scores their rows again."""

    def __init__(self, places: Sequence[Path], trust: Trusted) -> None:
        self._places, self._trust = places, trust
        self._known: dict[str, RunResult] = {}

    def named(self, name: str) -> RunResult:
        """The newest run of that name."""
        folder = next((path for place in self._places if (path := self._newest(place, name))), None)
        return self._loaded(folder or find_run(name))

    def traced(self, trace: Mapping[str, Any]) -> RunResult | None:
        """The run of a table's line: by its folder and key, else by its key; None where it is gone."""
        if trace.get("members"):
            parts = [self._folder({"folder": member}) for member in trace["members"]]
            if any(part is None for part in parts):
                return None
            (group,) = merged(str(trace["run"]), [self._loaded(part) for part in parts if part])
            return group
        folder = self._folder(trace)
        return None if folder is None else self._loaded(folder)

    def _folder(self, trace: Mapping[str, Any]) -> Path | None:
        name = str(trace.get("folder", ""))
        ends = [name, name.partition("/")[2]] if "/" in name else [name]
        for place in self._places:
            for end in filter(None, ends):
                for folder in (place / end, place.parent / end, Path(end)):
                    if (folder / "manifest.json").exists():
                        return folder
        for place in self._places:
            for run in records(place) if place.is_dir() else ():
                if trace.get("key") and str(run.manifest.get("key", "")).startswith(str(trace["key"])):
                    return run.path
        return None

    @staticmethod
    def _newest(place: Path, name: str) -> Path | None:
        same = [run for run in (records(place) if place.is_dir() else ()) if name in (run.name, run.path.name)]
        return max(same, key=lambda run: run.ended).path if same else None

    def _loaded(self, folder: Path) -> RunResult:
        key = str(folder.resolve())
        if key not in self._known:
            self._known[key] = load_run(folder, self._trust)
        return self._known[key]


def scored_again(run: RunResult) -> tuple[RunResult, list[str]]:
    """(the run with the scores that its rows give, what differs from those that are stored)."""
    if run.path is None or not run.statistics:
        return run, []
    stats = run.manifest.get("config", {}).get("stats") or {}
    method = stats.get("method")
    first = next(iter(run.scores.values()))
    seed = int(run.manifest.get("seed") or 0)
    options = Options(
        first.resamples, first.level, method if method in METHODS else "auto", seed, units=stats.get("units") or "auto"
    )
    made = intervals.scores(list(run.statistics.values()), Design.of_run(run, seed), options)
    different = []
    for name, score in made.items():
        stored = run.scores.get(name)
        for what in ("estimate", "low", "high") if stored else ():
            old, new = getattr(stored, what), getattr(score, what)
            if not near(old, new):
                different.append(f"{name}: scores.json has the {what} {old}, its rows give {new}")
                break
    return replace(
        run, scores={name: _numbers_of(score, made.get(name)) for name, score in run.scores.items()}
    ), different


def _numbers_of(stored: Score, made: Score | None) -> Score:
    if made is None:
        return stored
    return replace(stored, estimate=made.estimate, low=made.low, high=made.high)


def near(old: float | None, new: float | None) -> bool:
    if old is None or new is None:
        return old is None and new is None
    return math.isclose(old, new, rel_tol=NEAR, abs_tol=NEAR)
