"""A stored run as a data set and a system, so that `harness score` can score it again from nothing but its folder.

examples.parquet holds the examples, their metadata and the raw outputs; manifest.json the names and keys, and which
fields are JSON. Whether an example lacks a field or has null there is not stored, so the data set's key is taken from
the manifest, not computed again.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from harness.inputs import arrow
from harness.store.example_table import COLUMNS, EACH, Expected, metadata_field, read_examples
from harness.store.finished import documents
from harness.store.textless import HASHED
from harness.types import (
    ABSENT,
    PASSAGES,
    BlockDataset,
    Contexts,
    Example,
    Examples,
    HarnessError,
    Outputs,
    System,
    TextLists,
    Texts,
)


class Stored:
    """The rows of a stored run, with the references that each was scored against, and what the system gave."""

    def __init__(self, folder: Path) -> None:
        manifest, content = documents(folder, ("scores.json", "examples.parquet", "manifest.json"))
        scores = content["scores"]
        self.hashed = manifest.get("texts") == HASHED
        """Whether it was packed without its texts, which are hashes then."""
        cluster = manifest["dataset"]["cluster"]
        table = read_examples(folder, Expected(None, () if cluster is None else (cluster,), tuple(scores)))
        columns = {
            name: arrow.whole(table.column(name))
            for name in table.column_names
            if name.removesuffix(EACH) not in scores
        }
        described = manifest["dataset"].get("fields", {})
        metadata = {metadata_field(name, scores): part for name, part in columns.items() if name not in COLUMNS}
        passages = {name: Contexts.of_array(columns[name]) for name in PASSAGES if name in columns}
        self.manifest: Mapping[str, Any] = manifest
        self.first = {field: about["first"] for field, about in described.items()}
        """The first row that has a field, where that is not the first of all."""
        self.cluster = None if cluster is None else metadata_field(cluster, scores)
        self.rows = Examples(
            Texts(columns["id"]),
            Texts(columns["source"]),
            TextLists(Texts(columns["references"].values), arrow.starts(columns["references"])),
            {field: _values(folder, field, part, described.get(field, {})) for field, part in metadata.items()},
            arrow.integers(table.column("repeat")).astype(np.int32),
            **{name: column for name, column in passages.items() if name != "contexts"},
        )
        raw = Texts(columns["raw_output"])
        errors = np.where(raw.present, "", np.array(list(Texts(columns["error"])), dtype=object))
        ends = columns["finish"].to_pylist() if "finish" in columns else []
        infos = [{} if end is None else {"finish": end} for end in ends] or None
        failures = Texts.of([error or None for error in errors])
        self.outputs = Outputs(raw, failures, infos, passages.get("contexts"))
        """With the contexts that count, be they the system's own or the data's."""


def _values(folder: Path, field: str, column: Any, about: Mapping[str, Any]) -> Sequence[Any]:
    """Of a field as the data set had them: text as text, JSON read, absent before the first row that has it."""
    texts = str(column.type) in ("string", "large_string")
    values: Sequence[Any] = Texts(column) if texts else column.to_pylist()
    if texts and about.get("json"):
        try:
            values = [None if text is None else json.loads(text) for text in values]
        except (ValueError, RecursionError):
            raise HarnessError(
                f"{folder}/examples.parquet: {field} is not the JSON that manifest.json says it is; expected the "
                "examples of a run"
            ) from None
    first = min(about.get("first", 0), len(values))
    return [*[ABSENT] * first, *values[first:]] if first > 0 else values


class StoredDataset(BlockDataset):
    def __init__(self, stored: Stored) -> None:
        self.stored = stored
        self.name: str = stored.manifest["dataset"]["name"]
        self.cluster = stored.cluster

    def blocks(self) -> Iterator[Examples]:
        rows = self.stored.rows
        yield rows.taken(np.flatnonzero(rows.repeat == 0))

    def about(self) -> Mapping[str, str]:
        return dict(self.stored.manifest["dataset"].get("about", {}))


class StoredSystem(System):
    stored = True

    def __init__(self, stored: Stored) -> None:
        self.name: str = stored.manifest["system"]["name"]
        self.repeats = int(stored.rows.repeat.max(initial=0)) + 1
        self._key: str | None = stored.manifest["system"]["key"]
        self._rows, self._outputs = stored.rows, stored.outputs
        self._about: Mapping[str, str] = stored.manifest["system"].get("about", {})
        keys = zip(stored.rows.ids, stored.rows.repeat.tolist(), strict=True)
        self._places = {key: place for place, key in enumerate(keys)}

    def key(self) -> str | None:
        return self._key

    def expand(self, examples: Sequence[Example]) -> Sequence[Example]:
        """The rows that were scored, with the references that each was scored against."""
        chosen = {example.id for example in examples}
        return self._rows.taken(np.flatnonzero([id_ in chosen for id_ in self._rows.ids]))

    def about(self) -> Mapping[str, str]:
        return self._about

    def generate(self, batch: Sequence[Example]) -> Outputs:
        rows = Examples.of(batch)
        keys = zip(rows.ids, rows.repeat.tolist(), strict=True)
        return self._outputs.taken(np.array([self._places[key] for key in keys], np.int64))
