"""What cells of sweeps are called beside each other, and in which order they stand: the sweep's own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from harness.types import RunRecord, RunResult

R = TypeVar("R", bound=RunResult | RunRecord)


def cell_of(run: RunResult | RunRecord) -> Mapping[str, Any] | None:
    """The cell of a sweep that a run is; None where it is none."""
    return run.manifest.get("cell") if run.manifest and run.manifest.get("group") else None


def memberships(run: RunRecord) -> list[RunRecord]:
    """The run as a cell of each sweep that it is or was one of: two cells of a sweep can be one run, and a run can be
    evaluated again by another command."""
    own = [run] if cell_of(run) is not None else []
    return own + [replace(run, manifest={**run.manifest, **other}) for other in run.manifest.get("also", ())]


def without_outputs(run: RunResult | RunRecord) -> bool:
    """Whether each of its outputs failed."""
    if not run.failed:
        return False
    raced, repeats = run.manifest.get("raced"), run.manifest["system"]["repeats"]
    examples = raced["examples"] if raced else run.manifest["dataset"]["examples"]
    return bool(run.failed >= examples * repeats)


def labels(runs: Sequence[RunResult | RunRecord]) -> list[str] | None:
    """What cells are called: by what their sweep varies, where that tells all of them apart; None where it does not, or
    where they are not cells of one sweep."""
    cells = [cell for run in runs if (cell := cell_of(run)) is not None]
    names = [str(cell["label"]) for cell in cells]
    together = len({run.manifest.get("group") for run in runs if run.manifest}) == 1
    return names if together and len(cells) == len(runs) and len(set(names)) == len(names) and all(names) else None


def by_system(runs: Sequence[RunResult | RunRecord]) -> bool:
    """Whether a sweep's systems tell all of its cells on the same data apart: it varies the system alone, or one option
    of it, such as a model's name."""
    names = {name for run in runs for name in (cell_of(run) or {"parameters": ()})["parameters"]}
    return len([name for name in names if name.partition(".")[0] != "dataset"]) < 2


def in_order(runs: Sequence[R]) -> list[R]:
    """Runs of a sweep by their cells' numbers, and by step; others as they were started."""

    def place(run: R) -> tuple[Any, ...]:
        cell = cell_of(run)
        step = run.manifest["system"].get("step") or 0
        return cell["number"] if cell else -1, step, run.manifest["started"], str(run.path)

    return sorted(runs, key=place)


def listed(runs: Sequence[R], names: Sequence[Any]) -> list[R]:
    """Runs that were named by a shell's pattern, which gives them in the alphabet's order: those of a sweep in the
    sweep's order, in the places that they have. Runs that were named in another order stay in it.

    `names`: what named them, one each.
    """
    paths = [str(name) for name in names if isinstance(name, str | Path)]
    if not len(paths) == len(names) == len(runs) or paths != sorted(paths):
        return list(runs)
    result = list(runs)
    for group in {run.manifest["group"] for run in runs if cell_of(run) is not None}:
        places = [i for i, run in enumerate(runs) if cell_of(run) is not None and run.manifest["group"] == group]
        for i, run in zip(places, in_order([runs[i] for i in places]), strict=True):
            result[i] = run
    return result
