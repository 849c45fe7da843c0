"""How much each context counts in a mean over contexts.

>>> contexts = Contexts.of([["a", "b"], [{"text": "c", "score": 3}]])
>>> weights_of("rank", contexts, Batch(["x", "y"], []), "faithfulness").tolist()
[1.0, 0.5, 1.0]
"""

from __future__ import annotations

import numpy as np

from harness.types import Array, Batch, Contexts, HarnessError
from harness.types.context_forms import parsed, shown
from harness.types.real_numbers import is_finite
from harness.types.shown import counted

WEIGHTS = ("rank", "score")
"""Words that are no field of the data."""


def weights_of(option: str | None, contexts: Contexts, batch: Batch, name: str) -> Array:
    """(m,) of all contexts, one list after the other: 0 or more, not all 0 in an example. `name`: the metric's, for
    messages."""
    starts, lengths = contexts.starts, contexts.lengths
    if option is None:
        return np.ones(int(starts[-1]))
    if option == "rank":
        return 1.0 / (1 + np.arange(starts[-1]) - np.repeat(starts[:-1], lengths))
    weights = contexts.scores if option == "score" else _of_field(option, contexts, batch, name)
    row_of = np.repeat(np.arange(len(contexts)), lengths)
    what = "the retriever's score" if option == "score" else repr(option)
    for wrong, fault in ((np.isnan(weights), "is missing"), (weights < 0, "is negative")):
        if wrong.any():
            place = int(np.flatnonzero(wrong)[0])
            row = int(row_of[place])
            number = place - int(starts[row]) + 1
            value = "" if np.isnan(weights[place]) else f" ({weights[place]:g})"
            raise HarnessError(
                f"{name}: {what} of context {number} of {batch.place(row)} {fault}{value}; expected a number of 0 or "
                "more for each context"
            )
    totals = np.bincount(row_of, weights, minlength=len(contexts))
    if ((totals == 0) & (lengths > 0)).any():
        row = int(np.flatnonzero((totals == 0) & (lengths > 0))[0])
        raise HarnessError(
            f"{name}: {what} of all contexts of {batch.place(row)} is 0; expected at least one that weighs something"
        )
    return weights


def _of_field(field: str, contexts: Contexts, batch: Batch, name: str) -> Array:
    values: list[float] = []
    for row, (count, given) in enumerate(zip(contexts.lengths.tolist(), batch.field(field), strict=True)):
        if not count:
            continue
        if isinstance(given, str):  # a CSV file has no other way
            given = parsed(given)
        numbers = given if isinstance(given, list | tuple) else None
        if numbers is None or len(numbers) != count:
            what = shown(given) if numbers is None else counted(len(numbers), "number")
            raise HarnessError(
                f"{name}: {field!r} of {batch.place(row)} is {what}; expected {counted(count, 'number')}, "
                "one for each context"
            )
        for number, value in enumerate(numbers, start=1):
            if not is_finite(value):
                raise HarnessError(
                    f"{name}: {field!r} of context {number} of {batch.place(row)} is {shown(value)}; "
                    "expected a number of 0 or more for each context"
                )
        values += numbers
    return np.array(values, np.float64)
