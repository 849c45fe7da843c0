"""`dataset=text 'dataset.references=[ref0.txt,ref1.txt]' dataset.source=src.txt`: line-aligned plain text.

One example per line, ids are line numbers from 1; the source is optional.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from harness.inputs import files
from harness.types import Dataset, Example, HarnessError


class TextDataset(Dataset):
    def __init__(self, references: str | Sequence[str], source: str | None = None, name: str | None = None) -> None:
        self.references = [references] if isinstance(references, str) else list(references)
        self.source = source
        if not self.references and source is None:
            raise HarnessError("dataset=text has no files; expected dataset.references=[FILE,…] or dataset.source=FILE")
        self.name = name or Path(source or self.references[0]).stem

    def examples(self) -> Iterator[Example]:
        paths = ([self.source] if self.source else []) + self.references
        for number, line in enumerate(aligned(paths), start=1):
            source, references = (line[0], line[1:]) if self.source else (None, line)
            yield Example(str(number), source, references)


def aligned(paths: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Line by line of several files, after a check that they have the same number of lines."""
    expected = "a text file of data set lines"
    lengths = [files.count_lines(path, expected) for path in paths]
    for path, length in zip(paths, lengths, strict=True):
        if length != lengths[0]:
            raise HarnessError(
                f"{path} has {length} lines, {paths[0]} has {lengths[0]}; expected the same number in each"
            )
    yield from zip(*(files.stream_lines(path, expected) for path in paths), strict=True)
