"""The run folder: what a run leaves there, and how it is written.

scores.json         every score with its interval
examples.parquet    one row for each example: texts, error, metadata, one column per score
statistics.parquet  the rows of summable statistics; its metadata says which metric and options can score them
config.yaml         the composed config, secrets masked
manifest.json       what made it: command, content keys, hashes of files, signatures, versions, commits, seed, machine
environment.json    the distributions that took part, by version and hash
outputs.jsonl       the journal of generated outputs
"""

from __future__ import annotations

import json
import logging
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from harness.inputs import arrow, files, regular
from harness.inputs.expanded import check_expanded
from harness.inputs.locks import NoLocks, held
from harness.store import atomic
from harness.store.journal import Journal
from harness.store.shape import NAMES, SCHEMA, check_statistics, parsed
from harness.store.writing import Writer, cannot_be_written
from harness.types import BLOCK, HarnessError, Rows, RunResult, Score

log = logging.getLogger(__name__)
FOREVER = -1
MARKS = {".lock", "outputs.jsonl", "statistics.parquet"}
"""One of these is in every folder that a run has written to."""
CONTESTED = {"config.yaml", "manifest.json", "scores.json", "examples.parquet"}
"""What other programs may have called a file of theirs."""


@contextmanager
def opened(folder: Path, patience: float = 0, awaited: bool = False) -> Iterator[None]:
    """Makes the folder and keeps other processes from writing the same run.

    `patience`: seconds to wait for another process that writes it; `awaited`: after them as long as it takes.
    """
    with ExitStack() as stack:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if strange := regular.first_irregular(folder, NAMES):
                raise HarnessError(strange)
            _check_free(folder)
            stack.enter_context(_held(folder, patience, awaited))
        except TimeoutError:
            raise HarnessError(
                f"another process is writing the run folder {folder}; expected to be the only one"
            ) from None
        except NoLocks as error:
            raise HarnessError(
                f"the run folder {folder} is on a file system without locks ({error.strerror}); expected one that can "
                "keep two processes from writing the same run (output_dir=DIR chooses another folder)"
            ) from None
        except OSError as error:
            raise HarnessError(
                f"the run folder {folder} cannot be written ({error.strerror or error}); "
                "expected a writable folder (output_dir=DIR chooses another)"
            ) from None
        atomic.sweep(folder)
        yield


@contextmanager
def _held(folder: Path, patience: float, awaited: bool) -> Iterator[None]:
    with ExitStack() as stack:
        try:
            stack.enter_context(held(folder / ".lock", patience))
        except TimeoutError:
            if not awaited:
                raise
            log.warning("another process is writing the run folder %s, which is waited for", folder)
            stack.enter_context(held(folder / ".lock", FOREVER))
        yield


def _check_free(folder: Path) -> None:
    """Refuses a folder of the user's own, such as `.`, in which a file would be overwritten that no run wrote."""
    names = {path.name for path in folder.iterdir()}
    foreign = sorted(names & CONTESTED)
    if foreign and not names & MARKS:
        raise HarnessError(
            f"{folder / foreign[0]} would be overwritten, and {folder} is not the folder of a run; expected a new "
            "folder, or a run's (output_dir=DIR chooses another)"
        )


def intact(folder: Path, digests: Mapping[str, str]) -> bool:
    """Whether the result's files are those of these digests."""
    try:
        return all(files.file_digest(folder / name) == digest for name, digest in digests.items())
    except OSError:
        return False


def write(
    folder: Path, result: Writer | None, scores: bytes, config: str, manifest: Mapping[str, Any], environment: Any
) -> None:
    """Writes what changed in the folder; each file is replaced whole, the scores last. `result`: its tables, None where
    what is in the folder stays."""
    try:
        if result is not None:
            result.replace()
        atomic.write(folder / "config.yaml", config.encode())
        atomic.write(folder / "environment.json", _json(environment))
        write_manifest(folder, manifest)
        if result is not None:
            atomic.write(folder / "scores.json", scores)
    except OSError as error:
        raise cannot_be_written(folder, error) from error


def copy_journals(sources: Sequence[Path], folder: Path) -> None:
    """So that `harness run` of the config that runs were scored or merged by finds the outputs."""
    journals = [Journal(source / "outputs.jsonl") for source in sources]
    if not (folder / "outputs.jsonl").exists() and (content := b"".join(journal.whole() for journal in journals)):
        atomic.write(folder / "outputs.jsonl", content)


def write_manifest(folder: Path, manifest: Mapping[str, Any]) -> None:
    atomic.write(folder / "manifest.json", _json(manifest))


def scores_json(result: RunResult, examples: int) -> bytes:
    """The content of scores.json, of a run on so many examples: same result, same bytes."""
    slices = [
        {"by": part.by, "slice": part.label, "examples": part.examples, "scores": _scores_document(part.scores)}
        for part in result.slices
    ]
    document = {
        "schema": SCHEMA,
        "name": result.name,
        "examples": examples,
        "failed": result.failed,
        "health": result.health,
        **({"stopped": result.stopped} if result.stopped else {}),
        "scores": _scores_document(result.scores),
        **({"slices": slices} if slices else {}),
    }
    return _json(document)


