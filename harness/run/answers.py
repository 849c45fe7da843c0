"""A system's answers: the rows of a data set with their outputs, before and after postprocessing, block by block.

What is computed later depends on the answers by their keys, which are made here as the answers come.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.inputs.hashing import Content, Hashes, hashed, hashed_contexts, hashed_lists, hashed_rows, hashed_values
from harness.inputs.kept import Kept
from harness.postprocess import Postprocess
from harness.store.example_table import Layout
from harness.types import ABSENT, PASSAGES, Batch, Dataset, Example, Examples, Output, Outputs, System, TextLists, Texts
from harness.types.text_columns import blocks_of, retrieved

LONGEST = 10_000_000
"""Characters of an output; a megabyte is a novel, and beyond this it is nobody's answer."""
Reads = tuple[str, ...]
"""The columns that a metric's rows depend on."""


@dataclass(frozen=True)
class Answered:
    """A block of rows and their outputs."""

    rows: Examples
    raw: Outputs
    processed: Outputs

    def __len__(self) -> int:
        return len(self.rows)

    def read_by(self, reads: Iterable[Reads]) -> Answered:
        """With the columns alone that any of these metrics reads, and the ids, for messages: what a replica is sent."""
        columns = set(chain.from_iterable(reads))
        n, rows = len(self), self.rows
        sources = rows.sources if "sources" in columns else Texts.nulls(n)
        references = (
            rows.references if "references" in columns else TextLists(Texts.nulls(0), np.zeros(n + 1, np.int64))
        )
        metadata = {name: column for name, column in rows.metadata.items() if name in columns}
        passages = {name: getattr(rows, name) for name in PASSAGES if name in columns}
        outputs = Outputs(
            self.processed.texts, Texts.nulls(n), None, self.raw.contexts if "contexts" in columns else None
        )
        return Answered(Examples(rows.ids, sources, references, metadata, **passages), outputs, outputs)

    def batch(self, reads: Reads) -> Batch:
        """What a metric that reads these columns scores: the outputs that did not fail, with what belongs to each."""
        good, contexts = self.processed.good, self.raw.contexts if "contexts" in reads else None
        if len(good) == len(self):
            return Batch.of(self.processed.texts, self.rows, reads, contexts)
        contexts = None if contexts is None else contexts.taken(good)
        return Batch.of(self.processed.texts.taken(good), self.rows.taken(good), reads, contexts)


@dataclass(frozen=True)
class Located:
    """Rows of a data set and stored outputs for them, in files that are read block by block."""

    dataset: Dataset
    system: System

    def block(self, first: int, rows: int) -> tuple[Any, Any] | str:
        """Where a block is; a text that says why where it cannot be said."""
        places = self.dataset.located(first, rows), self.system.located(first, rows)
        return next((place for place in places if isinstance(place, str)), places)


