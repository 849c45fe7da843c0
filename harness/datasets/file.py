"""`dataset=file dataset.path=dev.jsonl`: a .jsonl, .json, .csv, .tsv or .parquet file.

Fields `id`, `source` and `references` (a list, or one string); `contexts`, `reference_contexts` and `relevant` where
the data has them; every other field kept as metadata. Where the columns have other names, or a field is to be put
together: `dataset.columns.source=article 'dataset.columns.references=[summary1,summary2]' 'dataset.columns.id="{{ doc
}}-{{ line }}"'` (harness/inputs/rows.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from harness.inputs import files, remote
from harness.inputs.blocks import examples_in_parts
from harness.inputs.parts import read_parts
from harness.inputs.row_index import RowIndex, Span
from harness.inputs.rows import Columns, Reader
from harness.types import BlockDataset, Examples

EXPECTED = "a data file (dataset.path)"


class FileDataset(BlockDataset):
    def __init__(
        self,
        path: str,
        columns: Mapping[str, Any] | None = None,
        cluster: str | None = None,
        quoting: bool = True,
        name: str | None = None,
        drop: Sequence[str] | None = None,
    ) -> None:
        """`quoting=false`: quotes in a CSV or TSV file are plain characters. `drop`: columns that are no part of the
        data, such as the answers in a file that holds both."""
        self._given = path
        self.name = name or remote.stem_of(path)
        self.columns = columns
        self.cluster = cluster
        self.quoting = quoting
        self.drop = drop
        self._index: RowIndex | None = None
        self.columns_of()  # says now what is wrong with them

    @cached_property
    def path(self) -> Path:
        """On this machine."""
        return remote.on_disk(self._given, EXPECTED)

    def columns_of(self) -> Columns:
        """Where each field of an example comes from."""
        return Columns(self.columns, drop=self.drop or ())

    def blocks(self) -> Iterator[Examples]:
        of_file = self.path, EXPECTED, self.quoting
        self._check_dropped()
        reader = self._reader()
        if not self.indexed:
            yield from examples_in_parts(read_parts(*of_file), reader)
            return
        parts = read_parts(*of_file)
        self._index = RowIndex(files.existing(self.path, EXPECTED), self._given)
        for part in parts:
            before = reader.number
            yield from examples_in_parts([part], reader)
            self._index.add(part, reader.number - before)

    def _check_dropped(self) -> None:
        """Refuses the name of a column that is not there: a misspelt one would show its answers to the system."""
        if not self.drop:
            return
        for place, row in files.read_rows(self.path, EXPECTED, self.quoting):
            for name in self.drop:
                if name not in row:
                    raise files.missing_field(place, name, row, " (dataset.drop)")
            return

    def _rows(self) -> Iterator[files.Row]:
        return files.read_rows(self.path, EXPECTED, self.quoting)

    def _reader(self) -> Reader:
        blank = remote.suffix_of(self._given) in (".csv", ".tsv")
        return Reader(self._rows, self.columns_of(), self.cluster, blank_is_absent=blank)

    def located(self, first: int, rows: int) -> Span | str:
        return super().located(first, rows) if self._index is None else self._index.span(first, rows)

    def read_located(self, place: Span) -> Examples:
        examples = Examples.joined(list(examples_in_parts(place.parts(), self._reader())))
        return examples[place.skip : place.skip + place.rows]
