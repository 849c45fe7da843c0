"""Text as columns: what moves from the reader to the run folder, a block at a time.

A column of texts is Arrow's bytes and offsets. It can be used as a sequence of Python strings, which are made only for
whoever asks for them; readers, keys, compiled kernels and writers take the bytes. `Examples` and `Outputs` are such
columns side by side, and sequences of `Example` and `Output` for whoever wants single ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from harness.types.errors import HarnessError
from harness.types.nouns import Example, Output
from harness.types.texts import Places, TextLists, Texts

if TYPE_CHECKING:
    pass

BLOCK = 8192
"""Examples of a block, the unit in which data is read, scored and written: a row group of the run's files."""
COLUMNS = ("outputs", "references", "sources")
"""Of a batch, beside the examples' other fields."""


class _Absent:
    """In a column of metadata: the example has no such field (None is a field that is null)."""

    def __repr__(self) -> str:
        return "ABSENT"

    def __reduce__(self) -> str:
        return "ABSENT"  # there is one in a process


ABSENT: Any = _Absent()


@dataclass(frozen=True, eq=False)
class Examples(Sequence[Example]):
    """Some examples of a data set, as columns."""

    ids: Texts
    sources: Texts
    references: TextLists
    metadata: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    """By field; a column is `Texts` or a list, with `ABSENT` for examples that have no such field."""
    repeats: NDArray[np.int32] | None = None
    """(n,) of each row; None: 0 throughout."""

    @classmethod
    def of(cls, examples: Sequence[Example]) -> Examples:
        if isinstance(examples, Examples):
            return examples
        fields = dict.fromkeys(field for example in examples for field in example.metadata)
        repeats = np.fromiter((example.repeat for example in examples), np.int32, len(examples))
        return cls(
            Texts.of([example.id for example in examples]),
            Texts.of([example.source for example in examples]),
            TextLists.of([example.references for example in examples]),
            {field: [example.metadata.get(field, ABSENT) for example in examples] for field in fields},
            repeats if repeats.any() else None,
        )

    @classmethod
    def joined(cls, parts: Sequence[Examples]) -> Examples:
        """One after the other."""
        if len(parts) == 1:
            return parts[0]
        fields = dict.fromkeys(field for part in parts for field in part.metadata)
        repeated = any(part.repeats is not None for part in parts)
        return cls(
            Texts.joined([part.ids for part in parts]),
            Texts.joined([part.sources for part in parts]),
            TextLists.joined([part.references for part in parts]),
            {
                field: joined_columns([part.metadata.get(field, [ABSENT] * len(part)) for part in parts])
                for field in fields
            },
            np.concatenate([part.repeat for part in parts]) if repeated else None,
        )

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def repeat(self) -> NDArray[np.int32]:
        """(n,) which of several outputs for the same example each row is of."""
        return np.zeros(len(self), np.int32) if self.repeats is None else self.repeats

    @overload
    def __getitem__(self, which: int) -> Example: ...
    @overload
    def __getitem__(self, which: slice) -> Examples: ...
    def __getitem__(self, which: int | slice) -> Example | Examples:
        if isinstance(which, slice):
            return Examples(
                self.ids[which],
                self.sources[which],
                self.references[which],
                {field: column[which] for field, column in self.metadata.items()},
                None if self.repeats is None else self.repeats[which],
            )
        metadata = {field: value for field, column in self.metadata.items() if (value := column[which]) is not ABSENT}
        repeat = 0 if self.repeats is None else int(self.repeats[which])
        return Example(str(self.ids[which]), self.sources[which], self.references[which], metadata, repeat)

    def __iter__(self) -> Iterator[Example]:
        columns = [(field, list(column)) for field, column in self.metadata.items()]
        rows = zip(self.ids, self.sources, self.references, self.repeat.tolist(), strict=True)
        for i, (id_, source, references, repeat) in enumerate(rows):
            metadata = {field: column[i] for field, column in columns if column[i] is not ABSENT}
            yield Example(str(id_), source, references, metadata, repeat)

    def repeated(self, times: int) -> Examples:
        """Each as often, one after the other, with `repeat` 0, 1, …"""
        rows = self.taken(np.repeat(np.arange(len(self)), times))
        return replace(rows, repeats=np.tile(np.arange(times, dtype=np.int32), len(self)))

    def taken(self, places: Places) -> Examples:
        """Those at these places, in this order."""
        return Examples(
            self.ids.taken(places),
            self.sources.taken(places),
            self.references.taken(places),
            {field: _taken(column, places) for field, column in self.metadata.items()},
            None if self.repeats is None else self.repeats[places],
        )


