"""`dataset=file dataset.path=dev.jsonl`: a .jsonl, .json, .csv, .tsv or .parquet file.

Fields `id`, `source` and `references` (a list, or one string); `contexts`, `reference_contexts` and `relevant` where
the data has them; every other field kept as metadata. Where the columns have other names, or a field is to be put
together: `dataset.columns.source=article 'dataset.columns.references=[summary1,summary2]' 'dataset.columns.id="{{ doc
}}-{{ line }}"'` (harness/inputs/rows.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from harness.inputs import files
from harness.inputs.blocks import examples_in_parts
from harness.inputs.parts import read_parts
from harness.inputs.rows import Columns, Reader
from harness.types import Dataset, Example, Examples

EXPECTED = "a data file (dataset.path)"


class FileDataset(Dataset):
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
        self.path = Path(path)
        self.name = name or self.path.stem
        self.columns = columns
        self.cluster = cluster
        self.quoting = quoting
        self.drop = drop
        self.columns_of()  # says now what is wrong with them

    def columns_of(self) -> Columns:
        """Where each field of an example comes from."""
        return Columns(self.columns, drop=self.drop or ())

    def examples(self) -> Iterator[Example]:
        return chain.from_iterable(self.blocks())

    def blocks(self) -> Iterator[Examples]:
        of_file = self.path, EXPECTED, self.quoting
        blank = self.path.suffix.lower() in (".csv", ".tsv")
        self._check_dropped()
        reader = Reader(partial(files.read_rows, *of_file), self.columns_of(), self.cluster, blank_is_absent=blank)
        yield from examples_in_parts(read_parts(*of_file), reader)

    def _check_dropped(self) -> None:
        """Refuses the name of a column that is not there: a misspelt one would show its answers to the system."""
        if not self.drop:
            return
        for place, row in files.read_rows(self.path, EXPECTED, self.quoting):
            for name in self.drop:
                if name not in row:
                    raise files.missing_field(place, name, row, " (dataset.drop)")
            return
