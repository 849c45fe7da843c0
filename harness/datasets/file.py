"""`dataset=file dataset.path=dev.jsonl`: a .jsonl, .json, .csv, .tsv or .parquet file.

Fields `id`, `source` and `references` (a list, or one string), every other field kept as metadata. Where the columns
have other names, or a field is to be put together: `dataset.columns.source=article
'dataset.columns.references=[summary1,summary2]' 'dataset.columns.id="{{ doc }}-{{ line }}"'` (harness/inputs/rows.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from harness.inputs import files
from harness.inputs.blocks import examples_in_parts
from harness.inputs.parts import read_parts
from harness.inputs.rows import Columns, Reader
from harness.types import Dataset, Example, Examples


class FileDataset(Dataset):
    def __init__(
        self,
        path: str,
        columns: Mapping[str, Any] | None = None,
        cluster: str | None = None,
        quoting: bool = True,
        name: str | None = None,
    ) -> None:
        """`quoting=false`: quotes in a CSV or TSV file are plain characters."""
        Columns(columns)  # says now what is wrong with them
        self.path = Path(path)
        self.name = name or self.path.stem
        self.columns = columns
        self.cluster = cluster
        self.quoting = quoting

    def examples(self) -> Iterator[Example]:
        return chain.from_iterable(self.blocks())

    def blocks(self) -> Iterator[Examples]:
        of_file = self.path, "a data file (dataset.path)", self.quoting
        blank = self.path.suffix.lower() in (".csv", ".tsv")
        reader = Reader(partial(files.read_rows, *of_file), self.columns, self.cluster, blank_is_absent=blank)
        yield from examples_in_parts(read_parts(*of_file), reader)
