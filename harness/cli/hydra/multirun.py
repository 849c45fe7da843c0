"""Around a multirun: its cells share a group, and a table of the finished ones ends it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from hydra.core.global_hydra import GlobalHydra
from hydra.errors import HydraException
from hydra.experimental.callback import Callback
from omegaconf import DictConfig, OmegaConf

from harness.cli.hydra import ending, varied
from harness.cli.output import complain
from harness.inputs.files import digest
from harness.store.records import records
from harness.types import RunRecord
from harness.types.settings import deciding

INCIDENTAL = deciding("manner")
"""May differ where a multirun is called again: it is the same multirun, under the same parent."""


class Sweep(Callback):  # type: ignore[misc]  # hydra has no types
    """Around a multirun: its cells share a group, and a table of the finished ones ends it."""

    started: tuple[DictConfig, str] | None = None

    def on_multirun_start(self, config: DictConfig, **kwargs: Any) -> None:
        task = config.hydra.overrides.task
        if config.group is None:
            sweep = OmegaConf.to_container(config.hydra.sweeper).get("params") or {}  # type: ignore[union-attr]
            typed: Any = OmegaConf.to_container(task)  # not resolved: `${.key}` means nothing in this list
            named = sorted(word for word in typed if word.partition("=")[0].lstrip("+") not in INCIDENTAL)
            config.group = digest([named, sweep])[:8]
            task.append(f"group='{config.group}'")
        sweeper: Any = OmegaConf.to_container(config.hydra.sweeper)
        with suppress(HydraException):  # what cannot be parsed, the sweeper says
            given: Any = OmegaConf.to_container(task)
            if words := varied.swept(given, sweeper, GlobalHydra.instance().config_loader()):
                task.append(words)
        Sweep.started = config, datetime.now(timezone.utc).isoformat(timespec="milliseconds")

    @classmethod
    def end(cls) -> int:
        """Prints the table, or all as JSON; the exit code."""
        if cls.started is None:
            return 0
        config, since = cls.started
        folder = Path(config.hydra.sweep.dir)
        failed = {int(path.stem): path.read_text() for path in folder.glob("*.failed")}
        if config.dry_run:
            cells = sorted(folder.glob("*.dry"), key=lambda path: int(path.stem))
            estimates = [estimate for path in cells for estimate in json.loads(path.read_text())]
            ending.print_estimates(estimates, failed, config.json)
            return 1 if failed else 0
        runs = _runs_of(config, since)
        if config.json:
            ending.print_runs_as_json(runs, failed)
        elif runs:
            from harness.analysis.sweeps import labels
            from harness.report.terminal.summary import print_summary

            print_summary(runs, labels)
            ending.print_what_is_next(runs)
        log_outcome(config, runs)
        if failed:
            complain(f"{len(failed)} of {len(failed) + len(runs)} runs failed, see above")
        return 1 if failed else 0

    @classmethod
    def clean(cls) -> None:
        """Removes the sweep's folder: what its cells noted there has been shown, and each run has its own config."""
        if cls.started is not None:
            folder, cls.started = Path(cls.started[0].hydra.sweep.dir), None
            shutil.rmtree(folder, ignore_errors=True)
            with suppress(OSError):  # kept where there is something else in them
                folder.parent.rmdir()
                folder.parent.parent.rmdir()


def log_outcome(config: DictConfig, runs: Sequence[RunRecord]) -> None:
    """What came out, on the page of the runs' parent in MLflow, where they were logged."""
    from harness.cli.hydra.composing import tracker
    from harness.cli.parent_pages import log_parents

    if any(run.mlflow for run in runs):
        log_parents(runs, lambda run: tracker({"tracking": OmegaConf.to_container(config.tracking, resolve=True)}))


def _runs_of(config: DictConfig, since: str) -> list[RunRecord]:
    """The runs that the multirun finished, in the sweep's order."""
    from harness.analysis.cell_names import in_order
    from harness.store.places import RUNS

    below = Path(config.output_dir) if config.output_dir else RUNS
    stored = records(below) if below.is_dir() else []
    own = [run for run in stored if run.manifest.get("group") == config.group and run.manifest["started"] >= since]
    return in_order(own)
