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
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from harness.types.contexts import Contexts, grades_of
from harness.types.errors import HarnessError
from harness.types.nouns import Example, Output
from harness.types.texts import Places, TextLists, Texts, starts_of

BLOCK = 8192
"""Examples of a block, the unit in which data is read, scored and written: a row group of the run's files."""
PASSAGES = ("contexts", "reference_contexts", "relevant")
"""Columns of contexts that examples may have."""
IMPORTED = "imported."
"""Begins the names of fields that hold scores which another tool gave the outputs: they say nothing of the data."""
COLUMNS = ("outputs", "references", "sources", *PASSAGES)
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
    contexts: Contexts | None = None
    """A retrieval that comes with the data; None, here and below: no example has any."""
    reference_contexts: Contexts | None = None
    """The passages that answer each question; no system sees them."""
    relevant: Contexts | None = None
    """Ids and grades (as scores) of what was judged; no system sees them."""

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
            **{name: column for name in PASSAGES if (column := _passages(examples, name)) is not None},
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
            **{name: joined_passages([getattr(part, name) for part in parts], parts) for name in PASSAGES},
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
                **{name: column[which] for name, column in self.passages.items()},
            )
        metadata = {field: value for field, column in self.metadata.items() if (value := column[which]) is not ABSENT}
        repeat = 0 if self.repeats is None else int(self.repeats[which])
        passages = [_passage(name, self.passages.get(name), int(which)) for name in PASSAGES]
        return Example(str(self.ids[which]), self.sources[which], self.references[which], metadata, repeat, *passages)

    def __iter__(self) -> Iterator[Example]:
        columns = [(field, list(column)) for field, column in self.metadata.items()]
        rows = zip(self.ids, self.sources, self.references, self.repeat.tolist(), strict=True)
        passages: dict[str, list[Any]] = {name: list(column) for name, column in self.passages.items()}
        if self.relevant is not None:
            passages["relevant"] = list(map(grades_of, self.relevant))
        for i, (id_, source, references, repeat) in enumerate(rows):
            metadata = {field: column[i] for field, column in columns if column[i] is not ABSENT}
            own = {name: column[i] for name, column in passages.items()}
            yield Example(str(id_), source, references, metadata, repeat, **own)

    @property
    def passages(self) -> dict[str, Contexts]:
        """By name the columns of contexts that there are."""
        return {name: column for name in PASSAGES if (column := getattr(self, name)) is not None}

    def repeated(self, times: int | Places) -> Examples:
        """Each as often, or so often (n,), one after the other, with `repeat` 0, 1, …"""
        counts = np.broadcast_to(np.asarray(times), len(self))
        first = np.repeat(starts_of(counts)[:-1], counts)
        rows = self.taken(np.repeat(np.arange(len(self)), counts))
        return replace(rows, repeats=(np.arange(len(first)) - first).astype(np.int32))

    def taken(self, places: Places) -> Examples:
        """Those at these places, in this order."""
        return Examples(
            self.ids.taken(places),
            self.sources.taken(places),
            self.references.taken(places),
            {field: _taken(column, places) for field, column in self.metadata.items()},
            None if self.repeats is None else self.repeats[places],
            **{name: column.taken(places) for name, column in self.passages.items()},
        )