class Answers:
    """The answers to all rows, in their order."""

    def __init__(self, rows: Kept[Examples], reads: Iterable[Reads] = (), keyed: bool = False) -> None:
        """`reads`: the sets of columns that will be scored. `keyed`: what the system gave is hashed as well."""
        self.rows = rows
        self._contents = {columns: Content() for columns in reads}
        self.layout = Layout()
        self.outputs = Content() if keyed else None
        """Of what the system gave."""
        self._raw = Kept[Outputs]()
        self._processed: Kept[Outputs] | None = None
        self._failed: list[NDArray[np.int64]] = []
        self.located: Located | None = None
        """Where rows and their outputs are in files, for whoever reads them elsewhere."""

    @classmethod
    def of(
        cls,
        rows: Sequence[Example],
        raw: Sequence[Output],
        postprocess: Postprocess | None = None,
    ) -> Answers:
        """Of rows and outputs in memory, which need no keys."""
        kept = Kept[Examples]()
        for block in blocks_of(rows):
            kept.append(block)
        answers, first = cls(kept), 0
        for block in kept.blocks():
            answers.add(block, Outputs.of(raw[first : first + len(block)]), postprocess)
            first += len(block)
        return answers

    def add(self, rows: Examples, raw: Outputs, postprocess: Postprocess | None = None) -> None:
        """The outputs of the next block."""
        processed = bounded(raw if postprocess is None else postprocess.column(raw))
        if processed is not raw and self._processed is None:  # until now they were the same
            self._processed = Kept[Outputs]()
            for earlier in self._raw.blocks():
                self._processed.append(earlier)
        before = len(self._raw)
        self._raw.append(raw)
        if self._processed is not None:
            self._processed.append(processed)
        self._failed.append(before + np.flatnonzero(~processed.texts.present))
        self.layout.see(rows, raw)
        self._hash(Answered(rows, raw, processed))
        if self.outputs is not None:
            self.outputs.add(_hashed_outputs(rows, raw))

    def __len__(self) -> int:
        return len(self._raw)

    def blocks(self) -> Iterator[Answered]:
        processed = self._raw if self._processed is None else self._processed
        for rows, raw, after in zip(self.rows.blocks(), self._raw.blocks(), processed.blocks(), strict=True):
            yield Answered(rows, raw, raw if self._processed is None else after)

    def whole(self) -> Answered:
        """All of them as one block, for whoever cannot do with less."""
        blocks = list(self.blocks())
        rows = Examples.joined([block.rows for block in blocks])
        raw, processed = (Outputs.joined([getattr(block, name) for block in blocks]) for name in ("raw", "processed"))
        return Answered(rows, raw, processed)

    @property
    def failed(self) -> NDArray[np.int64]:
        """The places of rows without an output to score."""
        return np.concatenate(self._failed) if self._failed else np.empty(0, np.int64)

    def raw(self) -> Iterator[Outputs]:
        """What the system gave, block by block."""
        return self._raw.blocks()

    def key(self, reads: Reads) -> str | None:
        """Of what is in these columns and of which rows can be scored; None where nobody said that they would be."""
        content = self._contents.get(reads)
        return None if content is None else content.ordered

    def _hash(self, block: Answered) -> None:
        for columns, hashes in hashed_reads(block, self._contents):
            self._contents[columns].add(hashes)


def hashed_reads(block: Answered, reads: Iterable[Reads]) -> Iterator[tuple[Reads, Hashes]]:
    """For each of these sets of columns the rows' hashes (n, 2), zeros for rows that cannot be scored."""
    hashes: dict[str, Hashes] = {}
    present = block.processed.texts.present[:, None]
    for columns in reads:
        for name in columns:
            if name not in hashes:
                hashes[name] = _hashed_column(block, name)
        yield columns, hashed_rows(*(hashes[name] for name in columns)) * present


def _hashed_outputs(rows: Examples, raw: Outputs) -> Hashes:
    columns = [hashed(rows.ids, "id"), hashed(raw.texts, "output"), hashed(raw.errors, "error")]
    if rows.repeats is not None and rows.repeats.any():  # a first output has the same hash beside others and alone
        columns.append(hashed_values(rows.repeats.tolist(), "repeat") * (rows.repeats != 0)[:, None])
    if raw.infos is not None:
        columns.append(hashed(Texts.of(raw.finish), "finish"))
    if (retrieved := hashed_contexts(raw.contexts, "contexts")) is not None:
        columns.append(retrieved)
    return hashed_rows(*columns)


def _hashed_column(block: Answered, name: str) -> Hashes:
    if name == "outputs":
        return hashed(block.processed.texts, name)
    if name == "references":
        return hashed_lists(block.rows.references, name)
    if name == "sources":
        return hashed(block.rows.sources, name)
    if name == "id":
        return hashed(block.rows.ids, name)
    if name in PASSAGES:
        passages = {**block.rows.passages, "contexts": retrieved(block.rows, block.raw.contexts)}
        hashes = hashed_contexts(passages.get(name), name)
        return np.zeros((len(block), 2), np.uint64) if hashes is None else hashes
    column = block.rows.metadata.get(name, [None] * len(block))
    if not isinstance(column, Texts):  # to a metric, a field that an example does not have is one that is null
        column = [None if value is ABSENT else value for value in column]
    return hashed_values(column, name)


def bounded(outputs: Outputs) -> Outputs:
    """An output that is too long to be scored has failed."""
    if not len(outputs) or np.diff(outputs.texts.utf8[1]).max() <= LONGEST:
        return outputs
    return Outputs.of([_bounded(output) for output in outputs])


def _bounded(output: Output) -> Output:
    if output.text is None or len(output.text) <= LONGEST:
        return output
    return Output(None, f"the output has {len(output.text):,} characters; expected at most {LONGEST:,}", output.info)
