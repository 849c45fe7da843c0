"""The run folder: what a run leaves, and how it is read back.

scores.json         every score with its interval
examples.parquet    one row for each example: texts, error, metadata, a column a score
statistics.parquet  the rows of summable statistics; its metadata says which metric and options can score them
config.yaml         the composed config, secrets masked
manifest.json       what made it: content keys, signatures, versions, git commit, seed, machine, times
outputs.jsonl       the journal of generated outputs
"""

from __future__ import annotations

import io
import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from harness import files
from harness.store import atomic, shape
from harness.store.shape import SCHEMA
from harness.types import Array, Example, HarnessError, Metric, Output, RunResult, Score, Signature, Statistics

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ("id", "repeat", "source", "references", "output", "error", "raw_output", "finish")
Build = Callable[[str, Mapping[str, Any]], Any]


@contextmanager
def opened(folder: Path, patience: float = 0) -> Iterator[None]:
    """Makes the folder and keeps other processes from writing the same run.

    `patience`: seconds to wait for another process that writes it.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = open(folder / ".lock", "a")  # noqa: SIM115  (held until the run ends)
    except OSError as error:
        raise HarnessError(
            f"the run folder {folder} cannot be written ({error.strerror or error}); "
            "expected a writable folder (output_dir=DIR chooses another)"
        ) from None
    with lock:
        if os.name == "posix":
            import fcntl

            until = time.monotonic() + patience
            while True:
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except OSError as error:
                    if not isinstance(error, BlockingIOError) or time.monotonic() >= until:
                        raise HarnessError(
                            f"another process is writing the run folder {folder}; expected to be the only one"
                        ) from None
                time.sleep(0.05)
        atomic.sweep(folder)
        yield


def examples_table(
    examples: Sequence[Example],
    raw: Sequence[Output],
    processed: Sequence[Output],
    statistics: Mapping[str, Statistics],
    finish: Sequence[str | None] = (),
) -> Any:
    """The content of examples.parquet, as an Arrow table; `finish`, how outputs ended, is in it where any is known."""
    import pyarrow as pa

    text = pa.string()
    columns: dict[str, Any] = {
        "id": pa.array([e.id for e in examples], text),
        "repeat": pa.array([e.repeat for e in examples], pa.int32()),
        "source": pa.array([e.source for e in examples], text),
        "references": pa.array([list(e.references) for e in examples], pa.list_(text)),
        "output": pa.array([o.text for o in processed], text),
        "error": pa.array([o.error for o in processed], text),
        "raw_output": pa.array([o.text for o in raw], text),
    }
    if any(end is not None for end in finish):
        columns["finish"] = pa.array(finish, text)
    scores: dict[str, Any] = {}
    for one in statistics.values():
        values = one.metric.score_examples(one.rows)
        for i, name in enumerate(one.metric.score_names):
            if name in COLUMNS:
                raise HarnessError(f"a score of {one.metric.name} is called {name!r}, as a column is; rename it")
            scores[name] = pa.array(values[:, i], pa.float64(), from_pandas=True)
    fields = dict.fromkeys(field for example in examples for field in example.metadata)
    for field in fields:
        columns[metadata_name(field, scores)] = _metadata_column([e.metadata.get(field) for e in examples])
    return pa.table({**columns, **scores})


def metadata_name(field: str, scores: Iterable[str]) -> str:
    """The column of a metadata field: its own name unless that is taken."""
    return f"metadata.{field}" if field in COLUMNS or field in scores else field


def metadata_field(column: str, scores: Iterable[str]) -> str:
    """The metadata field of a column, the other way round."""
    field = column.removeprefix("metadata.")
    return field if metadata_name(field, scores) == column else column


def _metadata_column(values: list[Any]) -> Any:
    """An Arrow array; mappings, and values of several kinds in one column, become their JSON."""
    import pyarrow as pa

    try:
        if any(
            isinstance(v, Mapping) or (isinstance(v, list) and any(isinstance(x, Mapping) for x in v)) for v in values
        ):
            raise TypeError
        return pa.array(values)
    except (pa.ArrowException, TypeError, OverflowError):
        return pa.array([None if v is None else json.dumps(v, sort_keys=True, default=str) for v in values])


def contents(result: RunResult, table: Any, specs: Mapping[str, Mapping[str, Any]]) -> dict[str, bytes]:
    """The files of the result: same result, same bytes."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = {
        f"{name}:{column}": pa.array(one.rows[:, i], pa.float64(), from_pandas=True)
        for name, one in result.statistics.items()
        for i, column in enumerate(one.metric.columns)
    }
    described = {
        name: {
            "_target_": specs[name]["_target_"],
            "options": {k: v for k, v in specs[name].items() if k != "_target_"},
            "version": one.metric.version,
            "columns": list(one.metric.columns),
            "definition": dict(one.signature.definition),
            "provenance": dict(one.signature.provenance),
            "key": one.key,
        }
        for name, one in result.statistics.items()
    }
    metadata = {"harness": json.dumps({"schema": SCHEMA, "metrics": described})}
    rows = pa.table(columns, schema=pa.schema([(k, pa.float64()) for k in columns], metadata))
    found = {}
    for name, content in (("statistics.parquet", rows), ("examples.parquet", table)):
        buffer = io.BytesIO()
        pq.write_table(content, buffer, compression="zstd")
        found[name] = buffer.getvalue()
    return {**found, "scores.json": _json(scores_json(result))}


