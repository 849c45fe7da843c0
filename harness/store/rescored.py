"""A stored run as a data set and a system, so that `harness score` can score it again from nothing but its folder.

examples.parquet holds the examples, their metadata and the raw outputs; manifest.json the names and keys. Nested
metadata is text there, so the data set's key is taken from the manifest, not computed again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from harness.store.example_table import COLUMNS, Expected, metadata_field, read_examples
from harness.store.finished import documents
from harness.types import Dataset, Example, Output, System


class Stored:
    """The rows of a stored run."""

    def __init__(self, folder: Path) -> None:
        manifest, content = documents(folder, ("scores.json", "examples.parquet", "manifest.json"))
        scores = content["scores"]
        cluster = manifest["dataset"]["cluster"]
        table = read_examples(folder, Expected(None, () if cluster is None else (cluster,), tuple(scores)))
        self.manifest: Mapping[str, Any] = manifest
        self.columns = {name: table.column(name).to_pylist() for name in table.column_names if name not in scores}
        self.fields = {name: metadata_field(name, scores) for name in self.columns if name not in COLUMNS}
        self.cluster = None if cluster is None else metadata_field(cluster, scores)

    def rows(self) -> Iterator[tuple[Example, Output]]:
        """Each example and repeat with its raw output."""
        columns = self.columns
        finish = columns.get("finish") or [None] * len(columns["id"])
        for i, id_ in enumerate(columns["id"]):
            metadata = {field: columns[name][i] for name, field in self.fields.items()}
            references = tuple(columns["references"][i])
            text, error = columns["raw_output"][i], columns["error"][i]
            info = {} if finish[i] is None else {"finish": finish[i]}
            output = Output(text, None, info) if text is not None else Output(None, error, info)
            yield Example(id_, columns["source"][i], references, metadata, columns["repeat"][i]), output


class StoredDataset(Dataset):
    def __init__(self, stored: Stored) -> None:
        self.stored = stored
        self.name: str = stored.manifest["dataset"]["name"]
        self.cluster = stored.cluster

    def examples(self) -> Iterator[Example]:
        return (example for example, _ in self.stored.rows() if example.repeat == 0)

    def about(self) -> Mapping[str, str]:
        return dict(self.stored.manifest["dataset"].get("about", {}))


class StoredSystem(System):
    stored = True

    def __init__(self, stored: Stored) -> None:
        self.name: str = stored.manifest["system"]["name"]
        self.repeats = max(stored.columns["repeat"]) + 1
        self._key: str | None = stored.manifest["system"]["key"]
        self._rows = list(stored.rows())
        self._outputs = {(example.id, example.repeat): output for example, output in self._rows}
        self._about: Mapping[str, str] = stored.manifest["system"].get("about", {})

    def key(self) -> str | None:
        return self._key

    def expand(self, examples: Sequence[Example]) -> list[Example]:
        """The rows that were scored, with the references that each was scored against."""
        chosen = {example.id for example in examples}
        return [row for row, _ in self._rows if row.id in chosen]

    def about(self) -> Mapping[str, str]:
        return self._about

    def generate(self, batch: Sequence[Example]) -> list[Output]:
        return [self._outputs[example.id, example.repeat] for example in batch]
