"""`harness run`: Hydra composes, each cell is checked, built and handed to the runner."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext, redirect_stderr, redirect_stdout
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import hydra
import hydra._internal.utils as hydra_utils
from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from omegaconf import DictConfig

from harness import masking
from harness.cli import output
from harness.cli.hydra import (
    calling,
    ending,
    explaining,
    hidden,
    launching,
    loading_once,
    project_words,
    reading_yaml,
    recorded,
    version_words,
    view_words,
)
from harness.cli.hydra.composing import check, contents, jobs
from harness.cli.hydra.marks import Ended, Marks
from harness.cli.hydra.multirun import Sweep
from harness.cli.hydra.optimising import directed
from harness.cli.hydra.versions import main_options, put
from harness.cli.starting import started
from harness.inputs.project import current
from harness.inputs.visible import visible
from harness.run import config as core
from harness.run.objective import values
from harness.store.records import record
from harness.types import Curve, HarnessError, RunRecord, RunResult
from harness.types.settings import Config


def run(arguments: list[str]) -> None:
    """`harness run ARGUMENTS…`"""
    calling.begin(["run", *arguments])
    arguments = explaining.report(lambda: _ready(arguments), arguments)
    put("core", Config)
    reading_yaml.install()
    loading_once.install()
    launching.install(Sweep.watched)
    hydra_utils.run_and_report = lambda func: explaining.report(func, arguments)
    flagged = [FLAGS.get(argument, argument) for argument in arguments]
    sys.argv = ["harness run", *_flags_first(flagged)]
    main = hydra.main(config_path=str(core.conf_dir()), config_name="config", **main_options())(_task)
    try:
        with _without_secrets(any(word in SHOWING for word in flagged)):
            explaining.report(main, arguments)
            sys.exit(Sweep.end())
    finally:
        Sweep.clean()


def _ready(arguments: list[str]) -> list[str]:
    """With those of the stored run that is executed again, or of the project file, after checks that Hydra does not
    make."""
    ready = recorded.taken(arguments)
    if not recorded.stored:
        ready = project_words.applied(ready)
    project_words.find_code(current(), project_words.typed_folder(ready))
    hidden.check(ready)
    return version_words.quoted(view_words.added(ready))


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


def _task(composed: DictConfig) -> Any:
    """One cell of a run or multirun; what it returns is what a sweeper gets."""
    hydra_config = HydraConfig.get()
    if not calling.program:  # a process of a launcher
        calling.begin([])
        for place in calling.config_dirs(hydra_config):
            project_words.find_code(current(), Path(place))
    started()
    if hydra_config.mode != RunMode.MULTIRUN:
        return _alone(composed)
    marks, number, since = Marks(hydra_config.sweep.dir), hydra_config.job.num, time.monotonic()
    marks.begin(number)
    finished: list[RunResult] = []
    ended = _cell(composed, number, finished)
    marks.end(replace(ended, seconds=round(time.monotonic() - since, 3)))
    if Sweep.current is not None:  # it runs in the process that was called
        Sweep.current.show()
        if ended.error is None and not composed.json and len(finished) > 1 and _trained(finished):
            from harness.report.terminal.learning_curve import print_curve

            print_curve(finished, _curves(finished, composed))
    return ended.value


def _alone(composed: DictConfig) -> None:
    """A run that is the whole command."""
    from harness.analysis.stored.parameters import labels
    from harness.report.terminal.learning_curve import print_curve
    from harness.report.terminal.summary import print_run, print_summary

    finished: list[RunResult] = []

    def show(result: RunResult, several: bool) -> None:
        finished.append(result)
        if not composed.json:
            print_run(result, scores=not several)

    try:
        check(composed)
        if recorded.stored:
            recorded.name_differences(masking.masked(*contents(composed)))
        if composed.dry_run:
            ending.print_estimates(_estimates(composed, many=False), {}, composed.json)
            return
        directed(composed)
        _run(composed, False, show)
    except HarnessError as error:
        if os.environ.get("HYDRA_FULL_ERROR") == "1":
            raise
        message = output.complain(error)
        if composed.json is True:
            ending.print_runs_as_json(_records(finished), {0: {"label": "", "error": message}})
        sys.exit(1)
    curves = _curves(finished, composed)
    if composed.json:
        ending.print_runs_as_json(_records(finished), curves=curves)
    else:
        if _trained(finished):
            print_curve(finished, curves)
        elif len(finished) > 1:
            print_summary(finished, labels)
        ending.print_what_is_next(_records(finished))
    ending.log_outcome(composed, _records(finished))


def _trained(results: Sequence[RunResult]) -> bool:
    """Whether they are of checkpoints."""
    return bool(results) and bool(results[0].manifest["system"]["series"])


def _curves(results: Sequence[RunResult], composed: DictConfig) -> list[Curve]:
    """What the steps of checkpoints say; of other systems nothing."""
    if not _trained(results):
        return []
    from harness.analysis.comparing.pairing import grouped
    from harness.analysis.comparing.training_curves import curves_of
    from harness.stats.options import Options
    from harness.stats.selection.by_step import CurveOptions

    stats = composed.stats
    return curves_of(grouped(list(results)), CurveOptions(Options(stats.resamples, stats.level, seed=stats.seed)))


def _cell(composed: DictConfig, number: int, finished: list[RunResult]) -> Ended:
    """A cell of a multirun: whatever goes wrong in it, the others go on, maybe on other machines."""
    try:
        if recorded.stored:
            check(composed)
            recorded.name_differences(masking.masked(*contents(composed)))
        if composed.dry_run:
            return Ended(number, estimates=tuple(_estimates(composed, many=True)))
        _run(composed, True, lambda result, several: finished.append(result))
        value = values(composed.objective, finished)
    except (Exception, SystemExit) as error:  # a function of the user's own may call exit()
        if os.environ.get("HYDRA_FULL_ERROR") == "1":
            raise
        if not isinstance(error, HarnessError):  # nobody expected it: where it came from is worth more than a line
            sys.excepthook(type(error), error, error.__traceback__)
        return Ended(number, error=_reason(error), folders=_folders(finished))
    return Ended(number, folders=_folders(finished), value=value)


def _run(composed: DictConfig, many: bool, ended: Callable[[RunResult, bool], None]) -> None:
    from harness.report.terminal.progress import bars
    from harness.run.runner import run as run_job

    with output.reserved(composed.json), closing(jobs(composed, many)) as cells:
        for job in cells:
            ended(run_job(job, bars(composed.progress)), job.many)


def _estimates(composed: DictConfig, many: bool) -> list[dict[str, Any]]:
    """What a dry run expects."""
    from harness.report.terminal.progress import bars
    from harness.run.dry_run import estimate

    with output.reserved(composed.json):
        return [asdict(estimate(job, bars(composed.progress))) for job in jobs(composed, many)]


def _folders(results: Sequence[RunResult]) -> tuple[str, ...]:
    return tuple(str(result.path) for result in results if result.path)


def _records(results: Sequence[RunResult]) -> list[RunRecord]:
    return [record(result.path) for result in results if result.path]


def _reason(error: BaseException) -> str:
    """In a line or two, without secrets."""
    text = str(error) if isinstance(error, HarnessError) else f"{type(error).__name__}: {error}"
    return visible(masking.excerpt(text))
