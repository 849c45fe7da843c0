"""`harness sync`: logs to MLflow what runs could not log, or were not to."""

from __future__ import annotations

import sys
from typing import Any

from harness.cli.arguments import as_json
from harness.cli.output import print_json, show_warnings, tell
from harness.inputs.visible import in_line


def add(commands: Any) -> None:
    sync = commands.add_parser(
        "sync",
        help="log to MLflow what is missing there: runs made offline, without a server or with tracking=none",
        description="Logs finished run folders to MLflow, or the parts that are missing there; what is there is left "
        "as it is. Safe to run twice, and from several machines at once.",
    )
    sync.add_argument(
        "runs",
        nargs="*",
        metavar="RUN",
        help="a run folder, its parent, the name of a run below runs/, or an MLflow run id (default: all below runs/)",
    )
    sync.add_argument("--uri", help="the store (default: MLFLOW_TRACKING_URI, else SQLite in runs/)")
    sync.add_argument(
        "--trust",
        action="store_true",
        help="log to the store that a run folder names, without your credentials; where, is shown (default: only where "
        "it is the store above)",
    )
    sync.add_argument("--experiment", metavar="NAME", help="the experiment (default: the run's own)")
    as_json(sync)
    sync.set_defaults(call=call)


def call(options: Any) -> None:
    from dataclasses import asdict
    from pathlib import Path

    from harness.analysis.stored.loading import find_run
    from harness.inputs.project import runs_folder
    from harness.run.logging import Store, sync
    from harness.store.finished import read_manifest
    from harness.store.places import ended_runs
    from harness.types import HarnessError

    show_warnings()
    folders: list[Path] = []
    for name in options.runs or [str(runs_folder())]:
        below = [] if read_manifest(Path(name)) is not None else sorted(ended_runs(Path(name)), key=_started)
        folders += [folder for folder, _ in below] or ([find_run(name)] if options.runs else [])
    if not folders:
        raise HarnessError(f"there is no finished run below {runs_folder().absolute()}; expected some there, or RUN…")
    synced = []
    store = Store(options.uri, options.experiment, options.trust)
    for run in sync(list(dict.fromkeys(folders)), store):
        synced.append(run)
        if not options.json:
            tell(in_line(f"{run.status:<13}  {run.folder}  {run.error or run.where}"))
    _parents([run.folder for run in synced if run.status != "failed"], store)
    counts = {status: sum(run.status == status for run in synced) for status in STATUSES}
    if options.json:
        print_json(runs=[{**asdict(run), "folder": str(run.folder)} for run in synced])
    elif len(synced) > 1:
        tell(", ".join(f"{n} {status}" for status, n in counts.items() if n))
    if counts["failed"]:
        sys.exit(1)


def _parents(folders: list[Any], store: Any) -> None:
    """The pages of the parents of these runs, of all their runs: those below runs/ too."""
    from harness.cli.parent_pages import log_parents
    from harness.inputs.project import runs_folder
    from harness.run.logging import tracker_of
    from harness.store.records import record, records

    own = [record(folder) for folder in folders]
    nested = {(run.experiment, run.manifest.get("group")) for run in own if run.manifest.get("group")}
    stored = records(runs_folder()) if nested and runs_folder().is_dir() else []
    kin = [run for run in stored if (run.experiment, run.manifest.get("group")) in nested]
    unique = {run.path.resolve(): run for run in (*own, *kin)}
    log_parents(unique.values(), lambda run: tracker_of(run, store))


STATUSES = ("logged", "completed", "already there", "failed")


def _started(run: tuple[Any, dict[str, Any] | None]) -> tuple[str, str]:
    """In the order in which they started, after those of which that is not known."""
    folder, manifest = run
    return manifest["started"] if manifest else "", str(folder)
