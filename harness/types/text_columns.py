"""Text as columns: what moves from the reader to the run folder, a block at a time.

A column of texts is Arrow's bytes and offsets. It can be used as a sequence of Python strings, which are made only for
whoever asks for them; readers, keys, compiled kernels and writers take the bytes. `Examples` and `Outputs` are such
columns side by side, and sequences of `Example` and `Output` for whoever wants single ones.

>>> texts = Texts.of(["a", None, "né"])
>>> list(texts), texts[2], list(texts[:2]), list(texts.taken(np.array([2, 0])))
(['a', None, 'né'], 'né', ['a', None], ['né', 'a'])
>>> lists = TextLists.of([["a", "b"], [], ["c"]])
>>> list(lists), lists[2], list(lists[1:]), list(lists.taken(np.array([2, 0])))
([('a', 'b'), (), ('c',)], ('c',), [(), ('c',)], [('c',), ('a', 'b')])
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, islice, pairwise
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from harness.types.errors import HarnessError
from harness.types.nouns import Example, Output

if TYPE_CHECKING:
    import pyarrow as pa

BLOCK = 8192
"""Examples of a block, the unit in which data is read, scored and written: a row group of the run's files."""
SMALL = 2**31 - 1
"""Bytes, or items, that offsets of 32 bits can tell apart."""
COLUMNS = ("outputs", "references", "sources")
"""Of a batch, beside the examples' other fields."""
Places = NDArray[np.int64]
Bytes = NDArray[np.uint8]


