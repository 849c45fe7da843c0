"""What scores.json, manifest.json and the head of statistics.parquet must hold, so that nothing else is taken for a
finished run's.

A shape is a type, several of them, or a mapping: of named fields, or of any names to one shape. Fields that are marked
`maybe` may be absent; others that are not named here may hold anything.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

import orjson

from harness.types import Score

SCHEMA = 1
"""Of both files, as this harness writes them."""
LEVELS = 64
"""Of nesting: far more than a config has, far fewer than exhaust a stack."""
LARGEST = 2**63
MOST_DIGITS = 100
SUM = re.compile("[0-9a-f]{32}")
"""Of the hashes of all rows, modulo 2**64 in each half."""
DISTRIBUTION = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")
VERSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9.!+_-]*")
"""The name and the version of a distribution."""
FILES = ("scores.json", "examples.parquet", "statistics.parquet", "manifest.json")
"""What every finished run has."""
NAMES = (*FILES, "config.yaml", "environment.json", "outputs.jsonl", "stderr.log", "cell.json", ".lock")
"""What a run reads or writes in its folder."""


class WrongShape(ValueError):
    """Says what is wrong with a file."""


class OtherSchema(WrongShape):
    """Nothing is wrong with it, but this harness cannot know what it means."""

    def __init__(self, schema: int) -> None:
        newer = schema > SCHEMA
        age = "a newer" if newer else "an earlier"
        super().__init__(f"schema {schema}, written by {age} harness (this one reads schema {SCHEMA})")
        self.helps = (
            "a newer harness: pip install --upgrade harness-eval"
            if newer
            else "the same harness run again into another folder: output_dir=…"
        )


# ---------------------------------------------------------------- shapes


@dataclass(frozen=True)
class Each:
    """A list, or a mapping of any names, whose values have one shape."""

    value: Any
    kind: type = dict
    least: int = 0


@dataclass(frozen=True)
class Maybe:
    """A field that may be absent, or null, or both."""

    value: Any
    absent: bool = True
    null: bool = True


NUMBER = (int, float)
TEXT, WHOLE, FLAG, NULL = (str,), (int,), (bool,), (type(None),)
ABOUT = Maybe(Each((*TEXT, *NUMBER, *FLAG, *NULL)), null=False)
HEALTH = {"warnings": Maybe(Each(TEXT, list), null=False)}
STOPPED = {
    "score": TEXT, "answer": (*TEXT, *NULL), "estimate": NUMBER, "low": NUMBER, "high": NUMBER, "level": NUMBER,
    "looks": WHOLE, "examples": WHOLE, "of": WHOLE, "baseline": (*TEXT, *NULL), "saved": NUMBER,
}  # fmt: skip
CELL = {"label": TEXT, "parameters": dict, "number": WHOLE, "space": Maybe(Each(Maybe(list)))}
RACED = {
    "score": TEXT, "error": NUMBER, "share": NUMBER, "units": WHOLE, "of_units": WHOLE, "examples": WHOLE,
    "of": WHOLE, "data": TEXT, "left": Each(WHOLE, list),
}  # fmt: skip
SCORE = {
    **dict.fromkeys(("estimate", "low", "high"), (*NUMBER, *NULL)),
    "level": NUMBER,
    "method": TEXT,
    "resamples": WHOLE,
    "signature": TEXT,
    "higher_is_better": Maybe(FLAG, null=False),
    "note": Maybe(TEXT),
    "title": Maybe(TEXT, null=False),
    "units": Maybe(TEXT, null=False),
    "digits": Maybe(WHOLE, null=False),
    **dict.fromkeys(("low_error", "high_error", "if_worst", "if_best"), Maybe(NUMBER)),
}
SCORES = {
    "name": TEXT,
    "examples": WHOLE,
    "failed": WHOLE,
    "health": Maybe(HEALTH, null=False),
    "stopped": Maybe(STOPPED),
    "scores": Each(SCORE),
    "slices": Maybe(Each({"by": TEXT, "slice": TEXT, "examples": WHOLE, "scores": Each(SCORE)}, list), null=False),
}
OF_SCORES = {field.name for field in fields(Score)} - {"name"}
MANIFEST = {
    "dataset": {
        "name": TEXT, "key": TEXT, "cluster": (*TEXT, *NULL), "strata": Maybe(TEXT), "examples": WHOLE, "about": ABOUT,
        "content": Maybe({"rows": WHOLE, "sum": TEXT, "whole": Maybe(TEXT)}),
        "fields": Maybe(Each({"first": WHOLE, "json": FLAG}), null=False),
    },
    "system": {
        "name": TEXT, "key": Maybe(TEXT, absent=False), "repeats": WHOLE, "seeds": Maybe(WHOLE), "about": ABOUT,
        "step": Maybe(WHOLE), "series": Maybe(TEXT),
    },
    "name": TEXT,
    "key": TEXT,
    "result": Maybe(TEXT),
    "group": (*TEXT, *NULL),
    "overrides": Maybe(Each(TEXT, list), null=False),
    "cell": Maybe(CELL),
    "also": Maybe(Each({"group": TEXT, "cell": CELL}, list), null=False),
    "config": dict,
    "files": Each(TEXT),
    "metrics": Each({"signature": TEXT, "key": Maybe(TEXT)}),
    "health": Maybe(HEALTH),
    "stopped": Maybe(STOPPED),
    "raced": Maybe(RACED),
    "generation": Each((*NUMBER, *NULL)),
    "seed": WHOLE,
    "harness": TEXT,
    "git": Maybe({"commit": TEXT, "dirty": Maybe(FLAG)}),
    "code": Maybe({"commit": Maybe(TEXT), "dirty": Maybe(FLAG), "hash": Maybe(TEXT)}),
    "command": Maybe({
        "typed": TEXT, "overrides": Maybe(Each(TEXT, list)), "choices": Maybe(Each((*TEXT, *NULL))),
        "config_name": Maybe(TEXT), "config_path": Maybe(TEXT), "config_dirs": Maybe(Each(TEXT, list)),
        "folder": Maybe(TEXT),
    }),
    "inputs": Maybe(Each(
        {"option": TEXT, "path": TEXT, "file": Maybe(TEXT, null=False), "bytes": WHOLE, "sha256": TEXT}, list,
    )),
    "texts": Maybe(TEXT),
    "packages": Maybe(Each(TEXT)),
    "python": Maybe(TEXT),
    "machine": Maybe({
        "system": Maybe(TEXT), "cpus": Maybe(WHOLE), "cpu": Maybe(TEXT), "gpus": Maybe(Each(TEXT, list)),
        "blas": Maybe(TEXT),
    }),
    "mlflow": Maybe({"run_id": TEXT, "uri": Maybe(TEXT, null=False), "where": Maybe(TEXT, null=False)}, absent=False),
    "mlflow_run_ids": Each(TEXT, list),
    "started": TEXT,
    "ended": TEXT,
}  # fmt: skip
TRACKING = {
    "experiment": Maybe(TEXT), "uri": Maybe(TEXT), "subscores": Maybe(FLAG), "parents": Maybe(FLAG),
    "traces": Maybe(WHOLE), "under": Maybe(TEXT),
}  # fmt: skip
CONFIG = {
    "dataset": Maybe(dict, null=False),
    "system": Maybe(dict, null=False),
    "tracking": Maybe(TRACKING, null=False),
}
ENVIRONMENT = {
    "python": TEXT,
    "implementation": Maybe(TEXT),
    "platform": Maybe(TEXT),
    "machine": Maybe(TEXT),
    "packages": Each({"name": TEXT, "version": TEXT, "record": Maybe(TEXT)}, list),
}
STATISTICS = {
    "_target_": TEXT,
    "options": dict,
    "version": WHOLE,
    "columns": Each(TEXT, list, least=1),
    "lists": Maybe(Each(TEXT, list)),
    "definition": Each(TEXT),
    "provenance": Each(TEXT),
    "key": TEXT,
}


# ---------------------------------------------------------------- documents


def parsed(content: bytes) -> Any:
    """The JSON, of no more than so many levels; ValueError otherwise."""
    document = orjson.loads(content)
    level = [document]
    for _ in range(LEVELS):
        level = [value for item in level if isinstance(item, dict | list) for value in _inside(item)]
        if not level:
            return document
    raise WrongShape(f"more than {LEVELS} levels of nesting")


def _inside(item: Any) -> Any:
    return item.values() if isinstance(item, dict) else item


def check_scores(content: Any) -> None:
    """Refuses what cannot be the content of a scores.json."""
    _of_this_schema(content)
    _check(content, SCORES)
    for name, score in content["scores"].items():
        if not score.keys() <= OF_SCORES:
            raise WrongShape(f"the score {name} has {min(score.keys() - OF_SCORES)!r}")
        if not 0 <= score.get("digits", 0) <= MOST_DIGITS:
            raise WrongShape(f"{_shown(score['digits'])} for 'scores.{name}.digits'")


def check_manifest(manifest: Any) -> None:
    """Refuses what cannot be the content of a manifest.json."""
    _of_this_schema(manifest)
    check_manifest_fields(manifest)


def check_manifest_fields(manifest: Any) -> None:
    """The same for a manifest of any schema."""
    _check(manifest, MANIFEST)
    _check(manifest["config"], CONFIG)
    content = manifest["dataset"].get("content")
    if content is not None and not SUM.fullmatch(content["sum"]):
        raise WrongShape(f"{_shown(content['sum'])} for 'dataset.content.sum'")
    for field in ("started", "ended"):
        time_of(manifest[field])


def check_cell(content: Any) -> None:
    """Refuses what cannot be the content of a cell.json."""
    _check(content, {"group": (*TEXT, *NULL), "cell": CELL, "error": Maybe(TEXT)})


def check_statistics(content: Any) -> None:
    """Refuses what cannot be the head of a statistics.parquet."""
    _check(content, {"metrics": Each(STATISTICS)})


def check_environment(content: Any) -> None:
    """Refuses what cannot be the content of an environment.json."""
    _of_this_schema(content)
    _check(content, ENVIRONMENT)
    for each in content["packages"]:  # they become arguments of pip
        if not DISTRIBUTION.fullmatch(each["name"]) or not VERSION.fullmatch(each["version"]):
            raise WrongShape(f"{_shown(each)} for a package")


def experiment(manifest: dict[str, Any]) -> str:
    """The experiment that a run belongs to."""
    config = manifest["config"]
    _check(config, {"tracking": {"experiment": TEXT}})
    name: str = config["tracking"]["experiment"]
    return name


def time_of(text: str) -> datetime:
    """A time of the manifest, here where it names no zone."""
    try:
        moment = datetime.fromisoformat(text)
        moment.timestamp()
        return moment if moment.tzinfo else moment.astimezone()
    except (ValueError, OverflowError, OSError):
        raise WrongShape(f"{_shown(text)} for a time") from None


def _of_this_schema(content: Any) -> None:
    _check(content, {"schema": WHOLE})
    if content["schema"] != SCHEMA:
        raise OtherSchema(content["schema"])


def _check(value: Any, shape: Any, name: str = "") -> None:
    kind = type(shape)
    if kind is tuple:
        _is(value, shape, name)
    elif kind is Maybe:
        if value is not None or not shape.null:
            _check(value, shape.value, name)
    elif kind is Each:
        _is(value, (shape.kind,), name)
        if len(value) < shape.least:
            raise WrongShape(f"nothing in {name!r}")
        for key, inner in value.items() if shape.kind is dict else enumerate(value):
            _check(inner, shape.value, f"{name}.{key}")
    elif kind is dict:
        _is(value, (dict,), name)
        for field, inner in shape.items():
            if field in value:
                _check(value[field], inner, f"{name}.{field}" if name else field)
            elif type(inner) is not Maybe or not inner.absent:
                raise WrongShape(f"no {f'{name}.{field}' if name else field!r}")
    else:
        _is(value, (shape,), name)


def _is(value: Any, kinds: tuple[type, ...], name: str) -> None:
    """Truth is no number, and no number is beyond what files of other formats hold."""
    right = isinstance(value, kinds) and (not isinstance(value, bool) or bool in kinds)
    if not right or (type(value) is int and abs(value) >= LARGEST):
        raise WrongShape(f"{_shown(value)} for {name!r}" if name else f"{_shown(value)} for an object")


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]} …"
