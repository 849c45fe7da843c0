"""`harness import` and `harness export`: logs of other tools become runs, and runs such logs.

All logs are read and checked before the first run is written: what is wrong with one leaves nothing behind.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from harness.analysis.stored.loading import find_run
from harness.importers import eee_export, known_formats, lm_eval_export
from harness.importers.log import Log, LogDataset, LogSystem
from harness.importers.stored import StoredRun, export_csv
from harness.run.from_log import Destination, Received, Stored, check_apart, job_of
from harness.run.runner import run
from harness.types import IMPORTED, HarnessError, Progress, RunResult, check_choice

log = logging.getLogger(__name__)
EXPORTS = {"eee": eee_export.export, "lm-eval": lm_eval_export.export, "csv": export_csv}


@dataclass(frozen=True)
class Asked:
    """What to import, and as what."""

    paths: Sequence[str | Path]
    format: str | None = None
    """None: the first that fits."""
    scores: Sequence[str] | None = None
    """Of those that the log has; None: all."""
    system: str | None = None
    """What the system is called; None: as the log has it."""
    cluster: str | None = None
    """The field by which samples belong together; None: as the log has it."""


def imported(asked: Asked, to: Destination, progress: Progress) -> Iterator[RunResult]:
    """A run of each log."""
    if not asked.paths:
        raise HarnessError("no log was given; expected at least one file or folder")
    logs = known_formats.read(asked.paths, asked.format, asked.scores)
    many = replace(to, many=len(logs) > 1)
    jobs = [job_of(_received(each, asked), many) for each in logs]
    check_apart(jobs)
    return (_on_its_data(run(job, progress), each) for job, each in zip(jobs, logs, strict=True))


def _on_its_data(made: RunResult, of: Log) -> RunResult:
    """Says where an imported run is not on the data of the run that it was exported from."""
    if of.origin.data_key not in (None, made.dataset_key):
        log.warning(
            "%s: the samples are not all of what the exported run was evaluated on (contexts, say, are not exported), "
            "so that %s compares with other imported runs, and not with that one", of.origin.place, made.name,
        )  # fmt: skip
    return made


def _received(of: Log, asked: Asked) -> Received:
    if asked.system is not None:
        of.origin = replace(of.origin, system=asked.system)
    origin = of.origin
    scores = [Stored(name, IMPORTED + name, name not in origin.lower_is_better) for name in of.score_names]
    dataset, system = LogDataset(of, asked.cluster), LogSystem(of)
    return Received(dataset, system, scores, origin.scorer, origin.version, of.content)


def exported(name: str | Path, format: str, folder: str | Path = ".") -> list[Path]:
    """Writes a stored run in another format below a folder; returns the files."""
    check_choice("--format", format, tuple(EXPORTS))
    return EXPORTS[format](StoredRun.of(find_run(name)), Path(folder))
