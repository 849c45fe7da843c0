"""`system=predictions system.path=sysA.jsonl`: outputs that exist already.

A .txt file is aligned with the data set line by line; .jsonl, .json, .csv, .tsv and .parquet have the columns `id` and
`output` and are aligned by id; a null output is a failed example.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from harness import files
from harness.types import Example, HarnessError, Output, System


class Predictions(System):
    stored = True

    def __init__(self, path: str, quoting: bool = True) -> None:
        """`quoting=false`: quotes in a CSV or TSV file are plain characters."""
        self.path = Path(path)
        self.name = self.path.stem
        self.quoting = quoting
        self._outputs: dict[str, Output] = {}

    def key(self) -> str:
        return files.digest(["predictions", files.file_digest(files.existing(self.path, "a file of outputs"))])

    def align(self, ids: Sequence[str]) -> None:
        aligned = self.path.suffix.lower() == ".txt"
        self._outputs = self._by_line(ids) if aligned else self._by_id(ids)

    def _by_line(self, ids: Sequence[str]) -> dict[str, Output]:
        lines = files.read_lines(self.path, "a file of outputs (system.path)")
        if len(lines) != len(ids):
            raise HarnessError(
                f"{self.path} has {len(lines)} lines; expected {len(ids)}, one for each example of the data set"
            )
        return {id_: Output(line) for id_, line in zip(ids, lines, strict=True)}

    def _by_id(self, ids: Sequence[str]) -> dict[str, Output]:
        outputs: dict[str, Output] = {}
        places: dict[str, str] = {}
        for place, row in files.read_rows(self.path, "a file of outputs (system.path)", self.quoting):
            for field in ("id", "output"):
                if field not in row:
                    raise files.missing_field(place, field, row)
            id_ = files.identifier(row["id"], place, "id")
            if id_ in outputs:
                raise HarnessError(f"{place} has the id {id_!r}, already used in {places[id_]}; expected unique ids")
            outputs[id_], places[id_] = _output(row, place), place
        known = set(ids)
        missing = [id_ for id_ in ids if id_ not in outputs]
        extra = [id_ for id_ in outputs if id_ not in known]
        if missing or extra:
            found = []
            if missing:
                found.append(f"lacks {len(missing)} of the data set's ids ({files.some(missing)})")
            if extra:
                found.append(f"has {len(extra)} ids that the data set does not have ({files.some(extra)})")
            raise HarnessError(f"{self.path} {' and '.join(found)}; expected the data set's {len(ids)} ids, each once")
        return outputs

    def generate(self, batch: Sequence[Example]) -> list[Output]:
        return [self._outputs[example.id] for example in batch]


def _output(row: Mapping[str, Any], place: str) -> Output:
    """A null output is a failed example: kept, excluded from the scores and counted."""
    if row["output"] is None:
        return Output(None, files.text(str(row.get("error") or "the output is null"), place, "error"))
    return Output(files.text(row["output"], place, "output"))
