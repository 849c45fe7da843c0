"""Which slice each example of a run is in: by a field, a length, an expression, or what its words are like.

| slices | by |
| --- | --- |
| `domain` | the values of a field of the data; numbers of which there are many, in bins |
| `len(source) > 200` | whether an expression of the fields holds, as in `dataset.filter` |
| `source_length`, `reference_length` | words, or characters where the language writes no spaces |
| `word_frequency` | how often the rarest word of an example's references occurs in the references of all |
| `novelty` | the share of its references' words, in percent, that its source does not have |

All of these depend on the data alone, so that the slices of every system are the same. The last three are what
compare-mt divides sentences and words by (Neubig et al. 2019).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from harness.inputs.templates import Expression, TemplateFault
from harness.stats.slices.slicing import DOZEN, Split, by_number, by_value, is_missing, is_number
from harness.types import IMPORTED, PASSAGES, HarnessError, RunResult, nearest

OWN = ("id", "repeat", "source", "references", "output", "error", "raw_output", "finish", *PASSAGES)
"""Columns of examples.parquet that are no fields of the data."""
EACH = ".each"
"""Ends the name of a column beside a score that lists it for each context."""
LENGTHS = {"source_length": "source", "reference_length": "references"}
LONGEST_WORDS = 12
"""Characters a space, on average, up to which these are between words: 6 to 9 in languages that write them so; Chinese
and Thai, where they are between clauses, have more."""


def divided(run: RunResult, by: str) -> Split:
    """The slice of each row of a run."""
    if by in fields_of(run):
        return of_values(run.columns(by).column(by).to_pylist())
    if by in LENGTHS:
        return by_number(lengths_of(run, LENGTHS[by])[0])
    if by in _READY:
        return by_number(_READY[by](run))
    if by.isidentifier():
        known = [*LENGTHS, *_READY, *fields_of(run)]
        raise HarnessError(
            f"the examples of {run.dataset} have no field {by!r}{nearest(by, known)}; expected one of "
            f"{', '.join(known)}, or an expression such as len(source) > 200"
        )
    return by_value(_of_expression(run, by))


def of_values(values: Sequence[Any]) -> Split:
    """By a field: its values, or bins where they are many numbers."""
    present = [value for value in values if not is_missing(value)]
    many = all(map(is_number, present)) and len(set(map(repr, present))) > DOZEN
    return by_number(values) if many else by_value(values)


def fields_of(run: RunResult) -> list[str]:
    """The fields of the data, of those that examples.parquet has."""
    taken = {*OWN, *run.scores, *(name for rows in run.statistics.values() for name in rows.metric.score_names)}
    names = (name for name in run.table.column_names if not name.startswith(IMPORTED))
    return [name for name in names if name.removesuffix(EACH) not in taken]


def texts_of(value: Any) -> list[str]:
    """Of a cell that holds a text, several or none."""
    return [value] if isinstance(value, str) else [] if is_missing(value) else list(value)


def lengths_of(run: RunResult, column: str, words: bool | None = None) -> tuple[list[float | None], bool]:
    """(the length of each text, or the mean of several; whether in words).

    Characters are counted where the first texts have few spaces; `words` says which where that is known.
    """
    cells = [texts_of(value) for value in run.columns(column).column(column).to_pylist()]
    if words is None:
        sample = [text for texts in cells[:200] for text in texts]
        words = " ".join(sample).count(" ") * LONGEST_WORDS >= sum(map(len, sample)) or not any(sample)
    counts = [[len(text.split()) if words else len(text) for text in texts] for texts in cells]
    return [round(sum(some) / len(some)) if some else None for some in counts], words


def _of_expression(run: RunResult, by: str) -> list[bool]:
    place = f"the slices by {by}"
    try:
        value_of = Expression(by)
    except TemplateFault as error:
        raise HarnessError(f"{place}: not an expression ({error}); expected for instance len(source) > 200") from None
    names = ("id", "source", "references", *fields_of(run))
    columns = {name: run.columns(name).column(name).to_pylist() for name in names}
    values = []
    for i in range(len(columns["id"])):
        fields = {name: column[i] for name, column in columns.items()}
        try:
            value = value_of(fields)
        except TemplateFault as error:
            raise HarnessError(
                f"{place} fail on the example {fields['id']!r} ({error}); it has: {', '.join(fields)}"
            ) from None
        if not isinstance(value, bool):
            raise HarnessError(
                f"{place}: {str(value)[:40]!r} for the example {fields['id']!r}; expected true or false, or a field"
            )
        values.append(value)
    return values


def _words(run: RunResult, column: str) -> list[list[str]]:
    """The words of each cell, all of its texts together."""
    return [
        [w for text in texts_of(v) for w in text.lower().split()]
        for v in run.columns(column).column(column).to_pylist()
    ]


def _word_frequency(run: RunResult) -> list[float | None]:
    """How often the rarest word of each example's references occurs in all of them; of repeats, one counts."""
    of_references = _words(run, "references")
    first = np.asarray(run.columns("repeat").column("repeat").to_numpy()) == 0
    counts = Counter(word for words, counted in zip(of_references, first, strict=True) if counted for word in words)
    return [min(counts[word] for word in words) if words else None for words in of_references]


def _novelty(run: RunResult) -> list[float | None]:
    """The share in percent of each example's words of references that its source does not have."""
    pairs = zip(_words(run, "references"), map(set, _words(run, "source")), strict=True)
    return [
        round(100 * sum(w not in source for w in words) / len(words)) if words and source else None
        for words, source in pairs
    ]


_READY: Mapping[str, Callable[[RunResult], list[float | None]]] = {
    "word_frequency": _word_frequency,
    "novelty": _novelty,
}
