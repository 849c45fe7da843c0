"""Lists of contexts in the usual forms, as columns at once. What is odd is left to harness/types/context_forms.py,
which looks at contexts one by one and says what is wrong.

>>> ids, texts, scores = plain_contexts([{"id": "d1", "score": 0.5}, {"id": "d2", "text": "a"}])
>>> list(ids), list(texts), scores.tolist()
(['d1', 'd2'], [None, 'a'], [0.5, nan])
>>> plain_contexts([{"page_content": "a"}]) is None
True
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from operator import itemgetter
from typing import Any

import numpy as np

from harness.types.nouns import Array
from harness.types.texts import Texts

Columns = tuple[Texts, Texts, Array]
"""(ids, texts, scores), NaN where there is no score."""
FIELDS = ("id", "text", "score")
NUMBERS = {int, float}


def plain_contexts(flat: Sequence[Any]) -> Columns | None:
    """Of texts alone, or of `{"id", "text", "score"}`; None where there is anything else."""
    values = _values(flat)
    if values is None:
        return None
    n = len(flat)
    texts = _texts(values["text"]) if "text" in values else Texts.nulls(n)
    ids = _ids([values["id"]], n) or _texts(values["id"]) if "id" in values else Texts.nulls(n)
    scores = _numbers(values["score"]) if "score" in values else np.full(n, np.nan)
    if ids is None or texts is None or scores is None or _has_empty(ids):
        return None
    nameless = ids.array.null_count and texts.array.null_count and not (ids.present | texts.present).all()
    return None if nameless else (ids, texts, scores)


def plain_grades(values: Sequence[Any]) -> tuple[Texts, Array] | None:
    """(ids, grades) of all values together: lists of ids, or grades by id; None where there is anything else."""
    given = [value for value in values if value is not None]
    kinds = set(map(type, given))
    if kinds != {dict} and not kinds <= {list, tuple}:
        return None
    n = sum(map(len, given))
    ids = _ids(given, n)
    grades = _numbers(list(chain.from_iterable(map(dict.values, given)))) if kinds == {dict} else np.ones(n)
    if ids is None or grades is None or _has_empty(ids) or np.isnan(grades).any():
        return None
    return ids, grades


def _values(flat: Sequence[Any]) -> Mapping[str, list[Any]] | None:
    """The values by field, of those fields that there are; None where something is neither a text nor has these fields
    alone."""
    if not flat or type(flat[0]) is str:
        return {"text": list(flat)} if set(map(type, flat)) <= {str} else None
    if type(flat[0]) is not dict:
        return None
    fields = [name for name in FIELDS if name in flat[0]]
    try:  # mostly all have the same fields: a third of the time
        values = {name: list(map(itemgetter(name), flat)) for name in fields}
        if sum(map(len, flat)) == len(fields) * len(flat):
            return values
    except (KeyError, TypeError, IndexError):
        pass
    if set(map(type, flat)) != {dict} or not set(FIELDS).issuperset(chain.from_iterable(flat)):
        return None
    return {name: [context.get(name) for context in flat] for name in FIELDS}


def _texts(values: Sequence[Any]) -> Texts | None:
    """A column of texts and None; None where one is something else, or cannot be stored."""
    try:
        texts = Texts.of(values)
    except (TypeError, UnicodeEncodeError):
        return None
    return texts if texts.utf8[0].all() else None  # no NUL


def _ids(lists: Sequence[Iterable[str]], n: int) -> Texts | None:
    """A column of the n ids of all lists; None where one is no text, or cannot be stored. Ids are short: to look for
    what stands between them takes less time than to ask each for its length."""
    if not n:
        return Texts.of([])
    try:
        joined = "\0".join(["\0".join(ids) for ids in lists if ids]).encode()
    except (TypeError, UnicodeEncodeError):
        return None
    ends = np.flatnonzero(np.frombuffer(joined, np.uint8) == 0)
    if len(ends) != n - 1:  # a NUL within one
        return None
    starts = np.concatenate([[0], ends, [len(joined)]])
    starts[1:] -= np.append(np.arange(n - 1), n - 1)
    return Texts.of_bytes(joined.translate(None, b"\0"), starts)


def _has_empty(texts: Texts) -> bool:
    return bool(((np.diff(texts.utf8[1]) == 0) & texts.present).any())


def _numbers(values: Sequence[Any]) -> Array | None:
    """(m,) NaN for None; None where one is no number, or infinite."""
    kinds = set(map(type, values))
    if type(None) in kinds:
        values = [math.nan if value is None else value for value in values]
    if not kinds <= {*NUMBERS, type(None)}:
        return None
    try:
        numbers = np.array(values, np.float64)
    except OverflowError:
        return None
    return None if np.isinf(numbers).any() else numbers
