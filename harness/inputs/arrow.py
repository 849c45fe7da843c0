"""Arrow columns from Python values and NumPy arrays, and back, without pandas.

`pyarrow.array` imports pandas whenever it is given a list, and that takes longer than scoring ten thousand pairs. What
a run needs (texts, lists of texts, numbers) is laid out here as Arrow has it: buffers and offsets.

>>> texts(["a", None, "né"]).to_pylist()
['a', None, 'né']
>>> values([1, None, 3]).to_pylist(), values([True, False]).to_pylist(), numbers(np.array([0.5, np.nan])).to_pylist()
([1, None, 3], [True, False], [0.5, None])
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from harness.types import Array, Lists, Texts
from harness.types.texts import bitmap, list_array, starts_of

_KINDS = {int: (np.int64, pa.int64()), float: (np.float64, pa.float64())}


def texts(strings: Sequence[str | None]) -> pa.Array:
    """A column of texts; None is null."""
    return Texts.of(strings).array


def utf8(strings: Sequence[str | None]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """(bytes, (n + 1) where in them each text begins and the last one ends), without a copy where it is a column."""
    return column(strings).utf8


def column(strings: Sequence[str | None]) -> Texts:
    """As a column. Half of a surrogate pair, which no file holds but a Python string can, takes three bytes, which
    `Texts.strings` refuses and `plain` reads."""
    try:
        return Texts.of(strings)
    except UnicodeEncodeError:
        encoded = [(text or "").encode("utf-8", "surrogatepass") for text in strings]
        return Texts.of_bytes(b"".join(encoded), starts_of(np.fromiter(map(len, encoded), np.int64, len(encoded))))


def plain(texts: Texts) -> list[str]:
    """Python's strings of a column in which no text is missing."""
    try:
        return texts.strings()  # type: ignore[return-value]  # none is missing
    except UnicodeDecodeError:
        data, starts = texts.utf8
        return [data[a:b].tobytes().decode("utf-8", "surrogatepass") for a, b in pairwise(starts.tolist())]


def numbers(array: NDArray[Any]) -> pa.Array:
    """A column of numbers (n,); NaN is null."""
    array = np.ascontiguousarray(array)
    missing = np.isnan(array) if array.dtype.kind == "f" else None
    buffers = [None if missing is None else bitmap(~missing), pa.py_buffer(array)]
    return pa.Array.from_buffers(pa.from_numpy_dtype(array.dtype), len(array), buffers)


def counts(array: NDArray[Any]) -> pa.Array:
    """A column of whole numbers (n,), which are stored as such; NaN is null.

    >>> counts(np.array([3.0, np.nan])).to_pylist()
    [3, None]
    """
    missing = np.isnan(array)
    numbers = np.where(missing, 0, array).astype(np.int64)
    if (numbers != array)[~missing].any():
        raise ValueError("not only whole numbers in a column of counts")
    return pa.Array.from_buffers(pa.int64(), len(numbers), [bitmap(~missing), pa.py_buffer(numbers)])


def number_lists(lists: Lists) -> pa.Array:
    """A column of lists of numbers.

    >>> number_lists(Lists.of([[3, 4], []])).to_pylist()
    [[3, 4], []]
    """
    buffers = [None, pa.py_buffer(np.ascontiguousarray(lists.starts))]
    items = numbers(lists.values)
    return pa.Array.from_buffers(pa.large_list(items.type), len(lists), buffers, children=[items])


def values(items: Sequence[Any], kind: type | None = None) -> pa.Array:
    """A column of values of this kind (str, bool, int, float or list), or of the type that Arrow gives them."""
    if kind is None:
        kinds = {type(item) for item in items} - {type(None)}
        if not kinds:
            return pa.nulls(len(items))
        kind = kinds.pop() if len(kinds) == 1 else object
    if kind is str:
        return texts(items)
    if kind is list:
        return _value_lists(items)
    present = bitmap(np.fromiter((item is not None for item in items), np.bool_, len(items)))
    if kind is bool:
        bits = np.packbits(np.fromiter(map(bool, items), np.bool_, len(items)), bitorder="little")
        return pa.Array.from_buffers(pa.bool_(), len(items), [present, pa.py_buffer(bits)])
    if kind in _KINDS:
        dtype, arrow = _KINDS[kind]
        plain = items if present is None else [item or 0 for item in items]
        try:
            array: NDArray[Any] = np.fromiter(plain, dtype, len(items))
        except OverflowError:
            return pa.array(items)
        return pa.Array.from_buffers(arrow, len(items), [present, pa.py_buffer(array)])
    return pa.array(items)


