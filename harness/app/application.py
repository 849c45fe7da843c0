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
from harness.app import calling, errors
from harness.app.jobs import jobs
from harness.app.sweep import Sweep
from harness.types import HarnessError


def run(arguments: list[str]) -> None:
    """`harness run ARGUMENTS…`"""
    calling.begin(["run", *arguments])
    ConfigStore.instance().store(name="core", node=core.Config)
    hydra_utils.run_and_report = lambda func: errors.report(func, arguments)
    flagged = ["dry_run=true" if argument == "--dry-run" else argument for argument in arguments]
    sys.argv = ["harness run", *_flags_first(flagged)]
    main = hydra.main(config_path=str(core.conf_dir()), config_name="config", version_base="1.3")(_task)
    try:
        with calling.interruptible():
            errors.report(main, arguments)
            sys.exit(Sweep.end())
    finally:
        Sweep.clean()


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
    from harness.report.terminal import print_compare_command, print_run

    hydra_config = HydraConfig.get()
    many = hydra_config.mode == RunMode.MULTIRUN
    if composed.dry_run:
        _dry_run(composed, many)
        return None
    results = []
    try:
        for one in jobs(composed, many):
            results.append(runner.run(one, bars(composed.progress)))
            print_run(results[-1], scores=not (many or one.many))
    except HarnessError as error:
        _cell_failed(error, hydra_config)
        return None
    if results[0].manifest["system"]["series"]:
        print_curve(results)
        print_compare_command([result.path for result in results if result.path])
    return str(results[-1].path)


def _cell_failed(error: HarnessError, hydra_config: Any) -> None:
    """Says why; alone the cell ends the command, of several the others go on, maybe on other machines."""
    if os.environ.get("HYDRA_FULL_ERROR") == "1":
        raise error
    print(f"harness: {error}", file=sys.stderr)
    if hydra_config.mode != RunMode.MULTIRUN:
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
    from harness.report.terminal import print_dry_run

    try:
        found = [asdict(estimate(one, bars(composed.progress))) for one in jobs(composed, many)]
    except HarnessError as error:
        _cell_failed(error, HydraConfig.get())
        return
    if many:
        sweep = Path(HydraConfig.get().sweep.dir)
        sweep.mkdir(parents=True, exist_ok=True)
        (sweep / f"{HydraConfig.get().job.num}.dry").write_text(json.dumps(found))
    else:
        print_dry_run(found)
