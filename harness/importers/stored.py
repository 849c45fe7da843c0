"""A stored run as `harness export` writes it: its scores, and its examples row by row."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from harness.store import atomic
from harness.store.example_table import COLUMNS, read_examples
from harness.store.finished import documents
from harness.store.rescored import Stored
from harness.types import ABSENT, IMPORTED, HarnessError


@dataclass(frozen=True)
class StoredRun:
    """What is known of a finished run."""

    folder: Path
    manifest: Mapping[str, Any]
    scores: Mapping[str, Mapping[str, Any]]
    table: Any
    """examples.parquet."""

    @classmethod
    def of(cls, folder: Path) -> StoredRun:
        manifest, content = documents(folder)
        return cls(folder, manifest, content["scores"], read_examples(folder))

    @property
    def dataset(self) -> str:
        return str(self.manifest["dataset"]["name"])

    @property
    def dataset_key(self) -> str:
        return str(self.manifest["dataset"]["key"])

    @property
    def system(self) -> str:
        return str(self.manifest["system"]["name"])

    @property
    def model(self) -> str:
        """The system's name in full."""
        return str(self.manifest["system"].get("about", {}).get("model") or self.system)

    @property
    def key(self) -> str:
        """Of the result."""
        return str(self.manifest["result"])

    @property
    def version(self) -> str:
        return str(self.manifest["harness"])

    @property
    def ended(self) -> str:
        return str(self.manifest["ended"])

    @property
    def examples(self) -> int:
        return int(self.manifest["dataset"]["examples"])

    @property
    def repeats(self) -> int:
        return int(self.manifest["system"]["repeats"])

    @property
    def cluster(self) -> str | None:
        """The field by which examples belong together."""
        name = self.manifest["dataset"]["cluster"]
        return name if name in self.fields() else None

    def best(self, name: str) -> float:
        """What a score of an example is at best: 1, or 100 where one is above 1; infinite where lower is better."""
        if not self.scores[name]["higher_is_better"]:
            return math.inf
        return 100.0 if any((value or 0) > 1 for value in self.table[name].to_pylist()) else 1.0

    @property
    def headline(self) -> list[str]:
        """The headline scores that have a value for each example."""
        names = [name for name, score in self.scores.items() if "." not in name and score["estimate"] is not None]
        there = [name for name in names if name in self.table.column_names]
        if not there:
            raise HarnessError(f"{self.folder} has no score of single examples; expected one to export")
        return there

    def rows(self) -> Iterator[dict[str, Any]]:
        """The examples, one after the other."""
        for batch in self.table.to_batches():
            yield from batch.to_pylist()

    def fields(self) -> list[str]:
        """The columns of the data's own fields."""
        names = (name for name in self.table.column_names if not name.startswith(IMPORTED))
        return [name for name in names if name not in COLUMNS and name not in self.scores]

    def data_fields(self) -> Iterator[dict[str, Any]]:
        """Of each row the data's own fields, with the values that the data set had."""
        metadata = Stored(self.folder).rows.metadata
        columns = {name: column for name, column in metadata.items() if not name.startswith(IMPORTED)}
        for row in range(self.table.num_rows):
            values = ((name, column[row]) for name, column in columns.items())
            yield {name: value for name, value in values if value is not ABSENT}

    def write(self, folder: Path, contents: Mapping[Path, bytes]) -> list[Path]:
        """Writes files below a folder, each whole; none of another content is overwritten."""
        paths = [folder / name for name in contents]
        for path, content in zip(paths, contents.values(), strict=True):
            if path.is_file() and path.read_bytes() != content:
                raise HarnessError(f"{path} exists and has another content; expected another folder (-o DIR)")
        for path, content in zip(paths, contents.values(), strict=True):
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                atomic.write(path, content)
            except OSError as error:
                raise HarnessError(
                    f"{path} cannot be written ({error.strerror or error}); expected a writable folder (-o DIR)"
                ) from None
        return paths


def stamp(time: str) -> str:
    """Seconds since 1970 of a time of the manifest.

    >>> stamp("2026-11-18T01:37:33.250+00:00")
    '1794965853.25'
    """
    return str(datetime.fromisoformat(time).timestamp())


def export_csv(run: StoredRun, folder: Path) -> list[Path]:
    """`DATASET-SYSTEM.csv`: a row for each example and repeat, references as JSON, every score a column."""
    names = ["id", "repeat", "source", "references", "output", "error", *run.fields(), *run.scores]
    columns = [name for name in names if name in run.table.column_names]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    for row in run.rows():
        cells = (row[name] for name in columns)
        writer.writerow(
            json.dumps(cell, ensure_ascii=False) if isinstance(cell, list | dict) else cell for cell in cells
        )
    return run.write(folder, {Path(f"{run.folder.name}.csv"): text.getvalue().encode()})
