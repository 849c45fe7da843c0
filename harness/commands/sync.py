"""`harness sync`: logs to MLflow what runs could not log, or were not to."""

from __future__ import annotations

import sys
from typing import Any

from harness.commands import as_json, print_json, warn


def add(commands: Any) -> None:
    sync = commands.add_parser(
        "sync",
        help="log to MLflow what is missing there: runs without network, without a server, with tracking=none",
        description="Logs finished run folders to MLflow: whole, or what is missing of them; what is there stays as it "
        "is. Safe to run twice, and from several machines at once.",
    )
    sync.add_argument(
        "runs",
        nargs="*",
        metavar="RUN",
        help="a run folder, its parent, the name of a run below runs/, or an MLflow run id (default: all below runs/)",
    )
    sync.add_argument("--uri", help="the store (default: the run's own tracking.uri, MLFLOW_TRACKING_URI, SQLite)")
    sync.add_argument("--experiment", metavar="NAME", help="the experiment (default: the run's own)")
    as_json(sync)
    sync.set_defaults(call=call)


def call(options: Any) -> None:
    from dataclasses import asdict
    from pathlib import Path

    from harness.api import find_run
    from harness.runner import RUNS
    from harness.store.folder import ended_runs, read_manifest
    from harness.sync import sync
    from harness.types import HarnessError

    warn()
    folders: list[Path] = []
    for given in options.runs or [str(RUNS)]:
        below = [] if read_manifest(Path(given)) is not None else sorted(ended_runs(Path(given)), key=_started)
        folders += [folder for folder, _ in below] or ([find_run(given)] if options.runs else [])
    if not folders:
        raise HarnessError(f"there is no finished run below {RUNS.absolute()}; expected some, or RUN…")
    found = []
    for one in sync(list(dict.fromkeys(folders)), options.uri, options.experiment):
        found.append(one)
        if not options.json:
            print(f"{one.status:<13}  {one.folder}  {one.error or one.where}", flush=True)
    counts = {status: sum(one.status == status for one in found) for status in STATUSES}
    if options.json:
        print_json(**{"runs": [{**asdict(one), "folder": str(one.folder)} for one in found]})
    elif len(found) > 1:
        print(", ".join(f"{n} {status}" for status, n in counts.items() if n))
    if counts["failed"]:
        sys.exit(1)


STATUSES = ("logged", "completed", "already there", "failed")


def _started(run: tuple[Any, dict[str, Any] | None]) -> tuple[str, str]:
    """In the order in which they started, after those of which that is not known."""
    folder, manifest = run
    return manifest["started"] if manifest else "", str(folder)
