"""What ends a command: one JSON document where that was asked for, else what to type next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from omegaconf import DictConfig, OmegaConf

from harness.analysis.stored.catalog import json_of, newest_comparable, side_by_side
from harness.analysis.stored.cell_names import cell_of
from harness.cli.output import print_json
from harness.types import Curve, RunRecord, dropped

Failures = Mapping[int, Mapping[str, str]]
"""By the number of the cell what went wrong, `error`, and what the cell is called, `label`."""


def print_runs_as_json(
    runs: Sequence[RunRecord], failures: Failures | None = None, curves: Sequence[Curve] = ()
) -> None:
    """`curves`: of checkpoints, what their steps say."""
    drawn = {"curves": [asdict(curve) for curve in curves]} if curves else {}
    print_json(runs=[json_of(run) for run in runs], failures=_listed(failures or {}), **drawn)


def print_estimates(estimates: Sequence[Mapping[str, Any]], failures: Failures, as_json: bool) -> None:
    """What a dry run expects of each cell."""
    from harness.report.terminal.costs import print_dry_run

    if as_json:
        print_json(runs=estimates, failures=_listed(failures))
    elif estimates:
        print_dry_run(estimates)


def _listed(failures: Failures) -> list[dict[str, Any]]:
    return [{"cell": cell, **failure} for cell, failure in sorted(failures.items())]


def print_what_is_next(runs: Sequence[RunRecord]) -> None:
    """The commands that look at these runs; one alone is compared with the newest other one that it can be."""
    from harness.inputs.project import runs_folder
    from harness.report.terminal.hints import print_next

    if any(run.manifest.get("raced") for run in runs):
        _print_race(runs)
    left_out = [run.path for run in runs if dropped(run)]
    runs = [run for run in runs if not dropped(run)]
    together = side_by_side(runs)
    keys = [run.dataset_key for run in together]
    comparable = [run.path for run in together if keys.count(run.dataset_key) > 1]
    if len(runs) == 1 and runs_folder() in runs[0].path.parents:
        other = newest_comparable(runs[0].path)
        comparable = [other, runs[0].path] if other else []
    pages = any(run.mlflow and not run.mlflow.get("uri", "").startswith("http") for run in runs)
    sweep = _sweep(runs) if len(together) == len(runs) else None  # cells of different metrics are no sweep of one score
    print_next([run.path for run in together], comparable, pages, sweep, left_out)


def _sweep(runs: Sequence[RunRecord]) -> str | None:
    """What `harness sweep` calls the sweep that these runs are cells of; None where they are none."""
    from harness.inputs.project import runs_folder

    groups = {run.manifest["group"] for run in runs if cell_of(run) is not None}
    if len(runs) < 2 or len(groups) != 1:
        return None
    folder = runs[0].path.parent
    return str(groups.pop() if runs_folder() in folder.parents else folder)


def _print_race(runs: Sequence[RunRecord]) -> None:
    """What a race came to."""
    from harness.analysis.sweeps.sweep_study import Asked, sweep
    from harness.report.terminal.sweep_table import print_sweep

    config = runs[0].config
    asked = Asked(level=config["stats"]["level"], seed=config["stats"]["seed"])
    print_sweep(sweep([str(runs[0].path)], asked))


def log_outcome(config: DictConfig, runs: Sequence[RunRecord]) -> None:
    """What came out, on the page of the runs' parent in MLflow, where they were logged."""
    from harness.cli.hydra.composing import tracker
    from harness.cli.parent_pages import log_parents

    if any(run.mlflow for run in runs):
        log_parents(runs, lambda run: tracker({"tracking": OmegaConf.to_container(config.tracking, resolve=True)}))