def _value_lists(lists: Sequence[list[Any] | None]) -> pa.Array:
    """A column of lists of values; None is null.

    >>> _value_lists([[1, None], None, []]).to_pylist()
    [[1, None], None, []]
    """
    items = values([item for part in lists if part is not None for item in part])
    present = np.fromiter((part is not None for part in lists), np.bool_, len(lists))
    lengths = np.fromiter((len(part or ()) for part in lists), np.int64, len(lists))
    return list_array(items, starts_of(lengths), present)


def whole(column: pa.ChunkedArray) -> pa.Array:
    """A column in one piece."""
    return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)


def integers(column: pa.ChunkedArray) -> NDArray[np.int64]:
    """(n,) of a column of whole numbers without nulls."""
    array = whole(column).cast(pa.int64())
    if array.null_count:
        raise ValueError(f"{array.null_count} nulls in a column of whole numbers")
    return np.frombuffer(array.buffers()[1] or b"", np.int64, len(array), array.offset * 8).copy()


def codes(texts: pa.Array) -> NDArray[np.int64]:
    """(n,) the texts of a column without nulls as numbers, in the order in which they first appear.

    >>> codes(texts(["b", "a", "b"])).tolist()
    [0, 1, 0]
    """
    indices = texts.dictionary_encode().indices
    return np.frombuffer(indices.buffers()[1] or b"", np.int32, len(indices), indices.offset * 4).astype(np.int64)


def distinct(column: pa.ChunkedArray) -> int:
    """How many different values a column has; null is one of them."""
    if pa.types.is_nested(column.type):
        return len(set(map(repr, column.to_pylist())))
    return len(column.unique())


def starts(lists: pa.Array) -> NDArray[np.int64]:
    """(n + 1) where in a column's items each list begins, and the last one ends."""
    width = 8 if pa.types.is_large_list(lists.type) else 4
    offsets = lists.buffers()[1] or bytes(width)
    return np.frombuffer(offsets, f"i{width}", len(lists) + 1, lists.offset * width).astype(np.int64)


def floats(column: pa.ChunkedArray) -> Array:
    """(n,) of a column of float64 or int64, NaN where null."""
    array = whole(column)
    bitmap, data = array.buffers()
    kind = np.int64 if array.type == pa.int64() else np.float64
    numbers: Array = np.frombuffer(data or b"", kind, len(array), array.offset * 8).astype(np.float64)
    if bitmap is not None:
        present = np.unpackbits(np.frombuffer(bitmap, np.uint8), bitorder="little")
        numbers[present[array.offset : array.offset + len(array)] == 0] = np.nan
    return numbers


def lists(column: pa.ChunkedArray) -> Lists:
    """Of a column of lists of int64, without nulls, or of float64."""
    array = column.combine_chunks()
    if array.type == pa.large_list(pa.float64()) and not array.null_count:
        begins = starts(array)
        return Lists(floats(pa.chunked_array([array.values]))[begins[0] : begins[-1]], begins - begins[0])
    if array.type != pa.large_list(pa.int64()) or array.null_count or array.values.null_count:
        raise ValueError(f"{array.type} for lists of whole numbers")
    begins = np.frombuffer(array.offsets.buffers()[1], np.int64, len(array) + 1, array.offsets.offset * 8)
    items = array.values
    whole = np.frombuffer(items.buffers()[1] or b"", np.int64, len(items), items.offset * 8)
    return Lists(whole[begins[0] : begins[-1]].copy(), begins - begins[0])
