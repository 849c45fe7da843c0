"""`dataset=beir dataset.path=scifact`: a folder as BEIR has it: corpus.jsonl, queries.jsonl and qrels/SPLIT.tsv.

An example is a query that was judged in the split, in the order of queries.jsonl: its `_id`, its `text` (`source`), and
the grades of judged documents (`relevant`). The relevant documents, title and text as BEIR joins them, are its
`reference_contexts`; `dataset.corpus=false` leaves them out, and the corpus unread. No system sees either of the two.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from harness.datasets.trec import judged_blocks
from harness.inputs import files
from harness.inputs.trec_files import QRELS, Table, unique
from harness.types import BlockDataset, Contexts, Examples, HarnessError, Texts
from harness.types.shown import counted
from harness.types.texts import starts_of

HEADER = ("query-id", "corpus-id", "score")


class BeirDataset(BlockDataset):
    def __init__(self, path: str, split: str = "test", corpus: bool = True, name: str | None = None) -> None:
        self.path, self.split, self.corpus = Path(path), split, corpus
        self.name = name or self.path.resolve().name

    def blocks(self) -> Iterator[Examples]:
        judged = self._judged()
        queries = self._queries(judged)
        ids, texts = (Texts.of(list(column)) for column in (queries.keys(), queries.values()))
        blocks = judged_blocks(judged, ids, texts, {})
        if not self.corpus:
            yield from blocks
            return
        documents = self._documents(judged)
        yield from (replace(block, reference_contexts=_passages(block.relevant, documents)) for block in blocks)

    def _file(self, name: str) -> Path:
        return files.existing(self.path / name, "a folder with corpus.jsonl, queries.jsonl and qrels/SPLIT.tsv")

    def _judged(self) -> Table:
        path = self._file(f"qrels/{self.split}.tsv")
        lines = [_line(row, place) for place, row in files.read_rows(path, "", quoting=False)]
        if not lines:
            raise HarnessError(f"{path} is empty; expected lines of {', '.join(HEADER)} after one that says so")
        queries, documents = Texts.of([line[1] for line in lines]), Texts.of([line[2] for line in lines])
        return unique(Table.of(queries, documents, np.array([line[3] for line in lines])), iter(lines))

    def _queries(self, judged: Table) -> dict[str, str]:
        """The texts of those that were judged, by id, in the order of their file."""
        path = self._file("queries.jsonl")
        wanted = set(judged.queries)
        queries = {id_: text for _, id_, text in _texts(path, wanted)}
        if missing := [str(query) for query in judged.queries if query not in queries]:
            raise HarnessError(
                f"{path} lacks {len(missing)} of the queries that qrels/{self.split}.tsv judges "
                f"({files.some(missing)}); expected all of them"
            )
        return queries

    def _documents(self, judged: Table) -> dict[str, str]:
        """The texts of relevant documents by id, after a check that all judged ones are in the corpus."""
        path = self._file("corpus.jsonl")
        wanted = set(judged.documents)
        documents = {id_: text for _, id_, text in _texts(path, wanted)}
        if missing := [str(id_) for id_ in dict.fromkeys(judged.documents) if id_ not in documents]:
            raise HarnessError(
                f"qrels/{self.split}.tsv judges {counted(len(missing), 'document')} that {path} does not have "
                f"({files.some(missing)}); expected ids of the corpus, or dataset.corpus=false"
            )
        return documents


def _line(row: Mapping[str, Any], place: str) -> tuple[str, str, str, float]:
    """(place, query, document, grade)."""
    for name in HEADER:
        if name not in row:
            raise files.missing_field(place, name, row, f" (a line before it must have {', '.join(HEADER)})")
    query, document, grade = (row[name] for name in HEADER)
    try:
        return place, query, document, QRELS.value(grade)
    except ValueError:
        raise HarnessError(f"{place} has the score {grade!r}; expected a whole number") from None


def _texts(path: Path, wanted: set[Any]) -> Iterator[tuple[str, str, str]]:
    """(place, id, title and text) of the rows that are wanted."""
    for place, row in files.read_rows(path, ""):
        if "_id" not in row:
            raise files.missing_field(place, "_id", row)
        id_ = files.identifier(row["_id"], place, "_id")
        if id_ in wanted:
            text = files.text(row.get("text"), place, "text")
            title = row.get("title")
            yield place, id_, f"{files.text(title, place, 'title')} {text}".strip() if title else text


def _passages(judged: Contexts | None, documents: Mapping[str, str]) -> Contexts | None:
    """The relevant ones of each example, with their texts."""
    if judged is None:
        return None
    relevant = judged.scores >= 1
    before = starts_of(relevant)
    ids = judged.ids.taken(np.flatnonzero(relevant))
    texts = Texts.of([documents[str(id_)] for id_ in ids])
    return Contexts(ids, texts, np.full(len(ids), np.nan), before[judged.starts], judged.given)