def intact(folder: Path, digests: Mapping[str, str]) -> bool:
    """Whether the result's files are those of these digests."""
    try:
        return all(files.file_digest(folder / name) == digest for name, digest in digests.items())
    except OSError:
        return False


def write(folder: Path, contents: Mapping[str, bytes], config: str, manifest: Mapping[str, Any]) -> None:
    """Writes what changed in the folder; each file is replaced whole, the scores last."""
    try:
        for name in ("statistics.parquet", "examples.parquet"):
            if name in contents:
                atomic.write(folder / name, contents[name])
        atomic.write(folder / "config.yaml", config.encode())
        write_manifest(folder, manifest)
        if "scores.json" in contents:
            atomic.write(folder / "scores.json", contents["scores.json"])
    except OSError as error:
        raise HarnessError(
            f"the run folder {folder} cannot be written ({error.strerror or error}); outputs generated so far are kept "
            "in its journal, run the same command again when there is room"
        ) from error


def copy_journal(source: Path, folder: Path) -> None:
    """So that `harness run` of the config that a run was scored by finds the outputs."""
    journal = source / "outputs.jsonl"
    if journal.exists() and not (folder / "outputs.jsonl").exists():
        atomic.write(folder / "outputs.jsonl", journal.read_bytes())


def write_manifest(folder: Path, manifest: Mapping[str, Any]) -> None:
    atomic.write(folder / "manifest.json", _json(manifest))


def scores_json(result: RunResult) -> dict[str, Any]:
    scores = {}
    for name, score in result.scores.items():
        fields = ("estimate", "low", "high", "level", "method", "resamples", "signature")
        scores[name] = {field: getattr(score, field) for field in fields}
        scores[name]["higher_is_better"] = score.higher_is_better
        optional = ("low_error", "high_error", "if_worst", "if_best", "note")
        scores[name] |= {field: value for field in optional if (value := getattr(score, field)) is not None}
    return {
        "schema": SCHEMA,
        "name": result.name,
        "examples": int((result.examples["repeat"] == 0).sum()),
        "failed": result.failed,
        "health": result.health,
        **({"stopped": result.stopped} if result.stopped else {}),
        "scores": scores,
    }


