"""Lists of contexts in the usual forms, as columns at once. What is odd is left to harness/types/context_forms.py,
which looks at contexts one by one and says what is wrong.

>>> plain_contexts([{"id": "d1", "score": 0.5}, {"id": "d2", "text": "a"}])
(['d1', 'd2'], [None, 'a'], [0.5, nan])
>>> plain_contexts([{"page_content": "a"}]) is None
True
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import chain
from typing import Any

Columns = tuple[list[str | None], list[str | None], list[float]]
"""(ids, texts, scores), NaN where there is no score."""
FIELDS = {"id", "text", "score"}
NUMBERS = {int, float}


def plain_contexts(flat: Sequence[Any]) -> Columns | None:
    """Of texts alone, or of `{"id", "text", "score"}`; None where there is anything else."""
    kinds = set(map(type, flat))
    if kinds <= {str}:
        return [None] * len(flat), list(flat), [math.nan] * len(flat)
    if kinds != {dict} or not FIELDS.issuperset(chain.from_iterable(flat)):
        return None
    ids, texts, scores = ([context.get(field) for context in flat] for field in ("id", "text", "score"))
    if not {*map(type, ids), *map(type, texts)} <= {str, type(None)} or "" in ids:
        return None
    if None in ids and any(id_ is None and text is None for id_, text in zip(ids, texts, strict=True)):
        return None
    kinds = set(map(type, scores))
    if type(None) in kinds:
        scores = [math.nan if score is None else score for score in scores]
    return (ids, texts, scores) if kinds <= {*NUMBERS, type(None)} and math.inf not in map(abs, scores) else None


def plain_grades(values: Sequence[Any]) -> tuple[list[str], list[float]] | None:
    """(ids, grades) of all values together: lists of ids, or grades by id; None where there is anything else."""
    given = [value for value in values if value is not None]
    kinds = set(map(type, given))
    if kinds != {dict} and not kinds <= {list, tuple}:
        return None
    ids = list(chain.from_iterable(given))
    grades = list(chain.from_iterable(map(dict.values, given))) if kinds == {dict} else [1.0] * len(ids)
    right = set(map(type, ids)) <= {str} and "" not in ids and set(map(type, grades)) <= NUMBERS
    return (ids, grades) if right and all(map(math.isfinite, grades)) else None
