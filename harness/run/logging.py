"""Logging of run folders: right after a run, and later for what could not be logged then (`harness sync`).

The run folder is the truth and tracking a view of it: whatever goes wrong there costs a warning, never the result.
"""

from __future__ import annotations

import logging
import os
import shlex
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from harness.masking import MASK, masked, redacted
from harness.store import finished
from harness.store import folder as store
from harness.types import HarnessError, RunRecord, RunResult, Tracked, Tracker

log = logging.getLogger(__name__)
PATIENCE = 120
"""Seconds that `harness sync` waits for another process that writes a run folder; to log one takes about a minute."""


def logged(tracker: Tracker, result: RunResult) -> RunResult:
    """Logs a run that has just ended; its manifest then says where."""
    assert result.path is not None
    try:
        place = tracker.log(result, result.manifest["group"])
    except Exception as error:
        log.warning(
            "the run was not logged to MLflow: %s\nIt is complete in %s; to log it later: harness sync %s%s",
            reason(error), result.path, shlex.quote(str(result.path)), _hint(result),
        )  # fmt: skip
        return result
    if place is None:
        return result
    try:
        return remember(result, place)
    except OSError as error:
        log.warning("%s/manifest.json cannot be written (%s): the run is in MLflow, %s",
                    result.path, error.strerror or error, place.run_id)  # fmt: skip
        return result


def reason(error: Exception) -> str:
    """What went wrong, in a line or two without secrets."""
    text = " ".join(redacted(error).split()) or type(error).__name__
    return text if len(text) <= 400 else f"{text[:400]} …"


def remember(result: RunResult, place: Tracked) -> RunResult:
    """Puts into the manifest where the run was logged."""
    assert result.path is not None
    entry = {"run_id": place.run_id, "uri": masked(place.uri), "where": masked(place.where)}
    known = [*(run_id for run_id in result.manifest["mlflow_run_ids"] if run_id != place.run_id), place.run_id]
    manifest = {**result.manifest, "mlflow": entry, "mlflow_run_ids": known}
    if manifest != result.manifest:
        store.write_manifest(result.path, manifest)
    return replace(result, manifest=manifest)


def _hint(result: RunResult) -> str:
    """The store, where `harness sync` would not take it for the caller's own."""
    uri = result.manifest["config"].get("tracking", {}).get("uri")
    try:
        followed(uri, trust=False)
    except HarnessError:
        return " --uri URI" if MASK in uri else f" --uri {shlex.quote(redacted(uri))}"
    return ""


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


@dataclass(frozen=True)
class Store:
    """Where runs are logged to."""

    uri: str | None = None
    """By default the caller's own: MLFLOW_TRACKING_URI, else SQLite in the runs folder."""
    experiment: str | None = None
    """By default that of the run."""
    trust: bool = False
    """Whether a store that only the run folder names is followed, without the caller's credentials."""


def sync(folders: Sequence[Path], to: Store) -> Iterator[Synced]:
    """Logs what is missing of each run; one that cannot be logged does not keep the others from it.

    A folder is read, and its manifest written, while no
    other process writes it; one that is read-only is logged all the same.
    """
    silent: dict[str, str] = {}  # servers that gave no answer are not asked again for every run
    for folder in folders:
        name = folder.name
        try:
            writable = _writable(folder)
            with store.opened(folder, PATIENCE) if writable else nullcontext():
                result = finished.read(folder, None)
                name = result.name
                tracker = tracker_of(result, to)
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


def tracker_of(result: RunResult | RunRecord, to: Store) -> Any:
    """What a stored run is logged by."""
    from harness.tracking.mlflow import MlflowTracker

    config = result.manifest["config"].get("tracking", {})
    uri, anonymous = (to.uri, False) if to.uri is not None else followed(config.get("uri"), to.trust)
    options = {
        name: config[name] for name in ("subscores", "parents", "traces", "under") if config.get(name) is not None
    }
    tracker = MlflowTracker(to.experiment or config.get("experiment") or "harness", uri, **options)
    tracker.anonymous = anonymous
    return tracker


def followed(uri: str | None, trust: bool) -> tuple[str | None, bool]:
    """(the store to log to, whether without credentials) for one that a run folder names.

    A folder may come from anyone, and what is logged may hold secrets of theirs, of yours, and your password for the
    store: it is followed where the caller names the same one, which is then the caller's own address of it.
    """
    from harness.inputs.project import runs_folder
    from harness.tracking.backend import default_uri, same

    own = default_uri(runs_folder())
    if not uri or same(uri, own):
        return None, False
    if MASK in uri:
        if os.environ.get("MLFLOW_TRACKING_URI"):
            return None, False
        raise HarnessError(
            f"the run was to be logged to {uri}, whose credentials are not kept; expected --uri or MLFLOW_TRACKING_URI"
        )
    if trust:
        log.warning("trusted, so logged to: %s (nobody is logged in there)", redacted(uri))
        return uri, True
    raise HarnessError(
        f"the run folder names the store {redacted(uri)}, and you did not; expected the address of the store to log to "
        "(--uri of harness sync and merge, tracking.uri=… of harness score, or MLFLOW_TRACKING_URI), or --trust"
    )


def set_alias(run: RunResult, alias: str) -> list[tuple[str, str]]:
    """Gives the model of a logged run an alias in MLflow's registry; (name, version) of what has it now."""
    from harness.inputs.project import runs_folder
    from harness.tracking import logged_models
    from harness.tracking.backend import default_uri

    place = run.manifest["mlflow"]
    if place is None:
        raise HarnessError(f"{run.name} is not in MLflow; expected harness sync {run.path} first")
    uri = followed(place.get("uri"), trust=False)[0] or default_uri(runs_folder())
    try:
        models, versions = logged_models.set_alias(uri, place["run_id"], alias)
    except Exception as error:  # MLflow raises its own, its database's and the network's errors
        raise HarnessError(f"the alias {alias} of {run.name} could not be set: {reason(error)}") from None
    if not models:
        raise HarnessError(
            f"--alias {alias}: {run.name} has no model in MLflow; expected the run of a model (stored outputs, "
            "functions and programs are none)"
        )
    if not versions:
        raise HarnessError(
            f"--alias {alias}: the model of {run.name} is not in MLflow's registry; expected it there: "
            f'mlflow.register_model("models:/{models[0]}", NAME)'
        )
    return versions