def _json(value: Any) -> bytes:
    return (json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()


@dataclass(frozen=True, slots=True)
class StoredRows:
    """A metric's rows of an earlier run, with what made them."""

    rows: Array
    provenance: Mapping[str, str]


def stored_rows(folder: Path) -> dict[str, StoredRows]:
    """Rows of an earlier run of this folder by their key; empty where there are none."""
    try:
        described, columns = _read_statistics(folder)
    except (OSError, HarnessError):
        return {}
    return {one["key"]: StoredRows(columns[name], one["provenance"]) for name, one in described.items()}


def _read_statistics(folder: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = folder / "statistics.parquet"
    try:
        with pq.ParquetFile(path) as file:  # read_table would import pandas
            table = file.read()
        described = json.loads(table.schema.metadata[b"harness"])["metrics"]
    except (pa.ArrowException, KeyError, TypeError, ValueError) as error:
        raise HarnessError(f"{path} cannot be read ({error}); expected the statistics of a run") from None
    rows = {
        name: np.column_stack([_floats(table.column(f"{name}:{c}")) for c in one["columns"]]).reshape(
            -1, len(one["columns"])
        )
        for name, one in described.items()
    }
    return described, rows


def _floats(column: Any) -> Array:
    """An Arrow column of float64 (n,), NaN where null; Arrow's own way imports pandas, which takes long."""
    array = column.combine_chunks()
    there, values = array.buffers()
    found = np.frombuffer(values, np.float64, len(array), array.offset * 8).copy()
    if there is not None:
        bits = np.unpackbits(np.frombuffer(there, np.uint8), bitorder="little")
        found[bits[array.offset : array.offset + len(array)] == 0] = np.nan
    return found


def read_manifest(folder: Path) -> dict[str, Any] | None:
    """The manifest, or None where there is no run, or what is there is no manifest."""
    try:
        manifest: dict[str, Any] = json.loads((folder / "manifest.json").read_text())
        shape.check_manifest_fields(manifest)
    except (OSError, ValueError):
        return None
    return manifest


def read(folder: Path, build: Build | None) -> RunResult:
    """A stored run; `build` makes a metric from its `_target_` and options. Without it there are no statistics."""
    manifest, stored = documents(folder)
    described, columns = _read_statistics(folder) if build is not None else ({}, {})
    statistics = {}
    for name, one in described.items():
        assert build is not None
        metric: Metric = build(one["_target_"], one["options"])
        if metric.version != one["version"] or list(metric.columns) != one["columns"]:
            raise HarnessError(
                f"{folder}/statistics.parquet: {name} has rows of version {one['version']}, this harness writes "
                f"version {metric.version}; expected the same (score the run again)"
            )
        signature = Signature(one["definition"], one["provenance"])
        statistics[name] = Statistics(metric, columns[name], signature, one["key"])
    return RunResult(
        name=stored["name"],
        dataset=manifest["dataset"]["name"],
        dataset_key=manifest["dataset"]["key"],
        system=manifest["system"]["name"],
        scores={name: Score(name=name, **{"note": None, **score}) for name, score in stored["scores"].items()},
        statistics=statistics,
        examples=lambda: _read_examples(folder),  # type: ignore[arg-type]  # read when it is looked at
        failed=stored["failed"],
        cluster=manifest["dataset"]["cluster"],
        strata=manifest["dataset"].get("strata"),
        manifest=manifest,
        path=folder,
        health=stored.get("health", {}),
        stopped=stored.get("stopped"),
    )


def documents(folder: Path, files: Sequence[str] = shape.FILES) -> tuple[dict[str, Any], dict[str, Any]]:
    """(manifest, scores) of a finished run, which has all these files."""
    missing = [name for name in files if not (folder / name).exists()]
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
        found: dict[str, Any] = json.loads(path.read_text())
    except OSError as error:
        raise HarnessError(f"{path} cannot be read ({error.strerror or error}); {expected}") from None
    except ValueError as error:
        raise HarnessError(f"{path} is not JSON ({error}); {expected}") from None
    try:
        check(found)
    except shape.NewerSchema as error:
        raise HarnessError(f"{path} has {error}; expected a run of this version, or a newer harness") from None
    except ValueError as error:
        raise HarnessError(f"{path} is not that of a finished run ({error}); {expected}") from None
    return found


def _read_examples(folder: Path) -> pd.DataFrame:
    import pandas as pd
    import pyarrow as pa

    path = folder / "examples.parquet"
    try:
        return pd.read_parquet(path)
    except (OSError, ValueError, pa.ArrowException) as error:
        raise HarnessError(f"{path} cannot be read ({error}); expected the examples of a run") from None


def stored_runs(runs: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    """(folder, manifest) of every finished run one or two levels below `runs`."""
    return ((path, manifest) for path, manifest in ended_runs(runs) if manifest is not None)


def ended_runs(runs: Path) -> Iterator[tuple[Path, dict[str, Any] | None]]:
    """The same with the damaged ones, whose manifest is None."""
    for pattern in ("*/manifest.json", "*/*/manifest.json"):
        for path in runs.glob(pattern):
            if (path.parent / "scores.json").exists():
                yield path.parent, read_manifest(path.parent)


def find(runs: Path, name: str) -> Path | None:
    """The newest finished run of that name, or the one with that MLflow run id, below `runs`."""
    found = [
        (manifest["ended"], path)
        for path, manifest in stored_runs(runs)
        if name in (manifest["name"], path.name, *manifest["mlflow_run_ids"])
    ]
    return max(found)[1] if found else None