def _scores_document(scores: Mapping[str, Score]) -> dict[str, dict[str, Any]]:
    fields = (
        "estimate", "low", "high", "level", "method", "resamples", "signature", "higher_is_better", "title", "digits",
        "units",
    )  # fmt: skip
    optional = ("low_error", "high_error", "if_worst", "if_best", "note")
    document = {}
    for name, score in scores.items():
        document[name] = {field: getattr(score, field) for field in fields}
        document[name] |= {field: value for field in optional if (value := getattr(score, field)) is not None}
    return document


def _json(value: Any) -> bytes:
    return (json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()


@dataclass(frozen=True, slots=True)
class StoredRows:
    """A metric's rows of an earlier run, with what made them."""

    parts: Callable[[Iterable[int]], Iterator[Rows]]
    """(how many rows each part is to have) -> the rows, part by part."""
    provenance: Mapping[str, str]


def stored_rows(folder: Path) -> dict[str, StoredRows]:
    """Rows of an earlier run of this folder by their key; empty where there are none."""
    return {about["key"]: rows_of(folder, name, about) for name, about in described_rows(folder).items()}


def rows_of(folder: Path, name: str, about: Mapping[str, Any]) -> StoredRows:
    """Those of one metric; `about`: what is stored with them."""
    return StoredRows(partial(_parts, folder, name, about), about["provenance"])


def described_rows(folder: Path) -> dict[str, Any]:
    """What is stored with the rows of each metric; empty where there are none, or they cannot be read."""
    try:
        with _statistics_file(folder) as file:
            return _head(file)
    except (OSError, HarnessError):
        return {}


def read_rows(folder: Path, name: str) -> Rows:
    """All rows of a metric of a finished run."""
    return read_statistics(folder, name)[1][name]


def read_statistics(folder: Path, *names: str) -> tuple[dict[str, Any], dict[str, Rows]]:
    """(what is stored with the rows of each metric, the rows of these metrics, or of all)."""
    with _statistics_file(folder) as file:
        described = _head(file)
        chosen = {name: described[name] for name in names or described}
        columns = [f"{name}:{column}" for name, about in chosen.items() for column in _columns(about)]
        table = file.read(columns)
        _check_columns(table, chosen)
        return described, {name: _rows(table, name, about) for name, about in chosen.items()}


@contextmanager
def _statistics_file(folder: Path) -> Iterator[Any]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = folder / "statistics.parquet"
    try:
        regular.check(path)
        with pq.ParquetFile(path) as file:  # read_table would import pandas
            check_expanded(path, file)
            yield file
    except (OSError, pa.ArrowException, KeyError, TypeError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise HarnessError(
            f"{path} cannot be read ({why}); expected the statistics of a run: {scored_anew(folder)}"
        ) from None


def scored_anew(folder: Path) -> str:
    """What mends the statistics of a run whose outputs are there."""
    return f"harness score {shlex.quote(str(folder))} computes them from its outputs"


def _head(file: Any) -> dict[str, Any]:
    """What is stored with the rows: by metric."""
    content = parsed((file.schema_arrow.metadata or {}).get(b"harness", b""))
    check_statistics(content)
    described: dict[str, Any] = content["metrics"]
    return described


def _columns(about: Mapping[str, Any]) -> list[str]:
    return [*about["columns"], *about.get("lists", ())]


def _parts(folder: Path, name: str, about: Mapping[str, Any], sizes: Iterable[int]) -> Iterator[Rows]:
    """The rows of a metric in parts of these sizes, holding no more than a part."""
    import pyarrow as pa

    columns = [f"{name}:{column}" for column in _columns(about)]
    with _statistics_file(folder) as file:
        batches = file.iter_batches(BLOCK, columns=columns)
        held: list[Any] = []
        for size in sizes:
            while sum(part.num_rows for part in held) < size:
                if (batch := next(batches, None)) is None:
                    raise ValueError("fewer rows than the run has")
                held.append(pa.Table.from_batches([batch]))
            whole = pa.concat_tables(held)
            part = whole.slice(0, size)
            _check_columns(part, {name: about})
            yield _rows(part, name, about)
            held = [whole.slice(size)]


def _check_columns(table: Any, described: Mapping[str, Any]) -> None:
    """Each statistic has a column of numbers, none of them infinite, and each list has one."""
    import pyarrow as pa

    for name, about in described.items():
        for column in (f"{name}:{column}" for column in (*about["columns"], *about.get("lists", ()))):
            if table.schema.names.count(column) != 1:
                raise ValueError(f"{table.schema.names.count(column)} columns {column}")
            table.column(column).validate(full=True)
        for column in (f"{name}:{column}" for column in about["columns"]):
            kind = table.schema.field(column).type
            if kind not in (pa.float64(), pa.int64()) or np.isinf(arrow.floats(table.column(column))).any():
                raise ValueError(f"not only finite numbers in the column {column}")


def _rows(table: Any, name: str, about: Mapping[str, Any]) -> Rows:
    """The rows of a metric, and the lists beside them."""
    floats = [arrow.floats(table.column(f"{name}:{column}")) for column in about["columns"]]
    lists = {}
    for column in about.get("lists", ()):
        try:
            lists[column] = arrow.lists(table.column(f"{name}:{column}"))
        except ValueError as error:
            raise ValueError(f"{name}:{column}: {error}") from None
    return Rows(np.column_stack(floats).reshape(-1, len(floats)), lists)
