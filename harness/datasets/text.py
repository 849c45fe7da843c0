"""`dataset=text 'dataset.references=[ref0.txt,ref1.txt]' dataset.source=src.txt`: line-aligned plain text.

One example per line, ids are line numbers from 1; the source is optional.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from harness.inputs.text_lines import aligned_texts
from harness.types import BlockDataset, Examples, HarnessError, TextLists, Texts


class TextDataset(BlockDataset):
    def __init__(self, references: str | Sequence[str], source: str | None = None, name: str | None = None) -> None:
        self.references = [references] if isinstance(references, str) else list(references)
        self.source = source
        if not self.references and source is None:
            raise HarnessError("dataset=text has no files; expected dataset.references=[FILE,…] or dataset.source=FILE")
        self.name = name or Path(source or self.references[0]).stem

    def blocks(self) -> Iterator[Examples]:
        return by_line(self.source, self.references, {})


def by_line(source: str | None, references: Sequence[str], others: Mapping[str, str]) -> Iterator[Examples]:
    """An example for each line of aligned files: of sources, of references, of metadata by field."""
    paths = [*([source] if source else []), *references, *others.values()]
    number = 1
    for columns in aligned_texts(paths, "a text file of data set lines"):
        n = len(columns[0])
        sources, columns = (columns[0], columns[1:]) if source else (Texts.nulls(n), columns)
        yield Examples(
            Texts.of(list(map(str, range(number, number + n)))),
            sources,
            _side_by_side(columns[: len(references)], n),
            dict(zip(others, columns[len(references) :], strict=True)),
        )
        number += n


def _side_by_side(columns: Sequence[Texts], n: int) -> TextLists:
    """For each line a list of what the files have in it."""
    k = len(columns)
    if k < 2:
        return TextLists(columns[0] if k else Texts.nulls(0), np.arange(n + 1) * k)
    places = np.arange(k * n).reshape(k, n).T.ravel()
    return TextLists(Texts.joined(columns).taken(places), np.arange(n + 1) * k)
