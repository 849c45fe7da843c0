"""Logging of run folders: right after a run, and later for what could not be logged then (`harness sync`).

The run folder is the truth and tracking a view of it: whatever goes wrong there costs a warning, never the result.
"""

from __future__ import annotations

import logging
import os
import shlex
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.masking import MASK, masked, redacted
from harness.store import folder as store
from harness.types import HarnessError, RunResult, Tracked, Tracker

log = logging.getLogger(__name__)
PATIENCE = 120
"""Seconds that `harness sync` waits for another process that writes a run folder; to log one takes about a minute."""


def tracked(tracker: Tracker, result: RunResult) -> None:
    """Logs a run that has just ended, into its manifest too."""
    assert result.path is not None
    try:
        place = tracker.log(result, result.manifest["group"])
    except Exception as error:
        log.warning(
            "the run was not logged to MLflow: %s\nIt is whole in %s; to log it later: harness sync %s%s",
            reason(error), result.path, shlex.quote(str(result.path)), _hint(result),
        )  # fmt: skip
        return
    if place is not None:
        try:
            remember(result, place)
        except OSError as error:
            log.warning("%s/manifest.json cannot be written (%s): the run is in MLflow, %s",
                        result.path, error.strerror or error, place.run_id)  # fmt: skip


def reason(error: Exception) -> str:
    """What went wrong, in a line or two without secrets."""
    text = " ".join(redacted(error).split()) or type(error).__name__
    return text if len(text) <= 400 else f"{text[:400]} …"


def remember(result: RunResult, place: Tracked) -> None:
    """Puts into the manifest where the run was logged."""
    assert result.path is not None
    logged = {"run_id": place.run_id, "uri": masked(place.uri), "where": masked(place.where)}
    known = [*(run_id for run_id in result.manifest["mlflow_run_ids"] if run_id != place.run_id), place.run_id]
    if (result.manifest["mlflow"], result.manifest["mlflow_run_ids"]) != (logged, known):
        result.manifest.update({"mlflow": logged, "mlflow_run_ids": known})
        store.write_manifest(result.path, result.manifest)


def _hint(result: RunResult) -> str:
    uri = result.manifest["config"].get("tracking", {}).get("uri")
    return " --uri URI" if MASK in str(uri) and not os.environ.get("MLFLOW_TRACKING_URI") else ""


@dataclass(frozen=True)
class Synced:
    """What became of one run folder."""

    folder: Path
    name: str
    status: str
    """`logged`, `completed`, `already there` or `failed`."""
    run_id: str | None = None
    where: str | None = None
    error: str | None = None


def sync(folders: Sequence[Path], uri: str | None = None, experiment: str | None = None) -> Iterator[Synced]:
    """Logs what is missing of each run; one that cannot be logged does not keep the others from it.

    `uri` and `experiment`: by default those of the run itself. A folder is read, and its manifest written, while no
    other process writes it; one that is read-only is logged all the same.
    """
    silent: dict[str, str] = {}  # servers that gave no answer are not asked again for every run
    for folder in folders:
        name = folder.name
        try:
            writable = _writable(folder)
            with store.opened(folder, PATIENCE) if writable else nullcontext():
                result = store.read(folder, None)
                name = result.name
                tracker = _tracker(result, uri, experiment)
                if tracker.uri in silent:
                    raise ConnectionError(silent[tracker.uri])
                try:
                    place = tracker.log(result, result.manifest["group"])
                except ConnectionError as error:
                    silent[tracker.uri] = str(error)
                    raise
                if writable:
                    _remember_if_possible(result, place)
        except Exception as error:
            yield Synced(folder, name, "failed", error=reason(error))
        else:
            yield Synced(folder, name, place.how, place.run_id, masked(place.where))


def _remember_if_possible(result: RunResult, place: Tracked) -> None:
    try:
        remember(result, place)
    except OSError as error:
        log.warning("%s/manifest.json cannot be written (%s)", result.path, error.strerror or error)


def _writable(folder: Path) -> bool:
    return os.access(folder, os.W_OK)


def _tracker(result: RunResult, uri: str | None, experiment: str | None) -> Any:
    from harness.tracking.mlflow import MlflowTracker

    config = result.manifest["config"].get("tracking", {})
    known = config.get("uri")
    if uri is None and known and MASK in known:
        uri = os.environ.get("MLFLOW_TRACKING_URI")
        if uri is None:
            raise HarnessError(
                f"the run was to be logged to {known}, whose credentials are not kept; "
                "expected --uri or MLFLOW_TRACKING_URI"
            )
    return MlflowTracker(experiment or config.get("experiment") or "harness", uri or known)
