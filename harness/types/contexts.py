"""A column of lists of contexts: what was retrieved for each example, what should have been, and what was judged.

A context is a text, or `{"id", "text", "score"}`, or `{"page_content", "metadata": {"doc_uri"}}` as MLflow and
LangChain have it; a list of them may be scores by id, as pytrec_eval and ranx have it, and a run file knows ids alone.
Underneath are columns: the ids, texts and scores of all contexts, one list after the other.

>>> contexts = Contexts.of([["a", {"id": "d2", "text": "b", "score": 0.5}], None, []])
>>> contexts[0]
(Context(text='a', id=None, score=None), Context(text='b', id='d2', score=0.5))
>>> contexts[1], contexts[2], contexts.lengths.tolist(), list(contexts.texts)
(None, (), [2, 0, 0], ['a', 'b'])
>>> Contexts.of_grades([["d1", "d2"], {"d3": 2, "d4": 0}]).grades(1)
{'d3': 2.0, 'd4': 0.0}
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from harness.types.context_columns import plain_contexts, plain_grades
from harness.types.context_forms import List, graded, is_context, listed
from harness.types.nouns import Array, Context
from harness.types.texts import (
    Places,
    TextLists,
    Texts,
    bitmap,
    list_array,
    places_of,
    present_in,
    starts_of,
)

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, eq=False)
class Contexts(Sequence[List | None]):
    """A list of contexts for each of n examples, None where there is none at all."""

    ids: Texts
    """(m,) of all contexts, one list after the other; missing where a context has none."""
    texts: Texts
    """(m,) missing where a context has none."""
    scores: Array
    """(m,) the retriever's, or a grade; NaN where there is none."""
    starts: Places
    """(n + 1,) list i has the contexts from `starts[i]` to `starts[i + 1]`; from 0 to m."""
    given: NDArray[np.bool_]
    """(n,) where there is a list, be it empty."""

    @classmethod
    def of(cls, lists: Sequence[Any]) -> Contexts:
        """Of lists of contexts in any form; None is no list. ContextFault where one is something else."""
        if isinstance(lists, Contexts):
            return lists
        return cls._plain(lists) or cls._of([None if value is None else listed(value) for value in lists])

    @classmethod
    def _plain(cls, lists: Sequence[Any]) -> Contexts | None:
        """Of lists of texts, or of `{"id", "text", "score"}`, which most are; None where there is anything else."""
        kinds = set(map(type, lists))
        if np.ndarray in kinds:  # pandas has them so from a Parquet file
            lists = [value.tolist() if type(value) is np.ndarray else value for value in lists]
            kinds = set(map(type, lists))
        if dict in kinds and not any(is_context(value) for value in lists if value is not None):
            by_id = plain_grades(lists)
            return None if by_id is None else cls._textless(*by_id, lists)
        if not kinds <= {list, tuple, type(None)}:
            return None
        columns = plain_contexts(list(chain.from_iterable(part for part in lists if part is not None)))
        return None if columns is None else cls(*columns, *_bounds(lists))

    @classmethod
    def of_grades(cls, values: Sequence[Any]) -> Contexts:
        """Of ids, each of grade 1, or of grades by id, for each example: contexts without a text."""
        if isinstance(values, Contexts):
            return values
        columns = plain_grades(values)
        if columns is None:
            return cls._of([None if value is None else graded(value) for value in values])
        return cls._textless(*columns, values)

    @classmethod
    def _textless(cls, ids: Texts, numbers: Array, values: Sequence[Any]) -> Contexts:
        return cls(ids, Texts.nulls(len(ids)), numbers, *_bounds(values))

    @classmethod
    def _of(cls, lists: Sequence[List | None]) -> Contexts:
        flat = list(chain.from_iterable(part for part in lists if part is not None))
        scores = [math.nan if context.score is None else context.score for context in flat]
        return cls(
            Texts.of([context.id for context in flat]),
            Texts.of([context.text for context in flat]),
            np.array(scores, np.float64),
            *_bounds(lists),
        )

    @classmethod
    def of_texts(cls, lists: TextLists) -> Contexts:
        """Of texts alone."""
        texts, n = lists.flat, len(lists)
        nothing = np.full(len(texts), np.nan)
        return cls(Texts.nulls(len(texts)), texts, nothing, lists.starts - lists.starts[0], np.ones(n, np.bool_))

    @classmethod
    def of_array(cls, array: pa.Array) -> Contexts:
        """Of a column as `array` gives it; a ValueError where it is of another kind."""
        import pyarrow as pa

        kind = array.type
        holds_lists = pa.types.is_list(kind) or pa.types.is_large_list(kind)
        names = [part.name for part in kind.value_type] if holds_lists and pa.types.is_struct(kind.value_type) else []
        if holds_lists and kind.value_type in (pa.string(), pa.large_string()):
            names = ["text"]
        if names not in (["text"], ["id", "text", "score"], ["id", "grade"]):
            raise ValueError(f"{kind} for lists of contexts")
        given, offsets, width = present_in(array), array.offsets, 8 if pa.types.is_large_list(kind) else 4
        starts = np.frombuffer(offsets.buffers()[1], f"i{width}", len(offsets), offsets.offset * width)
        items = array.flatten()  # without what stands below a null
        columns = {"text": items} if names == ["text"] else dict(zip(names, items.flatten(), strict=True))
        ids, texts = (Texts(columns[name]) if name in columns else Texts.nulls(len(items)) for name in ("id", "text"))
        lengths = np.where(given, np.diff(starts.astype(np.int64)), 0)
        scores = np.full(len(items), np.nan) if names == ["text"] else _floats(columns[names[-1]])
        return cls(ids, texts, scores, starts_of(lengths), given)

    @classmethod
    def nones(cls, n: int) -> Contexts:
        """No list at all, n times."""
        return cls(Texts.nulls(0), Texts.nulls(0), np.empty(0), np.zeros(n + 1, np.int64), np.zeros(n, np.bool_))

    @classmethod
    def joined(cls, parts: Sequence[Contexts]) -> Contexts:
        """One column after the other."""
        if len(parts) == 1:
            return parts[0]
        return cls(
            Texts.joined([part.ids for part in parts]),
            Texts.joined([part.texts for part in parts]),
            np.concatenate([np.empty(0), *(part.scores for part in parts)]),
            starts_of(np.concatenate([np.empty(0, np.int64), *(part.lengths for part in parts)])),
            np.concatenate([np.empty(0, np.bool_), *(part.given for part in parts)]),
        )

    def __len__(self) -> int:
        return len(self.given)

    @overload
    def __getitem__(self, which: int) -> List | None: ...
    @overload
    def __getitem__(self, which: slice) -> Contexts: ...
    def __getitem__(self, which: int | slice) -> List | Contexts | None:
        if not isinstance(which, slice):
            i = range(len(self))[int(which)]
            return next(iter(self[i : i + 1]))
        start, stop, step = which.indices(len(self))
        if step != 1:
            return self.taken(np.arange(start, stop, step))
        starts = self.starts[start : max(stop, start) + 1]
        part = slice(int(starts[0]), int(starts[-1]))
        given = self.given[start : max(stop, start)]
        return Contexts(self.ids[part], self.texts[part], self.scores[part], starts - starts[0], given)

    def __iter__(self) -> Iterator[List | None]:
        scores = [None if math.isnan(score) else score for score in self.scores.tolist()]
        flat = list(map(Context, self.texts.strings(), self.ids.strings(), scores))
        for given, (first, last) in zip(self.given.tolist(), pairwise(self.starts.tolist()), strict=True):
            yield tuple(flat[first:last]) if given else None

    def grades(self, i: int) -> dict[str, float] | None:
        """Of one example, by id."""
        return grades_of(self[i])

    @property
    def lengths(self) -> Places:
        """(n,) how many contexts each list has; 0 where there is none."""
        return np.diff(self.starts)

    @property
    def lists(self) -> TextLists:
        """The texts alone, none where a context has none."""
        return TextLists(self.texts, self.starts)

    def taken(self, places: Places) -> Contexts:
        """Those at these places, in this order."""
        if np.array_equal(places, np.arange(len(self))):
            return self
        inside, starts = places_of(self.starts, places)
        return Contexts(
            self.ids.taken(inside), self.texts.taken(inside), self.scores[inside], starts, self.given[places]
        )

    def otherwise(self, others: Contexts | None) -> Contexts:
        """These, and the others' where there is no list here."""
        if others is None or self.given.all():
            return self
        n = len(self)
        return Contexts.joined([self, others]).taken(np.where(self.given, np.arange(n), n + np.arange(n)))

    @property
    def nbytes(self) -> int:
        return int(self.ids.array.nbytes + self.texts.array.nbytes + self.scores.nbytes + self.starts.nbytes)

    @property
    def of_texts_alone(self) -> bool:
        """Whether nothing is known of any context but its text."""
        return bool(self.texts.array.null_count == 0 and self.ids.array.null_count == len(self.ids)) and bool(
            np.isnan(self.scores).all()
        )

    def array(self, form: str = "context") -> pa.Array:
        """As Arrow has it, for each example a list: of `{id, text, score}`, of `{id, grade}` (form `grade`), or of
        texts (form `text`)."""
        import pyarrow as pa

        given = None if self.given.all() else self.given
        if form == "text":
            return list_array(self.texts.array, self.starts, given)

        numbers = pa.Array.from_buffers(
            pa.float64(),
            len(self.scores),
            [bitmap(~np.isnan(self.scores)), pa.py_buffer(np.ascontiguousarray(self.scores))],
        )
        columns = {"id": self.ids.array, "text": self.texts.array, "score": numbers}
        if form == "grade":
            columns = {"id": self.ids.array, "grade": numbers}
        fields = [pa.field(name, column.type) for name, column in columns.items()]
        items = pa.Array.from_buffers(pa.struct(fields), len(numbers), [None], children=list(columns.values()))
        return list_array(items, self.starts, given)


def _bounds(lists: Sequence[Any]) -> tuple[Places, NDArray[np.bool_]]:
    """((n + 1) where the items of each list begin, (n,) where there is a list)."""
    lengths = np.fromiter((-1 if part is None else len(part) for part in lists), np.int64, len(lists))
    return starts_of(np.maximum(lengths, 0)), lengths >= 0


def grades_of(contexts: List | None) -> dict[str, float] | None:
    """The judged contexts of one example, by id."""
    return None if contexts is None else {str(context.id): context.score or 0.0 for context in contexts}


def _floats(array: pa.Array) -> Array:
    """(m,) NaN where null."""
    numbers = np.frombuffer(array.buffers()[1] or b"", np.float64, len(array), array.offset * 8).copy()
    numbers[~present_in(array)] = np.nan
    return numbers