@dataclass(frozen=True, eq=False)
class Outputs(Sequence[Output]):
    """What a system gave for some examples, as columns: where there is no text there is an error."""

    texts: Texts
    errors: Texts
    infos: Sequence[Mapping[str, Any]] | None = None
    """None: nothing is known of any of them."""
    contexts: Contexts | None = None
    """What the system retrieved for each; None: it says nothing of it."""

    @classmethod
    def of(cls, outputs: Sequence[Output]) -> Outputs:
        if isinstance(outputs, Outputs):
            return outputs
        infos = [output.info for output in outputs] if any(output.info for output in outputs) else None
        texts = Texts.of([output.text for output in outputs])
        errors = Texts.of([output.error for output in outputs])
        lists = [output.contexts for output in outputs]
        retrieved = any(contexts is not None for contexts in lists)
        return cls(texts, errors, infos, Contexts.of(lists) if retrieved else None)

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
        texts, errors = Texts.joined([part.texts for part in parts]), Texts.joined([part.errors for part in parts])
        contexts = joined_passages([part.contexts for part in parts], parts)
        return cls(texts, errors, list(infos) if known else None, contexts)

    def __len__(self) -> int:
        return len(self.texts)

    @overload
    def __getitem__(self, which: int) -> Output: ...
    @overload
    def __getitem__(self, which: slice) -> Outputs: ...
    def __getitem__(self, which: int | slice) -> Output | Outputs:
        if isinstance(which, slice):
            infos = None if self.infos is None else self.infos[which]
            contexts = None if self.contexts is None else self.contexts[which]
            return Outputs(self.texts[which], self.errors[which], infos, contexts)
        info = {} if self.infos is None else self.infos[which]
        return Output(self.texts[which], self.errors[which], info, self.contexts and self.contexts[int(which)])

    def __iter__(self) -> Iterator[Output]:
        infos: Iterable[Mapping[str, Any]] = [{}] * len(self) if self.infos is None else self.infos
        contexts: Iterable[Any] = [None] * len(self) if self.contexts is None else self.contexts
        return (Output(*row) for row in zip(self.texts, self.errors, infos, contexts, strict=True))

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
        contexts = None if self.contexts is None else self.contexts.taken(places)
        return Outputs(self.texts.taken(places), self.errors.taken(places), infos, contexts)


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
    passages: Mapping[str, Contexts] = field(default_factory=dict)
    """Contexts by name, of `contexts`, `reference_contexts` and `relevant`."""
    ids: Sequence[str | None] = ()
    """Of the examples, for messages: no row depends on them."""

    def __post_init__(self) -> None:
        n = len(self.outputs)
        if not len(self.sources) and n:
            object.__setattr__(self, "sources", [None] * n)
        if not len(self.references) and n:
            object.__setattr__(self, "references", [()] * n)
        others = (*self.fields.items(), *self.passages.items())
        for name, column in (("references", self.references), ("sources", self.sources), *others):
            if len(column) != n:
                raise ValueError(f"{len(column)} {name} for {n} outputs")

    @classmethod
    def of(
        cls, outputs: Texts, examples: Examples, reads: Iterable[str] = (), contexts: Contexts | None = None
    ) -> Batch:
        """Of texts, none of which is missing, and their examples, with those of their other fields that `reads` names;
        a field that no example has is null in all of them. `contexts`: what the system retrieved, which goes before
        what comes with the data."""
        nothing = [None] * len(outputs)
        own = {**examples.metadata, "id": examples.ids}
        fields = {name: own.get(name, nothing) for name in reads if name not in COLUMNS}
        known: dict[str, Contexts | None] = {**examples.passages, "contexts": retrieved(examples, contexts)}
        passages = {name: known.get(name) or Contexts.nones(len(outputs)) for name in reads if name in PASSAGES}
        return cls(outputs, examples.references, examples.sources, fields, passages, examples.ids)  # type: ignore[arg-type]

    def __len__(self) -> int:
        return len(self.outputs)

    def __getitem__(self, which: slice) -> Batch:
        fields = {name: column[which] for name, column in self.fields.items()}
        passages = {name: column[which] for name, column in self.passages.items()}
        return Batch(
            self.outputs[which], self.references[which], self.sources[which], fields, passages, self.ids[which]
        )

    def place(self, row: int) -> str:
        """Which example a row is of, for messages."""
        return f"example {self.ids[row]!r}" if len(self.ids) else f"output {row + 1}"

    def field(self, name: str) -> Sequence[Any]:
        """A field of the examples; None where an example does not have it."""
        column = self.fields.get(name)
        if column is None:  # else rows would be taken again that depend on what nobody looked at
            raise HarnessError(f"a metric asks for the field {name!r}; expected it to be named in its `reads`")
        return column if isinstance(column, Texts) else [None if value is ABSENT else value for value in column]

    @property
    def contexts(self) -> Contexts:
        """What was retrieved for each output: by the system, else what comes with the data."""
        return self._passages("contexts")

    @property
    def reference_contexts(self) -> Contexts:
        """The passages that answer each question."""
        return self._passages("reference_contexts")

    @property
    def relevant(self) -> Contexts:
        """Ids and grades (as scores) of what was judged."""
        return self._passages("relevant")

    def _passages(self, name: str) -> Contexts:
        if name not in self.passages:
            raise HarnessError(f"a metric asks for {name!r}; expected it to be named in its `reads`")
        return self.passages[name]


def retrieved(examples: Examples, contexts: Contexts | None) -> Contexts | None:
    """What was retrieved for each example: the system's `contexts`, else what comes with the data."""
    return examples.contexts if contexts is None else contexts.otherwise(examples.contexts)


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


def _passages(examples: Sequence[Example], name: str) -> Contexts | None:
    """One column of contexts of single examples; None where no example has any."""
    lists = [getattr(example, name) for example in examples]
    if all(contexts is None for contexts in lists):
        return None
    return Contexts.of_grades(lists) if name == "relevant" else Contexts.of(lists)


def _passage(name: str, column: Contexts | None, i: int) -> Any:
    """What an example has of it."""
    if column is None:
        return None
    return column.grades(i) if name == "relevant" else column[i]


def joined_passages(columns: Sequence[Contexts | None], parts: Sequence[Sequence[Any]]) -> Contexts | None:
    """One column of contexts after the other; None where no part has any."""
    if all(column is None for column in columns):
        return None
    pairs = zip(columns, parts, strict=True)
    return Contexts.joined([Contexts.nones(len(part)) if column is None else column for column, part in pairs])


def joined_columns(columns: Sequence[Sequence[Any]]) -> Sequence[Any]:
    """One column of metadata after the other."""
    if all(isinstance(column, Texts) for column in columns):
        return Texts.joined([column for column in columns if isinstance(column, Texts)])
    return list(chain.from_iterable(columns))
