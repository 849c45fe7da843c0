"""From columns of rows to examples as columns: what all tabular data sets share.

The rules are those of harness/inputs/rows.py, applied to a part's whole columns. A part in which anything is odd (a
null id, a number for a text, an id that was there before), or whose fields are made by templates or taken from inside
columns, goes through that module row by row: the same examples, and its messages where there is something to say.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.inputs import files
from harness.inputs.parts import MOST_CELLS, Column, Part, in_growing_lists
from harness.inputs.rows import PLAIN, Reader, clean
from harness.types import ABSENT, PASSAGES, ContextFault, Contexts, Example, Examples, HarnessError, TextLists, Texts
from harness.types.texts import Places, starts_of

if TYPE_CHECKING:
    import pyarrow as pa


class Odd(Exception):
    """Something that is to be looked at row by row."""


def examples_in_parts(parts: Iterable[Part], reader: Reader) -> Iterator[Examples]:
    """The examples of all parts. What comes before a row that is wrong comes before its message."""
    for part in parts:
        try:
            examples = _examples(part.columns, reader) if part.columns is not None else None
        except Odd:
            examples = None
        if examples is None:
            yield from _one_by_one(part, reader)
        elif len(examples):
            yield examples


def _one_by_one(part: Part, reader: Reader) -> Iterator[Examples]:
    examples = (reader.example(place, row) for place, row in part.rows())
    for some, error in in_growing_lists(examples):
        yield from _with_few_holes(some)
        if error is not None:
            raise error


def _with_few_holes(examples: list[Example]) -> Iterator[Examples]:
    """As columns: of fewer examples at a time where most of them have fields of their own."""
    fields = {field for example in examples for field in example.metadata}
    if len(fields) * len(examples) > MOST_CELLS and len(examples) > 1:
        half = len(examples) // 2
        yield from _with_few_holes(examples[:half])
        yield from _with_few_holes(examples[half:])
    elif examples:
        yield Examples.of(examples)


def _examples(columns: Mapping[str, Column], reader: Reader) -> Examples | None:
    """The examples of a part whose fields are whole columns; None where there are no rows."""
    if not columns:
        return None
    n = len(next(iter(columns.values())))
    if not n:
        return None
    mapped = reader.mapped
    names = {field: [name for name, _ in gets] for field, gets in mapped.gets.items()}
    for field in mapped.named:
        if not all(name in columns for name in names[field]):
            raise Odd  # a template, a field inside a column, or missing
    if len(columns) > files.MOST_FIELDS:
        raise Odd
    storable("".join(columns))
    sources = _optional(columns, names["source"][0], "source" in mapped.named)
    references = [_optional(columns, name, "references" in mapped.named) for name in names["references"]]
    metadata = {name: values(column) for name, column in columns.items() if name not in mapped.taken}
    if reader.cluster is not None:
        unit = values(complete(columns, reader.cluster))
        if not isinstance(unit, Texts) and None in unit:
            raise Odd
        metadata.setdefault(reader.cluster, unit)
    passages: dict[str, Any] = {
        field: passages_of(field, _optional(columns, names[field][0], False)) for field in PASSAGES
    }
    texts = Texts.nulls(n) if sources is None else texts_of(sources)
    lists = _references([column for column in references if column is not None], n, reader.skip_blank)
    return Examples(_ids(columns, names["id"][0], n, reader), texts, lists, metadata, **passages)


def _optional(columns: Mapping[str, Column], name: str, named: bool) -> Column | None:
    """The column, with None for rows that do not have it; those that the user named must be there."""
    if name not in columns:
        return None
    column = columns[name]
    if isinstance(column, list) and ABSENT in column:
        if named:
            raise Odd
        return [None if value is ABSENT else value for value in column]
    return column


def complete(columns: Mapping[str, Column], name: str) -> Column:
    """A column that every row has."""
    column = columns.get(name)
    if column is None or (isinstance(column, list) and ABSENT in column):
        raise Odd
    return column


def _ids(columns: Mapping[str, Column], name: str, n: int, reader: Reader) -> Texts:
    """Checked last: an id that was added stays."""
    before = reader.with_id
    with_id = reader.start(columns) if before is not None or _first_has(columns, "id") else reader.start(())
    try:
        if with_id:
            texts, strings = identifiers(complete(columns, name))
            if not reader.ids.add_all(strings):
                raise Odd
        elif "id" in columns:
            raise Odd
        else:
            texts = Texts.of(list(map(str, range(reader.number + 1, reader.number + n + 1))))
    except Odd:
        reader.with_id = before
        raise
    reader.number += n
    return texts


def _first_has(columns: Mapping[str, Column], name: str) -> bool:
    column = columns.get(name)
    return column is not None and not (isinstance(column, list) and column[0] is ABSENT)


# ---------------------------------------------------------------- texts


def identifiers(column: Column) -> tuple[Texts, Iterable[str]]:
    """Ids as a column, and as strings; numbers are taken as they print."""
    if is_arrow(column):
        import pyarrow as pa

        if not pa.types.is_integer(column.type):
            texts: Any = texts_of(column)
            if texts.array.null_count or not np.diff(texts.utf8[1]).all():
                raise Odd
            return texts, texts
        column = column.to_pylist()
    kinds = set(map(type, column))
    if int in kinds:
        kinds.discard(int)
        column = [str(value) if type(value) is int else value for value in column]
    if not kinds <= {str} or "" in column:
        raise Odd
    return texts_of(column), column


def texts_of(column: Column) -> Texts:
    """A column of texts, or nulls, all of which can be stored."""
    if is_arrow(column):
        texts = _arrow_texts(column)
    else:
        if not set(map(type, column)) <= {str, type(None)}:
            raise Odd
        try:
            texts = Texts.of(column)
        except UnicodeEncodeError:  # half of a surrogate pair
            raise Odd from None
    data, starts = texts.utf8
    used = data[starts[0] : starts[-1]]
    if len(used) and not used.min():
        raise Odd  # a NUL character
    return texts


def storable(text: str) -> None:
    """Refuses what `files.text` refuses."""
    if not (text.isascii() and "\0" not in text):
        texts_of([text])


def _references(columns: Sequence[Column], n: int, skip_blank: bool) -> TextLists:
    """The references of each row from all columns of them: each a text, a list of texts, or null."""
    if not columns:
        return TextLists(Texts.nulls(0), np.zeros(n + 1, np.int64))
    if len(columns) == 1 and is_arrow(columns[0]):
        return _arrow_lists(columns[0])
    plain = [column.to_pylist() if is_arrow(column) else column for column in columns]
    kinds = [set(map(type, column)) for column in plain]
    if all(kind == {str} for kind in kinds) and not skip_blank:
        flat = plain[0] if len(plain) == 1 else list(chain.from_iterable(zip(*plain, strict=True)))
        return _lists(flat, np.arange(n + 1) * len(plain))
    if kinds == [{list}]:
        lists = plain[0]
    else:
        lists = [
            list(chain.from_iterable(_items(value, skip_blank) for value in row)) for row in zip(*plain, strict=True)
        ]
    flat = list(chain.from_iterable(lists))
    if None in flat:
        lists = [[text for text in texts if text is not None] for texts in lists]
        flat = [text for text in flat if text is not None]
    return _lists(flat, starts_of(np.fromiter(map(len, lists), np.int64, n)))


def _lists(flat: Sequence[Any], starts: Places) -> TextLists:
    if not set(map(type, flat)) <= {str}:
        raise Odd
    return TextLists(texts_of(flat), starts)


def _items(value: Any, skip_blank: bool) -> Iterable[Any]:
    if skip_blank and value == "":
        return ()
    return value if isinstance(value, list | tuple) else (value,)


def passages_of(field: str, column: Column | None) -> Contexts | None:
    """The contexts of each row in one of the fields that hold any; None where no row has any."""
    if column is None:
        return None
    if is_arrow(column):
        import pyarrow as pa

        texts = column.type == pa.list_(pa.string()) and not column.null_count and not column.values.null_count
        if texts and field != "relevant":
            return Contexts.of_texts(_arrow_lists(column))
        column = _python_values(column)
    lists = [None if value == "" else value for value in column]
    if all(value is None for value in lists):
        return None
    try:
        return Contexts.of_grades(lists) if field == "relevant" else Contexts.of(lists)
    except ContextFault:
        raise Odd from None


def values(column: Column) -> Sequence[Any]:
    """Metadata as it is: `Texts` where all are texts, else Python values, whose strings are storable."""
    if is_arrow(column):
        if not column.null_count:
            try:
                return texts_of(column)
            except Odd:
                pass
        column = _python_values(column)
    kinds = set(map(type, column))
    if kinds == {str}:
        return texts_of(column)
    if not kinds - {str} <= PLAIN | {type(ABSENT)}:
        try:
            return [value if value is ABSENT else clean(value, "", "") for value in column]
        except HarnessError:
            raise Odd from None
    if str in kinds:
        texts_of([value for value in column if type(value) is str])
    return list(column)


# ---------------------------------------------------------------- Arrow


def is_arrow(column: Column) -> bool:
    return not isinstance(column, list | tuple)


def _arrow_texts(array: pa.Array) -> Texts:
    import pyarrow as pa

    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if pa.types.is_null(array.type):
        return Texts.nulls(len(array))
    if pa.types.is_string_view(array.type):
        array = array.cast(pa.string())
    if not (pa.types.is_string(array.type) or pa.types.is_large_string(array.type)):
        raise Odd
    try:
        array.validate(full=True)
    except pa.ArrowInvalid:  # a file may say that bytes are text which are not
        raise Odd from None
    texts = Texts(array)
    if array.null_count:
        lengths = np.diff(texts.utf8[1])
        if lengths[~texts.present].any():
            return Texts.of(texts.strings())
    return texts


def _arrow_lists(array: pa.Array) -> TextLists:
    """References from a column of texts, or of lists of texts."""
    import pyarrow as pa

    if pa.types.is_list(array.type) or pa.types.is_large_list(array.type):
        if array.null_count or array.values.null_count:
            return _references([array.to_pylist()], len(array), skip_blank=False)
        offsets = array.offsets
        wide = pa.types.is_large_list(array.type)
        whole = np.frombuffer(offsets.buffers()[1], np.int64 if wide else np.int32)
        starts = whole[offsets.offset : offsets.offset + len(array) + 1].astype(np.int64)
        first, last = int(starts[0]), int(starts[-1])
        return TextLists(texts_of(array.values.slice(first, last - first)), starts - first)
    texts = texts_of(array)
    present = texts.present
    if present.all():
        return TextLists(texts, np.arange(len(array) + 1))
    return TextLists(texts.taken(np.flatnonzero(present)), starts_of(present))


def _python_values(array: pa.Array) -> list[Any]:
    import pyarrow as pa

    if pa.types.is_int64(array.type) and not array.null_count:
        numbers: list[Any] = np.frombuffer(array.buffers()[1], np.int64, len(array), 8 * array.offset).tolist()
        return numbers
    try:
        values: list[Any] = array.to_pylist()
    except (ValueError, OverflowError):
        raise Odd from None
    return values
