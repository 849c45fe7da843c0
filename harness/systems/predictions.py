"""`system=predictions system.path=sysA.jsonl`: outputs that exist already.

A .txt file is aligned with the data set line by line; .jsonl, .json, .csv, .tsv and .parquet have the columns `id` and
`output` and are aligned by id; a null output is a failed example. With a column `repeat` (0, 1, …) each example has
several outputs, all of them the same number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from harness.inputs import files
from harness.types import Example, HarnessError, Output, System


class Predictions(System):
    stored = True

    def __init__(self, path: str, quoting: bool = True) -> None:
        """`quoting=false`: quotes in a CSV or TSV file are plain characters."""
        self.path = Path(path)
        self.name = self.path.stem
        self.quoting = quoting
        self._outputs: dict[tuple[str, int], Output] = {}

    def key(self) -> str:
        return files.digest(["predictions", files.file_digest(files.existing(self.path, "a file of outputs"))])

    def align(self, ids: Sequence[str]) -> None:
        aligned = self.path.suffix.lower() == ".txt"
        self._outputs = self._by_line(ids) if aligned else self._by_id(ids)

    def _by_line(self, ids: Sequence[str]) -> dict[tuple[str, int], Output]:
        lines = files.read_lines(self.path, "a file of outputs (system.path)")
        if len(lines) != len(ids):
            raise HarnessError(
                f"{self.path} has {len(lines)} lines; expected {len(ids)}, one for each example of the data set"
            )
        return {(id_, 0): Output(line) for id_, line in zip(ids, lines, strict=True)}

    def _by_id(self, ids: Sequence[str]) -> dict[tuple[str, int], Output]:
        outputs: dict[tuple[str, int], Output] = {}
        places: dict[tuple[str, int], str] = {}
        for place, row in files.read_rows(self.path, "a file of outputs (system.path)", self.quoting):
            for field in ("id", "output"):
                if field not in row:
                    raise files.missing_field(place, field, row)
            key = files.identifier(row["id"], place, "id"), _repeat(row, place)
            if key in outputs:
                which = f"the id {key[0]!r}" + (f" with the repeat {key[1]}" if "repeat" in row else "")
                raise HarnessError(f"{place} has {which}, already used in {places[key]}; expected it once")
            outputs[key], places[key] = _output(row, place), place
        known, answered = set(ids), {id_ for id_, _ in outputs}
        missing = [id_ for id_ in ids if id_ not in answered]
        extra = sorted(answered - known)
        if missing or extra:
            faults = []
            if missing:
                faults.append(f"lacks {len(missing)} of the data set's ids ({files.some(missing)})")
            if extra:
                faults.append(f"has {len(extra)} ids that the data set does not have ({files.some(extra)})")
            raise HarnessError(f"{self.path} {' and '.join(faults)}; expected the data set's {len(ids)} ids, each once")
        self.repeats = max((repeat for _, repeat in outputs), default=0) + 1
        if len(outputs) != self.repeats * len(ids):
            id_, repeat = next((i, r) for i in ids for r in range(self.repeats) if (i, r) not in outputs)
            raise HarnessError(
                f"{self.path} lacks the repeat {repeat} of {id_!r}; "
                f"expected the repeats 0 to {self.repeats - 1} of each id"
            )
        return outputs

    def generate(self, batch: Sequence[Example]) -> list[Output]:
        return [self._outputs[example.id, example.repeat] for example in batch]


def _repeat(row: Mapping[str, Any], place: str) -> int:
    """Which output of its example a row holds; in CSV a number is text."""
    repeat = row.get("repeat", 0)
    if isinstance(repeat, str) and repeat.isdecimal():
        repeat = int(repeat)
    if not isinstance(repeat, int) or isinstance(repeat, bool) or repeat < 0:
        raise HarnessError(f"{place}: 'repeat' is {repeat!r}; expected a whole number from 0")
    return repeat


def _output(row: Mapping[str, Any], place: str) -> Output:
    """A null output is a failed example: kept, excluded from the scores and counted."""
    if row["output"] is None:
        return Output(None, files.text(str(row.get("error") or "the output is null"), place, "error"))
    return Output(files.text(row["output"], place, "output"))
