"""`harness run`: Hydra composes, each cell is checked, built and handed to the runner."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import hydra
import hydra._internal.utils as hydra_utils
from hydra.core.config_store import ConfigStore
from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from omegaconf import DictConfig

from harness import config as core
from harness.app import calling, ending, errors
from harness.app.jobs import jobs
from harness.app.sweep import Sweep
from harness.store.listing import record
from harness.types import HarnessError, RunResult


def run(arguments: list[str]) -> None:
    """`harness run ARGUMENTS…`"""
    calling.begin(["run", *arguments])
    ConfigStore.instance().store(name="core", node=core.Config)
    hydra_utils.run_and_report = lambda func: errors.report(func, arguments)
    flagged = [FLAGS.get(argument, argument) for argument in arguments]
    sys.argv = ["harness run", *_flags_first(flagged)]
    main = hydra.main(config_path=str(core.conf_dir()), config_name="config", version_base="1.3")(_task)
    try:
        with calling.interruptible():
            errors.report(main, arguments)
            sys.exit(Sweep.end())
    finally:
        Sweep.clean()


FLAGS = {"--dry-run": "dry_run=true", "--json": "json=true"}
"""Ours, not Hydra's: a cell on another machine must know of them too, so they are in the config."""
VALUED = (
    "--config-path", "-cp", "--config-name", "-cn", "--config-dir", "-cd", "--cfg", "-c", "--package", "-p",
    "--info", "-i", "--experimental-rerun",
)  # fmt: skip


def _flags_first(arguments: list[str]) -> list[str]:
    """Hydra's parser refuses overrides on both sides of a flag; people type them so."""
    flags: list[str] = []
    overrides: list[str] = []
    for i, argument in enumerate(arguments):
        belongs = argument.startswith("-") or (i > 0 and arguments[i - 1] in VALUED and "=" not in argument)
        (flags if belongs else overrides).append(argument)
    return flags + overrides


def _task(composed: DictConfig) -> str | None:
    """One cell of a run or multirun; returns its run folder."""
    from harness import runner
    from harness.report.curve import print_curve
    from harness.report.progress import bars
    from harness.report.terminal import print_run

    hydra_config = HydraConfig.get()
    many = hydra_config.mode == RunMode.MULTIRUN
    if composed.dry_run:
        _dry_run(composed, many)
        return None
    results: list[RunResult] = []
    try:
        with ending.reserved(composed.json):
            for one in jobs(composed, many):
                results.append(runner.run(one, bars(composed.progress)))
                if not composed.json:
                    print_run(results[-1], scores=not (many or one.many))
    except HarnessError as error:
        _cell_failed(error, hydra_config, results if composed.json else None)
        return None
    if results[0].manifest["system"]["series"] and not composed.json:
        print_curve(results)
    folders = [result.path for result in results if result.path]
    if not many:  # else they are shown together at the end
        finished = [record(folder) for folder in folders]
        (ending.print_runs_as_json if composed.json else ending.print_what_is_next)(finished)
    return str(folders[-1])


def _cell_failed(error: HarnessError, hydra_config: Any, finished: list[RunResult] | None = None) -> None:
    """Says why; alone the cell ends the command, of several the others go on, maybe on other machines.

    `finished`: what it finished before that, where the answer is to be JSON.
    """
    if os.environ.get("HYDRA_FULL_ERROR") == "1":
        raise error
    print(f"harness: {error}", file=sys.stderr)
    if hydra_config.mode != RunMode.MULTIRUN:
        if finished is not None:
            done = [record(result.path) for result in finished if result.path]
            ending.print_runs_as_json(done, {0: str(error)})
        sys.exit(1)
    # raising would make Hydra print the overrides, secrets and all
    sweep = Path(hydra_config.sweep.dir)
    sweep.mkdir(parents=True, exist_ok=True)
    (sweep / f"{hydra_config.job.num}.failed").write_text(str(error))


def _dry_run(composed: DictConfig, many: bool) -> None:
    """Says what a cell would do; those of a multirun are shown together at its end."""
    from dataclasses import asdict

    from harness.dryrun import estimate
    from harness.report.progress import bars

    try:
        with ending.reserved(composed.json):
            found = [asdict(estimate(one, bars(composed.progress))) for one in jobs(composed, many)]
    except HarnessError as error:
        _cell_failed(error, HydraConfig.get(), [] if composed.json else None)
        return
    if many:
        sweep = Path(HydraConfig.get().sweep.dir)
        sweep.mkdir(parents=True, exist_ok=True)
        (sweep / f"{HydraConfig.get().job.num}.dry").write_text(json.dumps(found))
    else:
        ending.print_estimates(found, {}, composed.json)