class Texts(Sequence[str | None]):
    """A column of texts; None where there is none."""

    __slots__ = ("array",)

    def __init__(self, array: pa.Array) -> None:
        """`array`: of Arrow's type string or large_string, in one piece."""
        self.array = array

    @classmethod
    def of(cls, strings: Sequence[str | None]) -> Texts:
        """Of Python strings, which must be storable: half of a surrogate pair is a UnicodeEncodeError."""
        if isinstance(strings, Texts):
            return strings
        import pyarrow as pa

        present = None
        if None in strings:
            present = np.fromiter((text is not None for text in strings), np.bool_, len(strings))
            strings = [text or "" for text in strings]
        texts: Sequence[Any] = strings  # no None is left
        joined = "".join(texts).encode()
        lengths: Iterable[int] = map(len, texts)
        if not joined.isascii():
            lengths = [len(text) if text.isascii() else len(text.encode()) for text in texts]
        starts = starts_of(np.fromiter(lengths, np.int64, len(texts)))
        return cls._laid_out(pa.py_buffer(joined), starts, bitmap(present))

    @classmethod
    def of_bytes(cls, data: Any, starts: Places, present: NDArray[np.bool_] | None = None) -> Texts:
        """Of UTF-8 that is known to be valid: text i is `data[starts[i]:starts[i + 1]]`."""
        import pyarrow as pa

        return cls._laid_out(pa.py_buffer(data), starts, bitmap(present))

    @classmethod
    def _laid_out(cls, data: pa.Buffer, starts: Places, present: pa.Buffer | None) -> Texts:
        import pyarrow as pa

        wide = int(starts[-1]) > SMALL
        offsets = pa.py_buffer(np.ascontiguousarray(starts, np.int64 if wide else np.int32))
        kind = pa.large_string() if wide else pa.string()
        return cls(pa.Array.from_buffers(kind, len(starts) - 1, [present, offsets, data]))

    @classmethod
    def nulls(cls, n: int) -> Texts:
        """No text at all, n times."""
        return cls.of_bytes(b"", np.zeros(n + 1, np.int64), np.zeros(n, np.bool_))

    @classmethod
    def joined(cls, parts: Sequence[Texts]) -> Texts:
        """One column after the other."""
        if len(parts) == 1:
            return parts[0]
        import pyarrow as pa

        arrays = [part.array for part in parts]
        if sum(array.nbytes for array in arrays) > SMALL or len({array.type for array in arrays}) > 1:
            arrays = [array.cast(pa.large_string()) for array in arrays]
        return cls(pa.concat_arrays(arrays) if arrays else pa.Array.from_buffers(pa.string(), 0, [None, None, None]))

    def __len__(self) -> int:
        return len(self.array)

    @overload
    def __getitem__(self, which: int) -> str | None: ...
    @overload
    def __getitem__(self, which: slice) -> Texts: ...
    def __getitem__(self, which: int | slice) -> str | Texts | None:
        if isinstance(which, slice):
            start, stop, step = which.indices(len(self))
            if step == 1:
                return Texts(self.array.slice(start, max(stop - start, 0)))
            return self.taken(np.arange(start, stop, step))
        text: str | None = self.array[int(which)].as_py()
        return text

    def __iter__(self) -> Iterator[str | None]:
        return iter(self.strings())

    def strings(self) -> list[str | None]:
        """All of them, as Python strings."""
        data, starts = self.utf8
        low, high = int(starts[0]), int(starts[-1])
        raw = data[low:high].tobytes()
        whole = raw.decode()
        bounds = (starts - low).tolist()
        strings: list[str | None]
        if len(whole) == len(raw):
            strings = [whole[a:b] for a, b in pairwise(bounds)]
        else:
            strings = [raw[a:b].decode() for a, b in pairwise(bounds)]
        if self.array.null_count:
            for i in np.flatnonzero(~self.present).tolist():
                strings[i] = None
        return strings

    @property
    def present(self) -> NDArray[np.bool_]:
        """(n,) where there is a text."""
        array = self.array
        valid = array.buffers()[0]
        if valid is None or not array.null_count:
            return np.ones(len(array), np.bool_)
        bits = np.unpackbits(np.frombuffer(valid, np.uint8), bitorder="little")
        return bits[array.offset : array.offset + len(array)].astype(np.bool_)

    @property
    def utf8(self) -> tuple[Bytes, Places]:
        """(bytes, (n + 1) where in them each text begins and the last one ends); none is an empty one."""
        array = self.array
        _, offsets, data = array.buffers()
        if not len(array) or offsets is None:
            return np.empty(0, np.uint8), np.zeros(len(array) + 1, np.int64)
        width = 8 if str(array.type) == "large_string" else 4
        starts = np.frombuffer(offsets, f"i{width}", len(array) + 1, array.offset * width)
        content = np.empty(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)
        return content, starts.astype(np.int64)

    def taken(self, places: Places) -> Texts:
        """Those at these places, in this order."""
        return Texts(self.array.take(whole_numbers(places)))

    def compact(self) -> Texts:
        """The same in memory of its own, so that a part does not hold the whole that it was cut from."""
        data, starts = self.utf8
        low, high = int(starts[0]), int(starts[-1])
        present = self.present if self.array.null_count else None
        return Texts.of_bytes(data[low:high].tobytes(), starts - low, present)

    def filled(self) -> Texts:
        """With empty texts where there is none."""
        if not self.array.null_count:
            return self
        data, starts = self.utf8
        return Texts.of_bytes(data, starts)


