"""Rows of a file of outputs: which columns they are in, and what each of them holds.

| field | what it is |
| --- | --- |
| `id` | of the example |
| `output` | the text; null: the example failed |
| `error` | why, where it did |
| `repeat` | which of several outputs of the example, from 0 |
| `contexts` | what was retrieved, in the retriever's order |
| `context_ids` | the ids of that, where `contexts` has texts alone, or there is nothing else |

Any other column of numbers, such as what people gave each output, is kept beside it.

>>> fields = Fields({"output": "answer"})
>>> fields.output({"id": "1", "answer": "It rained.", "contexts": ["a"], "context_ids": ["d1"]}, "line 1").contexts
(Context(text='a', id='d1', score=None),)
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.inputs import files
from harness.inputs.blocks import Odd, complete, identifiers, is_arrow, passages_of, texts_of
from harness.inputs.parts import Column, Part
from harness.types import ABSENT, Array, Context, ContextFault, Contexts, HarnessError, Output, Outputs, Texts
from harness.types.context_forms import graded, listed
from harness.types.shown import counted
from harness.types.texts import SMALL

NAMES = {name: name for name in ("id", "output", "error", "repeat", "contexts", "context_ids")}
NULL = "the output is null"
OF_DATA = ("source", "references", "reference_contexts", "relevant")
"""Columns that a file may have because it is the data's as well."""


class Fields:
    """The checked `system.columns`: in which column of a file each field is."""

    def __init__(
        self,
        columns: Mapping[str, Any] | None,
        usual: Mapping[str, str] = NAMES,
        numbered: bool = False,
        ignored: Collection[str] = OF_DATA,
    ) -> None:
        """`usual`: the columns of fields that `columns` does not name. `numbered`: rows of a file without ids have
        their numbers as ids, as those of a data set have. `ignored`: other columns that deserve no warning."""
        given = {field: name for field, name in (columns or {}).items() if name is not None}
        for field, name in given.items():
            if field not in NAMES:
                raise HarnessError(f"system.columns.{field} is not a field; expected one of {', '.join(NAMES)}")
            if not isinstance(name, str):
                raise HarnessError(f"system.columns.{field} is {name!r}; expected the name of a column")
        self.names = {**usual, **given}
        self.numbered = numbered and "id" not in given
        self._needed = {"output", *given} | (set() if self.numbered else {"id"})
        self._known = {*self.names.values(), *ignored}
        self.beside = Beside()
        """Columns that were there and are no field."""

    def columns(self, part: Part, before: int) -> tuple[Texts, Outputs, NDArray[np.int64]]:
        """(ids, outputs, repeats) of some rows; `before`: how many came before them."""
        try:
            if part.columns is None:
                raise Odd
            whole = self._whole(part.columns, before)
            self.beside.add({name: column for name, column in part.columns.items() if name not in self._known}, before)
            return whole
        except Odd:
            pass
        rows, others = [], []
        for number, (place, row) in enumerate(part.rows(), start=before + 1):
            rows.append((*self.key(row, place, number), self.output(row, place)))
            others.append({name: value for name, value in row.items() if name not in self._known})
        names = dict.fromkeys(name for row in others for name in row)
        self.beside.add({name: [row.get(name) for row in others] for name in names}, before)
        ids, repeats, outputs = Texts.of([row[0] for row in rows]), [row[1] for row in rows], [row[2] for row in rows]
        if max(repeats, default=0) > SMALL:
            raise Odd
        return ids, Outputs.of(outputs), np.array(repeats, np.int64)

    def key(self, row: Mapping[str, Any], place: str, number: int) -> tuple[str, int]:
        """(id, repeat) of a row, the `number`th of the file."""
        for field in (field for field in NAMES if field in self._needed):
            if self.names[field] not in row:
                hint = f" (system.columns.{field}=NAME says which has it)"
                raise files.missing_field(place, self.names[field], row, hint)
        name, repeat = self.names["id"], self.names["repeat"]
        id_ = str(number) if self.numbered and name not in row else files.identifier(row[name], place, name)
        try:
            return id_, _whole_number(row.get(repeat, 0))
        except ValueError as error:
            raise HarnessError(f"{place}: '{repeat}' is {error}; expected a whole number from 0") from None

    def output(self, row: Mapping[str, Any], place: str) -> Output:
        """A null output is a failed example: kept, excluded from the scores and counted."""
        text, contexts = row[self.names["output"]], self._contexts(row, place)
        if files.absent(text):
            error = files.text(str(row.get(self.names["error"]) or NULL), place, self.names["error"])
            return Output(None, error, contexts=contexts)
        return Output(files.text(text, place, self.names["output"]), contexts=contexts)

    def _contexts(self, row: Mapping[str, Any], place: str) -> tuple[Context, ...] | None:
        name, named_ids = self.names["contexts"], self.names["context_ids"]
        contexts, ids = (
            None if files.absent(row.get(field)) or row[field] == "" else row[field] for field in (name, named_ids)
        )
        if contexts is None and ids is None:
            return None
        try:
            field = name
            texts = None if contexts is None else listed(contexts)
            field = named_ids
            known = None if ids is None else [context.id for context in graded(ids)]
        except ContextFault as fault:
            raise HarnessError(f"{place}: {fault.of(field)}") from None
        if known is None:
            return texts
        if texts is None:
            return tuple(Context(None, id_) for id_ in known)
        if len(texts) != len(known):
            raise HarnessError(
                f"{place}: '{named_ids}' has {counted(len(known), 'id')}; expected {len(texts)}, one for "
                f"each of '{name}'"
            )
        return tuple(replace(context, id=id_) for context, id_ in zip(texts, known, strict=True))

    # ------------------------------------------------------------ columns

    def _whole(self, columns: Mapping[str, Column], before: int) -> tuple[Texts, Outputs, NDArray[np.int64]]:
        names, n = self.names, len(next(iter(columns.values()), ()))
        if any(names[field] not in columns for field in self._needed):
            raise Odd
        if self.numbered and names["id"] not in columns:
            ids = Texts.of(list(map(str, range(before + 1, before + n + 1))))
        else:
            ids, _ = identifiers(complete(columns, names["id"]))
        outputs = replace(self._outputs(columns), contexts=self._retrieved(columns))
        return ids, outputs, _repeats(columns.get(names["repeat"]), n)

    def _outputs(self, columns: Mapping[str, Column]) -> Outputs:
        texts = texts_of(complete(columns, self.names["output"]))
        if not texts.array.null_count:
            return Outputs.of_texts(texts)
        errors: list[str | None] = [None] * len(texts)
        reasons = columns.get(self.names["error"], [ABSENT] * len(texts))
        reasons = reasons.to_pylist() if is_arrow(reasons) else reasons
        for i in np.flatnonzero(~texts.present).tolist():
            errors[i] = NULL if reasons[i] is ABSENT else str(reasons[i] or NULL)
        return Outputs(texts, texts_of(errors))

    def _retrieved(self, columns: Mapping[str, Column]) -> Contexts | None:
        contexts = passages_of("contexts", self._optional(columns, "contexts"))
        ids = passages_of("relevant", self._optional(columns, "context_ids"))
        if ids is None:
            return contexts
        ids = replace(ids, scores=np.full(len(ids.scores), np.nan))
        if contexts is None:
            return ids
        if not np.array_equal(contexts.given, ids.given) or not np.array_equal(contexts.starts, ids.starts):
            raise Odd
        return replace(contexts, ids=ids.ids)

    def _optional(self, columns: Mapping[str, Column], field: str) -> Column | None:
        column = columns.get(self.names[field])
        if not isinstance(column, list) or ABSENT not in column:
            return column
        if field in self._needed:
            raise Odd
        return [None if value is ABSENT else value for value in column]


