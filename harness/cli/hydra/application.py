"""`harness run`: Hydra composes, each cell is checked, built and handed to the runner."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager, nullcontext, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import hydra
import hydra._internal.utils as hydra_utils
from hydra.core.config_store import ConfigStore
from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from omegaconf import DictConfig

from harness import masking
from harness.cli import output
from harness.cli.hydra import calling, ending, explaining, hidden, loading_once, recorded
from harness.cli.hydra.composing import check, contents, jobs
from harness.cli.hydra.multirun import Sweep, log_outcome
from harness.cli.starting import started
from harness.run import config as core
from harness.store.records import record
from harness.types import Curve, HarnessError, RunResult
from harness.types.settings import Config


def run(arguments: list[str]) -> None:
    """`harness run ARGUMENTS…`"""
    calling.begin(["run", *arguments])
    arguments = explaining.report(lambda: _ready(arguments), arguments)
    ConfigStore.instance().store(name="core", node=Config)
    loading_once.install()
    hydra_utils.run_and_report = lambda func: explaining.report(func, arguments)
    flagged = [FLAGS.get(argument, argument) for argument in arguments]
    sys.argv = ["harness run", *_flags_first(flagged)]
    main = hydra.main(config_path=str(core.conf_dir()), config_name="config", version_base="1.3")(_task)
    try:
        with _without_secrets(any(word in SHOWING for word in flagged)):
            explaining.report(main, arguments)
            sys.exit(Sweep.end())
    finally:
        Sweep.clean()


def _ready(arguments: list[str]) -> list[str]:
    """With those of the stored run that is executed again, after checks that Hydra does not make."""
    ready = recorded.taken(arguments)
    hidden.check(ready)
    return ready


SHOWING = ("--cfg", "-c", "--info", "-i")
"""Hydra's flags that print the config, or one value of it."""


@contextmanager
def _without_secrets(shown: bool) -> Iterator[None]:
    """Hydra tells overrides on standard error, and on standard output what it was asked to show."""
    out = redirect_stdout(masking.RedactingStream(sys.stdout)) if shown else nullcontext()
    with redirect_stderr(masking.RedactingStream(sys.stderr)), out:
        yield


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
    from harness.report.terminal.learning_curve import print_curve
    from harness.report.terminal.progress import bars
    from harness.report.terminal.summary import print_run
    from harness.run.runner import run as run_job

    started()
    hydra_config = HydraConfig.get()
    many = hydra_config.mode == RunMode.MULTIRUN
    try:
        check(composed)
        if recorded.stored:
            recorded.name_differences(masking.masked(*contents(composed)))
    except HarnessError as error:
        _cell_failed(error, hydra_config)
        return None
    if composed.dry_run:
        _dry_run(composed, many)
        return None
    results: list[RunResult] = []
    try:
        with output.reserved(composed.json), closing(jobs(composed, many)) as cells:
            for job in cells:
                results.append(run_job(job, bars(composed.progress)))
                if not composed.json:
                    print_run(results[-1], scores=not (many or job.many))
    except HarnessError as error:
        _cell_failed(error, hydra_config, results if composed.json else None)
        return None
    trained = bool(results) and bool(results[0].manifest["system"]["series"])
    curves = _curves(results, composed) if trained else []
    if trained and not composed.json:
        print_curve(results, curves)
    folders = [result.path for result in results if result.path]
    if not many:  # else they are shown together at the end
        finished = [record(folder) for folder in folders]
        if composed.json:
            ending.print_runs_as_json(finished, curves=curves)
        else:
            ending.print_what_is_next(finished)
        log_outcome(composed, finished)
    return str(folders[-1])


def _curves(results: list[RunResult], composed: DictConfig) -> list[Curve]:
    """What the steps of the checkpoints say."""
    from harness.analysis.pairing import grouped
    from harness.analysis.training_curves import curves_of
    from harness.stats.by_step import CurveOptions
    from harness.stats.options import Options

    stats = composed.stats
    return curves_of(grouped(results), CurveOptions(Options(stats.resamples, stats.level, seed=stats.seed)))


def _cell_failed(error: HarnessError, hydra_config: Any, finished: list[RunResult] | None = None) -> None:
    """Says why; alone the cell ends the command, of several the others go on, maybe on other machines.

    `finished`: what it finished before that, where the answer is to be JSON.
    """
    if os.environ.get("HYDRA_FULL_ERROR") == "1":
        raise error
    message = output.complain(error)
    if hydra_config.mode != RunMode.MULTIRUN:
        if finished is not None:
            done = [record(result.path) for result in finished if result.path]
            ending.print_runs_as_json(done, {0: message})
        sys.exit(1)
    # raising would make Hydra print the overrides, secrets and all
    sweep = Path(hydra_config.sweep.dir)
    sweep.mkdir(parents=True, exist_ok=True)
    (sweep / f"{hydra_config.job.num}.failed").write_text(message)


def _dry_run(composed: DictConfig, many: bool) -> None:
    """Says what a cell would do; those of a multirun are shown together at its end."""
    from dataclasses import asdict

    from harness.report.terminal.progress import bars
    from harness.run.dry_run import estimate

    try:
        with output.reserved(composed.json):
            estimates = [asdict(estimate(job, bars(composed.progress))) for job in jobs(composed, many)]
    except HarnessError as error:
        _cell_failed(error, HydraConfig.get(), [] if composed.json else None)
        return
    if many:
        sweep = Path(HydraConfig.get().sweep.dir)
        sweep.mkdir(parents=True, exist_ok=True)
        (sweep / f"{HydraConfig.get().job.num}.dry").write_text(json.dumps(estimates))
    else:
        ending.print_estimates(estimates, {}, composed.json)
