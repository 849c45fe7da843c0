"""What scores.json and manifest.json must hold, so that nothing else is taken for that of a finished run."""

from __future__ import annotations

from dataclasses import fields
from datetime import datetime
from typing import Any

from harness.types import Score

SCHEMA = 1
"""Of both files, as this harness writes them."""


SCORE = {field.name for field in fields(Score)} - {"name"}
FILES = ("scores.json", "examples.parquet", "statistics.parquet", "manifest.json")
"""What every finished run has."""


class WrongShape(ValueError):
    """Says what is wrong with a file."""


class NewerSchema(WrongShape):
    """Nothing is wrong with it, but this harness cannot know what it means."""


def check_scores(told: Any) -> None:
    """Refuses what is no content of a scores.json."""
    _of_this_schema(told)
    _has(told, "name", str)
    _has(told, "examples", int)
    _has(told, "failed", int)
    for name, score in _has(told, "scores", dict).items():
        if not isinstance(score, dict):
            raise WrongShape(f"{_shown(score)} for the score {name}")
        if unknown := sorted(set(score) - SCORE):
            raise WrongShape(f"the score {name} has {unknown[0]!r}")
        for field in ("estimate", "low", "high"):
            _has(score, field, float | int | None)
        _has(score, "level", float)
        _has(score, "method", str)
        _has(score, "resamples", int)
        _has(score, "signature", str)


def check_manifest(manifest: Any) -> None:
    """Refuses what is no content of a manifest.json."""
    _of_this_schema(manifest)
    check_manifest_fields(manifest)


def check_manifest_fields(manifest: Any) -> None:
    """The same for a manifest of any schema."""
    if not isinstance(manifest, dict):
        raise WrongShape(f"{_shown(manifest)} for an object")
    dataset = _has(manifest, "dataset", dict)
    _has(dataset, "name", str)
    _has(dataset, "key", str)
    _has(dataset, "cluster", str | None)
    _has(_has(manifest, "system", dict), "name", str)
    _has(manifest, "name", str)
    _has(manifest, "key", str)
    _has(manifest, "group", str | None)
    _has(manifest, "config", dict)
    _has(manifest, "files", dict)
    _has(manifest, "metrics", dict)
    _has(manifest, "mlflow", dict | None)
    _has(manifest, "mlflow_run_ids", list)
    for field in ("started", "ended"):
        time_of(_has(manifest, field, str))


def experiment(manifest: dict[str, Any]) -> str:
    """The experiment that a run belongs to."""
    found: str = _has(_has(manifest["config"], "tracking", dict), "experiment", str)
    return found


def time_of(text: str) -> datetime:
    """A time of the manifest, here where it names no zone."""
    found = datetime.fromisoformat(text)
    return found if found.tzinfo else found.astimezone()


def _of_this_schema(content: Any) -> None:
    if not isinstance(content, dict):
        raise WrongShape(f"{_shown(content)} for an object")
    if _has(content, "schema", int) > SCHEMA:
        raise NewerSchema(f"schema {content['schema']}, written by a newer harness (this one reads schema {SCHEMA})")


def _has(content: dict[str, Any], field: str, kind: Any) -> Any:
    if field not in content:
        raise WrongShape(f"no {field!r}")
    if not isinstance(content[field], kind):
        raise WrongShape(f"{_shown(content[field])} for {field!r}")
    return content[field]


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]} …"
