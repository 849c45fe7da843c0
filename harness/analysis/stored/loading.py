"""Finding stored runs and loading them: by folder, by name, by MLflow run id, as a group, or from a list of runs.

A run folder may come from anyone, and statistics.parquet names the metric that scores its rows: trust.py alone decides
what becomes of that name. Rows that nothing trusted can score are left out; their scores are shown all the same, and a
line says that they are not tested.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from harness.analysis.comparing import groups
from harness.analysis.stored.cell_names import cell_of, in_order, listed, memberships, without_outputs
from harness.analysis.stored.many import Many
from harness.analysis.stored.trust import Trust, Trusted, described
from harness.inputs import files
from harness.inputs.project import runs_folder
from harness.run.saving import StoredRun
from harness.store import finished, records
from harness.store.places import find
from harness.types import HarnessError, RunRecord, RunResult, dropped, nearest

log = logging.getLogger(__name__)
MANIFEST = "manifest.json"

Run = RunResult | RunRecord | str | Path
"""A run, or what names one."""


def load_run(run: str | Path | RunRecord, trust: Trusted = False) -> RunResult:
    """A stored run, whatever names it."""
    loaded = _load(run, Trust.of(trust))
    _say_untested([loaded])
    assert loaded.path is not None
    return replace(loaded, keep=StoredRun(loaded.path))


def _load(run: str | Path | RunRecord, trust: Trust) -> RunResult:
    folder = run.path if isinstance(run, RunRecord) else find_run(run)
    return finished.read(folder, finished.Scoring(trust.metric, described))


def _say_untested(runs: Sequence[RunResult]) -> None:
    """A line for each metric whose rows nothing trusted can score."""
    named: dict[tuple[str, str], list[str]] = {}
    for run in runs:
        for metric, what in run.untested.items():
            named.setdefault((metric, what), []).append(run.name)
    for (metric, what), names in named.items():
        of = names[0] if len(names) == 1 else f"{len(names)} runs"
        log.warning(
            "%s of %s is shown and not tested: its scores come from %s, which the run folder names and you did not "
            "(--trust, in Python trust=True, runs it)", metric, of, what,
        )  # fmt: skip


def find_run(name: str | Path) -> Path:
    """The folder of a stored run."""
    folder = Path(name)
    if _exists(folder / MANIFEST):
        return folder
    newest = find(runs_folder(), str(name)) if runs_folder().is_dir() else None
    if newest is None and not _exists(folder):
        raise HarnessError(
            f"there is no run {str(name)!r}{_similar(str(name))}; expected a run folder, the name of a finished run "
            f"below {os.path.abspath(runs_folder())}, or its MLflow run id"
        )
    return newest or folder  # reading a folder that is not a run says what is missing


def _similar(name: str) -> str:
    """The stored run with the nearest name."""
    stored = records.records(runs_folder()) if runs_folder().is_dir() else []
    return nearest(name, {run.name for run in stored})


def runs_in(run: Run) -> list[Run]:
    """What a name stands for: a folder that holds runs, for those in it that have ended; the group of a sweep, where no
    run is called so, for its cells."""
    folder = None if isinstance(run, RunResult | RunRecord) else Path(run)
    if folder is not None and not _exists(folder):
        return _cells(str(run)) or [run]
    if folder is None or not folder.is_dir() or _exists(folder / MANIFEST):
        return [run]
    inside = sorted(records.run_folders(str(folder), 1))
    ended = [Path(path) for path, names in inside if MANIFEST in names]
    if ended and len(ended) < len(inside):
        others = [path for path, names in inside if MANIFEST not in names]
        log.warning("%s: %s left out, not finished", run, files.some(others))
    return list(ended) or [run]


def _cells(group: str) -> list[Run]:
    """The finished cells of the sweep that is called so, in its order."""
    if not runs_folder().is_dir() or find(runs_folder(), group) is not None:
        return []
    stored = [own for run in records.records(runs_folder()) for own in memberships(run)]
    cells = in_order([run for run in stored if run.manifest["group"] == group])
    return list({run.path: run for run in cells}.values())


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # a name that no file can have
        return False


def _loaded(run: Run, trust: Trust, many: Many) -> list[RunResult]:
    """One run, or that of each data set where the name is of a group."""
    if isinstance(run, RunResult):
        return [run]
    if isinstance(run, str) and not _exists(Path(run)) and (group := groups.members(run)):
        name, folders = group
        return groups.merged(name, [many.add(_load(folder, trust)) for folder in folders])
    return [many.add(_load(run, trust))]


def _to_the_end(runs: list[RunResult]) -> list[RunResult]:
    """Without the cells that a race dropped: which examples they answered depends on what these showed."""
    whole = [run for run in runs if not dropped(run)]
    if len(whole) < len(runs) and not whole:
        raise HarnessError(
            f"{runs[0].name} was dropped by a race before it had answered all examples; expected runs of all examples "
            "(harness sweep shows those of a race)"
        )
    if len(whole) < len(runs):
        names = [cell["label"] if (cell := cell_of(run)) else run.name for run in runs if dropped(run)]
        log.warning(
            "left out, since a race dropped them before they had answered all examples: %s (harness sweep shows them)",
            files.some(names),
        )
    return whole


def _with_outputs(runs: list[RunResult]) -> list[RunResult]:
    """Without the cells of sweeps whose outputs all failed, where others are left to look at: one that fails ends no
    other."""
    failed = [run for run in runs if cell_of(run) is not None and without_outputs(run)]
    left = [run for run in runs if not any(run is other for other in failed)]
    if not failed or len(left) < 2:
        return runs
    names = [cell["label"] if (cell := cell_of(run)) else run.name for run in failed]
    log.warning("left out, since all of their outputs failed: %s (harness sweep says why)", files.some(names))
    return left


def loaded_runs(
    runs: Sequence[Run], baseline: Run | None = None, trust: Trusted = False
) -> tuple[list[RunResult], RunResult | None]:
    """(the runs, the baseline), whatever names them; the baseline's name, or that of its system, is looked for among
    the runs first."""
    if isinstance(runs, Run):
        raise HarnessError("one run given; expected a list of at least 2 to compare")
    trusted, many = Trust.of(trust), Many()
    named = [each for run in runs for each in runs_in(run)]
    stored = listed([ready for run in named for ready in _loaded(run, trusted, many)], named)
    loaded = _with_outputs(_to_the_end(stored))
    base = baseline if isinstance(baseline, RunResult) else None
    if baseline is not None and not isinstance(baseline, RunResult):
        base = _among(loaded, str(baseline)) or _loaded(baseline, trusted, many)[0]
    given = [*runs, baseline]
    fresh = [run for run in (*loaded, base) if run is not None and not any(run is other for other in given)]
    _say_untested(list({id(run): run for run in fresh}.values()))
    return loaded, base


def _among(runs: Sequence[RunResult], name: str) -> RunResult | None:
    """The run of this name or, where no two on the same data have it, of this system."""
    by_name = [run for run in runs if run.name == name]
    of_system = [run for run in runs if run.system == name]
    alone = len({run.dataset_key for run in of_system}) == len(of_system)
    return next(iter(by_name or (of_system if alone else ())), None)
