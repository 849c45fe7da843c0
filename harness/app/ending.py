"""What ends a command: one JSON document where that was asked for, else what to type next."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, redirect_stdout
from typing import Any

from harness.commands import print_json
from harness.listing import earlier_on_the_same_data, told
from harness.types import RunRecord

Failures = Mapping[int, str]
"""What went wrong, by the number of the cell."""


@contextmanager
def reserved(wanted: bool) -> Iterator[None]:
    """Keeps standard output for the JSON document: what a function of the user's own prints goes to standard error."""
    with redirect_stdout(sys.stderr) if wanted else nullcontext():
        yield


def print_runs_as_json(runs: Sequence[RunRecord], failures: Failures | None = None) -> None:
    print_json(runs=[told(run) for run in runs], failures=_listed(failures or {}))


def print_estimates(found: Sequence[Mapping[str, Any]], failures: Failures, as_json: bool) -> None:
    """What a dry run found."""
    from harness.report.costs import print_dry_run

    if as_json:
        print_json(runs=found, failures=_listed(failures))
    elif found:
        print_dry_run(found)


def _listed(failures: Failures) -> list[dict[str, Any]]:
    return [{"cell": cell, "error": error} for cell, error in sorted(failures.items())]


def print_what_is_next(runs: Sequence[RunRecord]) -> None:
    """The commands that look at these runs; one alone is compared with the newest other one on its data."""
    from harness.report.hints import print_next
    from harness.runner import RUNS

    folders = [run.path for run in runs]
    keys = [run.dataset_key for run in runs]
    comparable = [run.path for run in runs if keys.count(run.dataset_key) > 1]
    if len(runs) == 1 and RUNS in folders[0].parents:
        other = earlier_on_the_same_data(folders[0])
        comparable = [other, *folders] if other else []
    pages = any(run.mlflow and not run.mlflow["uri"].startswith("http") for run in runs)
    print_next(folders, comparable, pages)
