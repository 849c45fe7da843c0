"""A finished run read back from its folder: manifest, scores, and the rows from which scores can be computed again.

Nothing here knows which metrics there are: whoever reads statistics hands in how a metric is made from its name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from harness.inputs import regular
from harness.store import shape
from harness.store.example_table import Expected, read_examples
from harness.store.folder import intact, read_statistics, scored_anew
from harness.types import HarnessError, Metric, RunResult, Score, Signature, Slice, Statistics


@dataclass(frozen=True)
class Scoring:
    """How stored rows get the metric that scores them."""

    metric: Callable[[str, Mapping[str, Any]], Metric | None]
    """(the metric's name, what is stored with its rows) -> the metric; None where it is not to be made."""
    described: Callable[[Mapping[str, Any]], str] = str
    """What is stored -> what would run, for people."""


def read_manifest(folder: Path) -> dict[str, Any] | None:
    """The manifest, or None where there is no run, or what is there is not a manifest."""
    try:
        manifest: dict[str, Any] = shape.parsed(regular.read(folder / "manifest.json"))
        shape.check_manifest_fields(manifest)
    except (OSError, ValueError):
        return None
    return manifest


def read_environment(folder: Path) -> dict[str, Any] | None:
    """environment.json, or None where there is none, or what is there is not one."""
    try:
        environment: dict[str, Any] = shape.parsed(regular.read(folder / "environment.json"))
        shape.check_environment(environment)
    except (OSError, ValueError):
        return None
    return environment


def read(folder: Path, scoring: Scoring | None) -> RunResult:
    """A stored run. Without `scoring` there are no statistics."""
    manifest, stored = documents(folder)
    described, rows = read_statistics(folder) if scoring is not None else ({}, {})
    statistics: dict[str, Statistics] = {}
    untested: dict[str, str] = {}
    for name, description in described.items():
        assert scoring is not None
        metric = scoring.metric(name, description)
        if metric is None:
            untested[name] = scoring.described(description)
            continue
        stored_columns = [description["columns"], description.get("lists", [])]
        if metric.version != description["version"]:
            raise HarnessError(
                f"{folder}/statistics.parquet: {name} has rows of version {description['version']}, this harness "
                f"writes version {metric.version}; expected the same: {scored_anew(folder)}"
            )
        if stored_columns != [list(metric.columns), list(metric.lists)]:
            raise HarnessError(
                f"{folder}/statistics.parquet: {name} has the columns {', '.join(chain(*stored_columns))[:200]}, its "
                f"metric {', '.join([*metric.columns, *metric.lists])[:200]}; expected the same: {scored_anew(folder)}"
            )
        for column, part in rows[name].lists.items():
            if part.values.dtype != metric.list_kind:
                raise HarnessError(
                    f"{folder}/statistics.parquet: {name}:{column} has lists of {part.values.dtype}; expected "
                    f"{np.dtype(metric.list_kind)}, as a run writes them"
                )
        signature = Signature(description["definition"], description["provenance"])
        statistics[name] = Statistics.of(metric, rows[name].values, signature, description["key"], rows[name].lists)
    dataset = manifest["dataset"]
    number = next((len(scored.rows) for scored in statistics.values()), None)
    fields = tuple(name for name in (dataset["cluster"], dataset.get("strata")) if name is not None)
    expected = Expected(number, fields, tuple(stored["scores"]))
    return RunResult(
        name=stored["name"],
        dataset=manifest["dataset"]["name"],
        dataset_key=manifest["dataset"]["key"],
        system=manifest["system"]["name"],
        scores=_scores(stored["scores"]),
        statistics=statistics,
        load=lambda: read_examples(folder, expected),
        failed=stored["failed"],
        cluster=manifest["dataset"]["cluster"],
        strata=manifest["dataset"].get("strata"),
        manifest=manifest,
        path=folder,
        health=stored.get("health", {}),
        stopped=stored.get("stopped"),
        slices=tuple(
            Slice(part["by"], part["slice"], part["examples"], _scores(part["scores"]))
            for part in stored.get("slices", ())
        ),
        seeds=manifest["system"].get("seeds") or 1,
        untested=untested,
    )


def _scores(documents: Mapping[str, Mapping[str, Any]]) -> dict[str, Score]:
    return {name: Score(name=name, **{"note": None, **score}) for name, score in documents.items()}


def unchanged(
    folder: Path, earlier: Mapping[str, Any] | None, key: str, metrics: Mapping[str, Metric]
) -> RunResult | None:
    """The result in the folder, its rows scored by these metrics of the caller's own; None where it is another, or
    damaged. `earlier`: the manifest there; `key`: that of the result."""
    if not earlier or earlier.get("result") != key or not intact(folder, earlier["files"]):
        return None
    try:
        stored = read(folder, Scoring(lambda name, _: metrics.get(name)))
    except HarnessError:
        return None
    return stored if list(stored.statistics) == list(metrics) else None


def documents(folder: Path, files: Sequence[str] = shape.FILES) -> tuple[dict[str, Any], dict[str, Any]]:
    """(manifest, scores) of a finished run, which has all these files."""
    if strange := regular.first_irregular(folder, shape.NAMES):
        raise HarnessError(strange)
    missing = [name for name in files if not (folder / name).exists()]
    if missing == ["statistics.parquet"]:
        raise HarnessError(f"{folder} is not a finished run (no statistics.parquet); {scored_anew(folder)}")
    if missing:
        raise HarnessError(
            f"{folder} is not a finished run (no {', '.join(missing)}); "
            "expected a run folder with scores.json, examples.parquet, statistics.parquet and manifest.json"
        )
    manifest = _document(folder / "manifest.json", shape.check_manifest)
    return manifest, _document(folder / "scores.json", shape.check_scores)


def _document(path: Path, check: Callable[[Any], None]) -> dict[str, Any]:
    """scores.json or manifest.json of a finished run."""
    expected = "expected it as a run leaves it (the same harness run writes it anew)"
    try:
        content: dict[str, Any] = shape.parsed(regular.read(path))
    except OSError as error:
        raise HarnessError(f"{path} cannot be read ({error.strerror or error}); {expected}") from None
    except shape.WrongShape as error:
        raise HarnessError(f"{path} is not that of a finished run ({error}); {expected}") from None
    except ValueError as error:
        raise HarnessError(f"{path} is not JSON ({error}); {expected}") from None
    try:
        check(content)
    except shape.OtherSchema as error:
        raise HarnessError(f"{path} has {error}; expected a run of this version, or {error.helps}") from None
    except ValueError as error:
        raise HarnessError(f"{path} is not that of a finished run ({error}); {expected}") from None
    return content
