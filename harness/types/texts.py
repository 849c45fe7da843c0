"""A column of texts, and one of lists of texts: Arrow's bytes and offsets, of which Python strings are made only for
whoever asks for them.

>>> texts = Texts.of(["a", None, "né"])
>>> list(texts), texts[2], list(texts[:2]), list(texts.taken(np.array([2, 0])))
(['a', None, 'né'], 'né', ['a', None], ['né', 'a'])
>>> lists = TextLists.of([["a", "b"], [], ["c"]])
>>> list(lists), lists[2], list(lists[1:]), list(lists.taken(np.array([2, 0])))
([('a', 'b'), (), ('c',)], ('c',), [(), ('c',)], [('c',), ('a', 'b')])
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pyarrow as pa

SMALL = 2**31 - 1
"""Bytes, or items, that offsets of 32 bits can tell apart."""
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

        texts: Sequence[Any] = strings
        present = None
        try:
            whole = "".join(texts)
        except TypeError:  # to look for None in every column would take as long
            present = np.fromiter((text is not None for text in texts), np.bool_, len(texts))
            texts = ["" if text is None else text for text in texts]
            whole = "".join(texts)
        joined = whole.encode()
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

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled without what it was cut from."""
        own = self.compact()
        data, starts = own.utf8
        return Texts.of_bytes, (data, starts, own.present if own.array.null_count else None)

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
        return present_in(self.array)

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


class Repeated(Texts):
    """A column of texts of which many are the same: who can, looks at each of those once.

    >>> column = Repeated(Texts.of(["a", "b"]), np.array([0, 0, 1]))
    >>> list(column), list(column[1:]), column[1:].places.tolist()
    (['a', 'a', 'b'], ['a', 'b'], [0, 1])
    """

    __slots__ = ("once", "places")

    def __init__(self, once: Texts, places: Places) -> None:
        """`places`: of each text in `once`; they rise."""
        super().__init__(once.taken(places).array)
        self.once, self.places = once, places

    def __getitem__(self, which: Any) -> Any:
        return self.taken(np.arange(len(self))[which]) if isinstance(which, slice) else super().__getitem__(which)

    def taken(self, places: Places) -> Repeated:
        return Repeated(self.once, self.places[places])


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

    def __reduce__(self) -> tuple[Any, ...]:
        return TextLists, (self.flat, self.starts - self.starts[0])

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
        inside, starts = places_of(self.starts, places)
        return TextLists(self.items.taken(inside), starts)

    @property
    def array(self) -> pa.Array:
        """As Arrow has it: a list of strings for each."""
        return list_array(self.flat.array, self.starts - self.starts[0])


def starts_of(lengths: NDArray[Any]) -> Places:
    """(n + 1) where things of these lengths begin, and the last one ends.

    >>> starts_of(np.array([2, 0, 3])).tolist()
    [0, 2, 2, 5]
    """
    starts = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=starts[1:])
    return starts


def places_of(starts: Places, chosen: Places) -> tuple[Places, Places]:
    """(the places of the items of the chosen lists, one list after the other, (chosen + 1) where each begins there).

    >>> [places.tolist() for places in places_of(np.array([0, 2, 2, 5]), np.array([2, 0]))]
    [[2, 3, 4, 0, 1], [0, 3, 5]]
    """
    lengths = np.diff(starts)[chosen]
    begins = starts_of(lengths)
    return np.repeat(starts[:-1][chosen] - begins[:-1], lengths) + np.arange(begins[-1]), begins


def list_array(items: pa.Array, starts: Places, given: NDArray[np.bool_] | None = None) -> pa.Array:
    """Lists of items as Arrow has them: list i has the items from `starts[i]` on; null where it is not given."""
    import pyarrow as pa

    wide = len(items) > SMALL
    kind = pa.large_list(items.type) if wide else pa.list_(items.type)
    offsets = pa.py_buffer(np.ascontiguousarray(starts, np.int64 if wide else np.int32))
    return pa.Array.from_buffers(kind, len(starts) - 1, [bitmap(given), offsets], children=[items])


def present_in(array: pa.Array) -> NDArray[np.bool_]:
    """(n,) where a column has a value."""
    valid = array.buffers()[0]
    if valid is None or not array.null_count:
        return np.ones(len(array), np.bool_)
    bits = np.unpackbits(np.frombuffer(valid, np.uint8), bitorder="little")
    return bits[array.offset : array.offset + len(array)].astype(np.bool_)


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


def text_fault(value: str) -> str | None:
    """What makes a string unfit to be stored and scored, or None."""
    if "\0" in value:
        return f"a NUL character at position {value.index(chr(0)) + 1}"
    if value.isascii():
        return None
    try:
        value.encode()
    except UnicodeEncodeError as error:
        return f"a lone surrogate (\\u{ord(value[error.start]):04x}) at position {error.start + 1}"
    return None