@dataclass(frozen=True, eq=False)
class Outputs(Sequence[Output]):
    """What a system gave for some examples, as columns: where there is no text there is an error."""

    texts: Texts
    errors: Texts
    infos: Sequence[Mapping[str, Any]] | None = None
    """None: nothing is known of any of them."""

    @classmethod
    def of(cls, outputs: Sequence[Output]) -> Outputs:
        if isinstance(outputs, Outputs):
            return outputs
        infos = [output.info for output in outputs] if any(output.info for output in outputs) else None
        texts = Texts.of([output.text for output in outputs])
        return cls(texts, Texts.of([output.error for output in outputs]), infos)

    @classmethod
    def of_texts(cls, texts: Texts) -> Outputs:
        """Of texts none of which is missing."""
        return cls(texts, Texts.nulls(len(texts)))

    @classmethod
    def joined(cls, parts: Sequence[Outputs]) -> Outputs:
        """One after the other."""
        if len(parts) == 1:
            return parts[0]
        known = any(part.infos is not None for part in parts)
        infos = chain.from_iterable(part.infos if part.infos is not None else [{}] * len(part) for part in parts)
        texts = Texts.joined([part.texts for part in parts])
        return cls(texts, Texts.joined([part.errors for part in parts]), list(infos) if known else None)

    def __len__(self) -> int:
        return len(self.texts)

    @overload
    def __getitem__(self, which: int) -> Output: ...
    @overload
    def __getitem__(self, which: slice) -> Outputs: ...
    def __getitem__(self, which: int | slice) -> Output | Outputs:
        if isinstance(which, slice):
            infos = None if self.infos is None else self.infos[which]
            return Outputs(self.texts[which], self.errors[which], infos)
        return Output(self.texts[which], self.errors[which], {} if self.infos is None else self.infos[which])

    def __iter__(self) -> Iterator[Output]:
        infos: Iterable[Mapping[str, Any]] = [{}] * len(self) if self.infos is None else self.infos
        return (Output(*row) for row in zip(self.texts, self.errors, infos, strict=True))

    @cached_property
    def good(self) -> Places:
        """The places of those with a text."""
        return np.flatnonzero(self.texts.present)

    @property
    def failed(self) -> int:
        """How many have an error instead."""
        return len(self) - len(self.good)

    @property
    def finish(self) -> list[str | None]:
        """How each ended, where the system says so."""
        return [None] * len(self) if self.infos is None else [info.get("finish") for info in self.infos]

    def taken(self, places: Places) -> Outputs:
        """Those at these places, in this order."""
        infos = None if self.infos is None else [self.infos[i] for i in places.tolist()]
        return Outputs(self.texts.taken(places), self.errors.taken(places), infos)


@dataclass(frozen=True, eq=False)
class Batch:
    """What a metric scores: outputs, each with what belongs to it, as sequences of the same length.

    >>> batch = Batch(["a", "b"], [["a"], ["b", "c"]], fields={"topic": ["x", "y"]})
    >>> len(batch), list(batch.sources), batch.field("topic")[1], list(batch[1:].outputs)
    (2, [None, None], 'y', ['b'])
    """

    outputs: Sequence[str]
    references: Sequence[Sequence[str]]
    """Of each output; empty where there are none."""
    sources: Sequence[str | None] = ()
    fields: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    """Every other field of the examples, by name."""

    def __post_init__(self) -> None:
        n = len(self.outputs)
        if not len(self.sources) and n:
            object.__setattr__(self, "sources", [None] * n)
        if not len(self.references) and n:
            object.__setattr__(self, "references", [()] * n)
        for name, column in (("references", self.references), ("sources", self.sources), *self.fields.items()):
            if len(column) != n:
                raise ValueError(f"{len(column)} {name} for {n} outputs")

    @classmethod
    def of(cls, outputs: Texts, examples: Examples, reads: Iterable[str] = ()) -> Batch:
        """Of texts, none of which is missing, and their examples, with those of their other fields that `reads` names;
        a field that no example has is null in all of them."""
        nothing = [None] * len(outputs)
        fields = {name: examples.metadata.get(name, nothing) for name in reads if name not in COLUMNS}
        return cls(outputs, examples.references, examples.sources, fields)  # type: ignore[arg-type]

    def __len__(self) -> int:
        return len(self.outputs)

    def __getitem__(self, which: slice) -> Batch:
        fields = {name: column[which] for name, column in self.fields.items()}
        return Batch(self.outputs[which], self.references[which], self.sources[which], fields)

    def field(self, name: str) -> Sequence[Any]:
        """A field of the examples; None where an example does not have it."""
        column = self.fields.get(name)
        if column is None:  # else rows would be taken again that depend on what nobody looked at
            raise HarnessError(f"a metric asks for the field {name!r}; expected it to be named in its `reads`")
        return column if isinstance(column, Texts) else [None if value is ABSENT else value for value in column]

    @property
    def contexts(self) -> Sequence[Any]:
        """What was retrieved for each example, where its field `contexts` says so."""
        return self.field("contexts")


def blocks_of(examples: Iterable[Example]) -> Iterator[Examples]:
    """Single examples as blocks."""
    if isinstance(examples, Examples):
        yield from (examples[i : i + BLOCK] for i in range(0, len(examples), BLOCK))
        return
    left = iter(examples)
    while block := list(islice(left, BLOCK)):
        yield Examples.of(block)


def in_blocks(parts: Iterable[Examples], size: int | None = None) -> Iterator[Examples]:
    """The same examples in blocks, or in parts of another size, the last one apart."""
    size = BLOCK if size is None else size
    waiting: list[Examples] = []
    held = 0
    for part in parts:
        while held + len(part) >= size:
            head = size - held
            whole = Examples.joined([*waiting, part[:head]]) if waiting else part[:head]
            yield whole
            part, waiting, held = part[head:], [], 0
        if len(part):
            waiting.append(part)
            held += len(part)
    if waiting:
        yield Examples.joined(waiting)


def _taken(column: Sequence[Any], places: Places) -> Sequence[Any]:
    return column.taken(places) if isinstance(column, Texts) else [column[i] for i in places.tolist()]


def joined_columns(columns: Sequence[Sequence[Any]]) -> Sequence[Any]:
    """One column of metadata after the other."""
    if all(isinstance(column, Texts) for column in columns):
        return Texts.joined([column for column in columns if isinstance(column, Texts)])
    return list(chain.from_iterable(columns))
