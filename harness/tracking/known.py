"""What a SQLite store has already: asked of SQLite itself. Importing MLflow takes seconds, and each of its searches ten
times as long as the same question in SQL, of which logging a thousand runs has thousands."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass

from harness.tracking import backend

LOGGED = """
select 1 from runs join experiments using (experiment_id)
where run_uuid = ? and experiments.name = ? and runs.status = 'FINISHED'
    and runs.lifecycle_stage = 'active' and experiments.lifecycle_stage = 'active'
"""
PARENT = """
select 1 from tags as child join runs on runs.run_uuid = child.value join tags as own on own.run_uuid = child.value
where child.run_uuid = ? and child.key = 'mlflow.parentRunId' and runs.lifecycle_stage = 'active'
    and own.key = 'harness.group' and own.value = ?
"""


ABOVE = "select value from tags where run_uuid = ? and key = 'mlflow.parentRunId'"
DEPTH = 4
"""Runs above one, at most: those of checkpoints or seeds, of a multirun, and a surrounding one."""


@dataclass(frozen=True)
class Nested:
    """What a run is nested under, as far as it is known before MLflow is asked."""

    group: str | None = None
    under: str | None = None


def logged(uri: str, experiment: str, run_id: str, tags: Mapping[str, str], nested: Nested) -> bool:
    """Whether a SQLite store has the finished run with these tags.

    False where that cannot be known: then MLflow is asked.
    """
    file = backend.sqlite_file(uri)
    if file is None:
        return False
    try:
        with closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True, timeout=5)) as database:
            stored = dict(database.execute("select key, value from tags where run_uuid = ?", (run_id,)))
            return (
                all(stored.get(name) == value for name, value in tags.items())
                and database.execute(LOGGED, (run_id, experiment)).fetchone() is not None
                and (nested.group is None or database.execute(PARENT, (run_id, nested.group)).fetchone() is not None)
                and (nested.under is None or nested.under in _above(database, run_id))
            )
    except sqlite3.Error:  # no such file, or the tables of another MLflow
        return False


def _above(database: sqlite3.Connection, run_id: str) -> list[str]:
    """The runs that a run is nested under, the innermost first."""
    above: list[str] = []
    while len(above) < DEPTH and (row := database.execute(ABOVE, ([run_id, *above][-1],)).fetchone()):
        above.append(str(row[0]))
    return above


TAGGED = """
select tags.key, tags.value from tags join runs using (run_uuid) join experiments using (experiment_id)
where experiments.name = ? and runs.lifecycle_stage = 'active' and experiments.lifecycle_stage = 'active'
    and run_uuid in (select run_uuid from tags where key = ? and value = ?)
"""


def tagged(uri: str, experiment: str, tags: Mapping[str, str]) -> bool:
    """Whether a SQLite store has a run with these tags; False where that cannot be known."""
    file = backend.sqlite_file(uri)
    if file is None:
        return False
    try:
        with closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True, timeout=5)) as database:
            rows = set(database.execute(TAGGED, (experiment, *next(iter(tags.items())))))
            return bool(rows) and set(tags.items()) <= rows
    except sqlite3.Error:
        return False


RUNS = "select run_uuid from runs where experiment_id = ? and lifecycle_stage = 'active'"
WITH_TAG = " and run_uuid in (select run_uuid from tags where key = ? and value = ?)"
MODELS = """
select model_id from logged_models join logged_model_tags using (model_id)
where lifecycle_stage = 'active' and tag_key = ? and tag_value = ?
"""


def run_ids(uri: str, experiment: str, tags: Mapping[str, str]) -> list[str] | None:
    """The ids of the runs with these tags in an experiment, by its id; None where that cannot be known."""
    asked = RUNS + WITH_TAG * len(tags)
    return _ids(uri, asked, (experiment, *(word for tag in tags.items() for word in tag)))


def model_ids(uri: str, key: str, value: str) -> list[str] | None:
    """The ids of the LoggedModels with a tag, finished or not; None where that cannot be known."""
    return _ids(uri, MODELS, (key, value))


def _ids(uri: str, asked: str, words: Sequence[str]) -> list[str] | None:
    file = backend.sqlite_file(uri)
    if file is None:
        return None
    try:
        with closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True, timeout=5)) as database:
            return [str(row[0]) for row in database.execute(asked, words)]
    except sqlite3.Error:
        return None
