"""The cells of a sweep, from the run folders: which are done, dropped by a race, at work, failed or missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from harness.analysis.stored.cell_names import cell_of, in_order, memberships, without_outputs
from harness.analysis.stored.loading import find_run
from harness.analysis.stored.parameters import parameters
from harness.inputs.project import runs_folder
from harness.store.records import record, records
from harness.store.sweep_cells import label, unfinished
from harness.types import HarnessError, RunRecord, nearest

MOST = 10_000
"""Cells of a grid beyond which missing ones are not looked for."""


@dataclass(frozen=True)
class Cell:
    """One cell of a sweep."""

    label: str
    parameters: Mapping[str, Any]
    number: int
    state: str
    """`done`, `dropped`, `running`, `failed`, `interrupted` or `missing`."""
    reason: str | None = None
    """Why it failed, or how far it came."""
    run: RunRecord | None = None

    @property
    def usable(self) -> bool:
        """Whether it has a result."""
        return self.run is not None and self.state in ("done", "dropped")


@dataclass(frozen=True)
class Ledger:
    """The cells of one sweep, in its order."""

    group: str | None
    cells: tuple[Cell, ...]
    command: str | None = None
    """What was typed for the last of its cells that ended; None where none did, or the cells were named one by one."""
    folder: str | None = None
    """Where it was typed."""

    def of(self, *states: str) -> list[Cell]:
        return [own for own in self.cells if own.state in states]

    @property
    def again(self) -> str | None:
        """The command that goes on with cells that are not done; None where there are none, another process is at work
        on the sweep, or nobody knows it."""
        if self.command is None or self.of("running") or not self.of("failed", "interrupted", "missing"):
            return None
        return f"{self.command} retry_failed=true" if self._to_retry else self.command

    @property
    def _to_retry(self) -> bool:
        return bool(self.of("failed")) and "retry_failed=" not in str(self.command)

    @property
    def raced(self) -> bool:
        """Whether its cells were raced."""
        return any(own.run is not None and own.run.manifest.get("raced") for own in self.cells)


def ledger(words: Sequence[str | Path]) -> Ledger:
    """The sweep that is meant: by its group, by the name of its runs, by the folder that it is in or by one of its
    runs; by all of its runs; without a word the newest."""
    if len(words) > 1:
        return _of_runs([record(find_run(word)) for word in words])
    word = str(words[0]) if words else None
    if word is not None and Path(word).is_dir() and not (Path(word) / "manifest.json").exists():
        return _newest(Path(word), None)
    if word is None or not (Path(word) / "manifest.json").exists():
        return _newest(runs_folder(), word)
    run = record(Path(word))
    if not memberships(run):
        raise HarnessError(f"{word} is a run of its own; expected a cell of a sweep, or several runs")
    return _newest(run.path.parent, str(memberships(run)[0].manifest["group"]))


def _newest(below: Path, word: str | None) -> Ledger:
    """The sweep of this group, or the newest that has a run of this name."""
    finished = records(below) if below.is_dir() else []
    latest = [run for run in finished if cell_of(run) is not None]
    stored = [own for run in finished for own in memberships(run)]
    open_cells = [own for own in unfinished(below) if own.group is not None] if below.is_dir() else []
    groups = {str(run.manifest["group"]) for run in stored} | {str(own.group) for own in open_cells}
    if word is not None and word not in groups:
        named = [run for run in stored if word in (run.name, run.experiment, *run.manifest["mlflow_run_ids"])]
        if not named:
            names = sorted({run.name for run in stored} | groups)
            raise HarnessError(
                f"there is no sweep {word!r} below {below}{nearest(word, names)}; expected the group of a multirun, "
                "the name of its runs, the folder that they are in, or the runs themselves"
            )
        word = str(max(named, key=lambda run: run.ended).manifest["group"])
    if word is None and not groups:
        raise HarnessError(f"there is no sweep below {below}; expected runs of harness run --multirun")
    if word is None and stored:
        word = str(max(latest or stored, key=lambda run: run.ended).manifest["group"])
    group = word or str(open_cells[-1].group)
    cells = _of_group(group, [run for run in stored if run.manifest["group"] == group], open_cells)
    own = [run for run in latest if run.manifest["group"] == group]
    command = (max(own, key=lambda run: run.ended).manifest.get("command") or {}) if own else {}
    return Ledger(group, cells, command.get("typed"), command.get("folder"))


def _of_group(group: str, runs: Sequence[RunRecord], open_cells: Sequence[Any]) -> tuple[Cell, ...]:
    one_each = {run.path: run for run in reversed(runs)}  # of two cells that are one run what it is now
    ended = {run.path: run for run in in_order(list(one_each.values()))}
    cells = [_done(run, list(ended.values())) for run in ended.values()]
    for own in open_cells:
        if own.group != group:
            continue
        state = "running" if own.running else "failed" if own.error else "interrupted"
        known = ended.get(own.folder)
        place = (own.cell["label"], own.cell["parameters"], own.cell["number"])
        cells = [other for other in cells if known is None or other.run is not known]
        cells.append(Cell(*place, state, own.error, known))
    cells += _missing(
        cells, [run.manifest["cell"] for run in runs] + [own.cell for own in open_cells if own.group == group]
    )
    return tuple(sorted(cells, key=lambda own: own.number))


def _done(run: RunRecord, others: Sequence[RunRecord]) -> Cell:
    own, raced = run.manifest["cell"], run.manifest.get("raced")
    state, reason = _state(run)
    if raced and raced["units"] < raced["of_units"]:
        reason = f"after {raced['examples']:,} of {raced['of']:,} examples"
        last = max((other for other in others if other.manifest.get("raced")), key=lambda other: other.ended)
        state = "interrupted" if own["number"] in last.manifest["raced"]["left"] else "dropped"
    return Cell(str(own["label"]), own["parameters"], own["number"], state, reason, run)


def _state(run: RunRecord) -> tuple[str, str | None]:
    """(the state of a cell that has ended, what is to be said of it)."""
    return ("failed", "all of its outputs failed") if without_outputs(run) else ("done", None)


def _missing(cells: Sequence[Cell], documents: Sequence[Mapping[str, Any]]) -> list[Cell]:
    """The cells of the grid that nothing is there of."""
    space = next((own["space"] for own in documents if own.get("space")), None)
    if not space or any(values is None for values in space.values()):
        return []
    size = 1
    for values in space.values():
        size *= len(values)
    known = {own.number for own in cells}
    known |= {own["number"] for own in documents if own.get("space") == space}  # those that are another one's run too
    if size > MOST:
        return []
    made = []
    for number, values in enumerate(product(*space.values())):
        if number not in known:
            own = dict(zip(space, values, strict=True))
            made.append(Cell(label(own, space), own, number, "missing"))
    return made


def _of_runs(runs: Sequence[RunRecord]) -> Ledger:
    """Runs that were named one by one: cells of one sweep, or runs that differ in their configs."""
    groups = {run.manifest.get("group") for run in runs}
    if len(groups) == 1 and all(cell_of(run) is not None for run in runs):
        runs = in_order(runs)
        return Ledger(str(groups.pop()), tuple(_done(run, runs) for run in runs))
    varied = parameters(runs)
    if not varied:
        raise HarnessError(
            "the systems of the runs differ in no option but names and paths; expected the cells of a sweep, or runs "
            "whose systems have different options"
        )
    cells = []
    for i, run in enumerate(runs):
        own = {setting.name: setting.values[i] for setting in varied}
        known = {setting.name: setting.values for setting in varied}
        cells.append(Cell(label(own, known), own, i, *_state(run), run))
    return Ledger(None, tuple(cells))