class TextLists(Sequence[tuple[str, ...]]):
    """A column of lists of texts, such as an example's references; no list and no text in one is missing."""

    __slots__ = ("items", "starts")

    def __init__(self, items: Texts, starts: Places) -> None:
        """List i has the texts `items[starts[i]:starts[i + 1]]`; there may be others before the first and after the
        last."""
        self.items, self.starts = items, starts

    @classmethod
    def of(cls, lists: Sequence[Sequence[str]]) -> TextLists:
        if isinstance(lists, TextLists):
            return lists
        lengths = np.fromiter(map(len, lists), np.int64, len(lists))
        return cls(Texts.of(list(chain.from_iterable(lists))), starts_of(lengths))

    @classmethod
    def joined(cls, parts: Sequence[TextLists]) -> TextLists:
        """One column after the other."""
        if len(parts) == 1:
            return parts[0]
        lengths = [part.lengths for part in parts] or [np.empty(0, np.int64)]
        return cls(Texts.joined([part.flat for part in parts]), starts_of(np.concatenate(lengths)))

    def __len__(self) -> int:
        return len(self.starts) - 1

    @overload
    def __getitem__(self, which: int) -> tuple[str, ...]: ...
    @overload
    def __getitem__(self, which: slice) -> TextLists: ...
    def __getitem__(self, which: int | slice) -> tuple[str, ...] | TextLists:
        if isinstance(which, slice):
            start, stop, step = which.indices(len(self))
            if step == 1:
                return TextLists(self.items, self.starts[start : max(stop, start) + 1])
            return self.taken(np.arange(start, stop, step))
        i = int(which) + (len(self) if which < 0 else 0)
        if not 0 <= i < len(self):
            raise IndexError(f"list {which} of {len(self)}")
        return tuple(self.items[int(self.starts[i]) : int(self.starts[i + 1])].strings())  # type: ignore[arg-type]

    def __iter__(self) -> Iterator[tuple[str, ...]]:
        strings: list[Any] = self.flat.strings()
        if len(strings) == len(self) and (self.lengths == 1).all():
            return iter([(text,) for text in strings])
        bounds = (self.starts - self.starts[0]).tolist()
        return iter([tuple(strings[a:b]) for a, b in pairwise(bounds)])

    @property
    def lengths(self) -> Places:
        """(n,) how many texts each list has."""
        return np.diff(self.starts)

    @property
    def flat(self) -> Texts:
        """The texts of all lists, one after the other."""
        return self.items[int(self.starts[0]) : int(self.starts[-1])]

    def taken(self, places: Places) -> TextLists:
        """Those at these places, in this order."""
        lengths = self.lengths[places]
        starts = starts_of(lengths)
        inside = np.repeat(self.starts[:-1][places] - starts[:-1], lengths) + np.arange(starts[-1])
        return TextLists(self.items.taken(inside), starts)

    @property
    def array(self) -> pa.Array:
        """As Arrow has it: a list of strings for each."""
        import pyarrow as pa

        items, starts = self.flat.array, self.starts - self.starts[0]
        wide = len(items) > SMALL
        kind = pa.large_list(items.type) if wide else pa.list_(items.type)
        offsets = pa.py_buffer(np.ascontiguousarray(starts, np.int64 if wide else np.int32))
        return pa.Array.from_buffers(kind, len(self), [None, offsets], children=[items])


class _Absent:
    """In a column of metadata: the example has no such field (None is a field that is null)."""

    def __repr__(self) -> str:
        return "ABSENT"


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


def starts_of(lengths: NDArray[Any]) -> Places:
    """(n + 1) where things of these lengths begin, and the last one ends.

    >>> starts_of(np.array([2, 0, 3])).tolist()
    [0, 2, 2, 5]
    """
    starts = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=starts[1:])
    return starts


def whole_numbers(numbers: NDArray[Any]) -> pa.Array:
    """As Arrow has them; `pyarrow.array` would import pandas."""
    import pyarrow as pa

    numbers = np.ascontiguousarray(numbers, np.int64)
    return pa.Array.from_buffers(pa.int64(), len(numbers), [None, pa.py_buffer(numbers)])


def bitmap(present: NDArray[np.bool_] | None) -> pa.Buffer | None:
    """Which values are there, as Arrow has it; None: all of them."""
    if present is None or present.all():
        return None
    import pyarrow as pa

    return pa.py_buffer(np.packbits(present, bitorder="little"))


def _taken(column: Sequence[Any], places: Places) -> Sequence[Any]:
    return column.taken(places) if isinstance(column, Texts) else [column[i] for i in places.tolist()]


def joined_columns(columns: Sequence[Sequence[Any]]) -> Sequence[Any]:
    """One column of metadata after the other."""
    if all(isinstance(column, Texts) for column in columns):
        return Texts.joined([column for column in columns if isinstance(column, Texts)])
    return list(chain.from_iterable(columns))
