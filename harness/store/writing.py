"""examples.parquet and statistics.parquet, written block by block beside what is in the folder, which they replace when
all is done: a kill at any moment leaves the old files or the new ones."""

from __future__ import annotations

import json
import os
import tempfile
from collections import deque
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.inputs import arrow, files
from harness.store import atomic
from harness.store.example_table import COLUMNS
from harness.store.shape import SCHEMA
from harness.types import HarnessError, Metric, Rows, Signature

if TYPE_CHECKING:
    import pyarrow as pa

EXAMPLES, STATISTICS = "examples.parquet", "statistics.parquet"
AHEAD = 2
"""Blocks that wait for the disk while others are computed."""


class Writer:
    """Used as a context, which leaves nothing behind unless `replace` was called. Blocks are compressed and written by
    a thread of their own, in their order: half of a run's time would be spent waiting for that."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._files: dict[str, _File] = {}
        self._thread = ThreadPoolExecutor(1, "writing")
        self._waiting: deque[Future[None]] = deque()

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, *exception: object) -> None:
        self._thread.shutdown(cancel_futures=True)
        for file in self._files.values():
            file.discard()

    def add(self, examples: pa.Table, statistics: pa.Table) -> None:
        """The next block; what went wrong with an earlier one is raised here."""
        self._waiting.append(self._thread.submit(self._write, examples, statistics))
        self._wait(AHEAD)

    def digests(self) -> dict[str, str]:
        """Of the files, to which nothing more is added."""
        self._wait(0)
        try:
            return {name: file.finished() for name, file in self._files.items()}
        except OSError as error:
            raise cannot_be_written(self.folder, error) from error

    def _write(self, examples: pa.Table, statistics: pa.Table) -> None:
        for name, table in ((EXAMPLES, examples), (STATISTICS, statistics)):
            if name not in self._files:
                self._files[name] = _File(self.folder / name, table.schema)
            self._files[name].add(table)

    def _wait(self, left: int) -> None:
        """Until no more than `left` blocks are to be written."""
        while len(self._waiting) > left:
            try:
                self._waiting.popleft().result()
            except OSError as error:
                raise cannot_be_written(self.folder, error) from error

    def replace(self) -> None:
        """Puts the files in their place."""
        for name in (STATISTICS, EXAMPLES):
            self._files.pop(name).replace()


class _File:
    def __init__(self, path: Path, schema: pa.Schema) -> None:
        import pyarrow.parquet as pq

        self.path = path
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=atomic.SUFFIX)
        self.temporary = Path(name)
        self._handle = os.fdopen(handle, "wb")
        self.schema = schema
        repetitive = [name for name in schema.names if name not in COLUMNS or name in ("error", "finish")]
        self._writer = pq.ParquetWriter(self._handle, schema, compression="zstd", use_dictionary=repetitive)

    def add(self, table: pa.Table) -> None:
        import pyarrow as pa

        try:
            # a cast that changes nothing would still load all of Arrow's functions
            fitting = table if table.schema.equals(self.schema) else table.cast(self.schema)
        except pa.ArrowInvalid:
            if table.num_rows < 2:
                raise
            middle = table.num_rows // 2  # texts of more bytes than a column of a row group holds
            self.add(table.slice(0, middle))
            self.add(table.slice(middle))
            return
        self._writer.write_table(fitting, row_group_size=max(table.num_rows, 1))

    def finished(self) -> str:
        self._writer.close()
        self._handle.flush()
        os.fsync(self._handle.fileno())
        self._handle.close()
        return files.file_digest(self.temporary)

    def replace(self) -> None:
        atomic.replace(self.temporary, self.path)

    def discard(self) -> None:
        for writing in (self._writer, self._handle) if not self._handle.closed else ():
            with suppress(OSError):  # there is no room for the end of the file either
                writing.close()
        self.temporary.unlink(missing_ok=True)


def statistics_table(
    metrics: Mapping[str, Metric], rows: Mapping[str, Rows], head: Mapping[str, Mapping[str, Any]]
) -> pa.Table:
    """A block of statistics.parquet; `head` says of each metric what makes and scores its rows."""
    import pyarrow as pa

    columns: dict[str, pa.Array] = {}
    for name, metric in metrics.items():
        part = rows[name]
        for i, column in enumerate(metric.columns):
            stored = arrow.counts if column in metric.counted else arrow.numbers
            columns[f"{name}:{column}"] = stored(part.values[:, i])
        columns |= {f"{name}:{column}": arrow.number_lists(part.lists[column]) for column in metric.lists}
    metadata = {"harness": json.dumps({"schema": SCHEMA, "metrics": head})}
    return pa.table(columns).replace_schema_metadata(metadata)


def described(metric: Metric, signature: Signature, key: str, spec: Mapping[str, Any]) -> dict[str, Any]:
    """What makes and scores a metric's rows, for the head of statistics.parquet."""
    return {
        "_target_": spec["_target_"],
        "options": {k: v for k, v in spec.items() if k != "_target_"},
        "version": metric.version,
        "columns": list(metric.columns),
        "lists": list(metric.lists),
        "definition": dict(signature.definition),
        "provenance": dict(signature.provenance),
        "key": key,
    }


def cannot_be_written(folder: Path, error: OSError) -> HarnessError:
    return HarnessError(
        f"the run folder {folder} cannot be written ({error.strerror or error}); outputs generated so far are kept "
        "in its journal, run the same command again when there is room"
    )