class Beside:
    """Columns of a file of outputs that are no field: those of numbers are kept, for metrics, slices and reports."""

    def __init__(self) -> None:
        self._numbers: dict[str, list[tuple[int, Array]]] = {}
        """By name, for each part that has the column, how many rows came before it, and its numbers."""
        self.unread: dict[str, None] = {}
        """Those that hold anything else."""

    def add(self, columns: Mapping[str, Column], before: int) -> None:
        """Of the next rows."""
        for name, column in columns.items():
            numbers = None if name in self.unread else _numbers(column)
            if numbers is None:
                self.unread[name] = None
                self._numbers.pop(name, None)
            else:
                self._numbers.setdefault(name, []).append((before, numbers))

    def columns(self, n: int) -> dict[str, Array]:
        """(n,) the numbers of all rows by name, NaN where there is none."""
        whole = {}
        for name, parts in self._numbers.items():
            whole[name] = np.full(n, np.nan)
            for before, numbers in parts:
                whole[name][before : before + len(numbers)] = numbers
        return whole


def _numbers(column: Column) -> Array | None:
    """(n,) NaN where there is none; None where one of them is something else. In CSV a number is text."""
    values = column.to_pylist() if is_arrow(column) else column
    plain = [None if value is ABSENT or value == "" else value for value in values]
    if not all(value is None or isinstance(value, int | float | str) for value in plain):
        return None
    try:
        return np.array([np.nan if value is None else float(value) for value in plain])
    except (ValueError, OverflowError):
        return None


def _repeats(column: Column | None, n: int) -> NDArray[np.int64]:
    if column is None:
        return np.zeros(n, np.int64)
    values = column.to_pylist() if is_arrow(column) else column
    try:
        return np.fromiter((0 if value is ABSENT else _whole_number(value) for value in values), np.int64, n)
    except (ValueError, OverflowError):
        raise Odd from None


def _whole_number(repeat: Any) -> int:
    """In CSV a number is text."""
    if isinstance(repeat, str) and repeat.isdecimal():
        repeat = int(repeat)
    if not isinstance(repeat, int) or isinstance(repeat, bool) or repeat < 0:
        raise ValueError(repr(repeat))
    return repeat
