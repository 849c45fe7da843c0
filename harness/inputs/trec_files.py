"""Files as TREC has them: lines of fields with white space between them, which say something of a document and a query.

| file | a line |
| --- | --- |
| judgements (qrels) | query, iteration, document, grade |
| a run | query, Q0, document, rank, score, tag |

Lines are read as columns, a piece of the file at a time; a piece in which anything is odd is read once more line by
line, which gives the same or the message. Ids are split at the white space of ASCII only.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from math import isfinite
from pathlib import Path

import numpy as np

from harness.inputs import arrow, files
from harness.inputs.parts import newlines, pieces
from harness.types import Array, HarnessError, Texts
from harness.types.shown import counted
from harness.types.texts import Places, starts_of

WHITE = re.compile(r"[ \t\r\n\f\v]+")


@dataclass(frozen=True)
class Format:
    """What a line of a file has."""

    fields: tuple[str, ...]
    """`query` and `document` among them."""
    number: str
    """The field that says something of the two."""
    whole: bool
    """Whether that is a whole number."""

    @property
    def expected(self) -> str:
        return f"{len(self.fields)} ({', '.join(self.fields)})"

    def value(self, text: str) -> float:
        """The number that a text stands for; a ValueError where it is none."""
        value = int(text) if self.whole else float(text)
        if not isfinite(value) or (abs(value) > 2**53 and self.whole):
            raise ValueError(text)
        return value


Line = tuple[str, str, str, float]
"""(place, query, document, number)."""
Columns = tuple[Texts, Texts, Array]
"""(queries, documents, numbers)."""
QRELS = Format(("query", "iteration", "document", "grade"), "grade", whole=True)
RUN = Format(("query", "Q0", "document", "rank", "score", "tag"), "score", whole=False)


@dataclass(frozen=True)
class Table:
    """What is said of documents, by query: in the order in which a query is first named, and its documents in theirs.

    Query q has the documents from `starts[q]` to `starts[q + 1]`.
    """

    queries: Texts
    """(n,)"""
    starts: Places
    """(n + 1,)"""
    documents: Texts
    """(m,)"""
    values: Array
    """(m,) grades or scores."""

    @classmethod
    def of(cls, queries: Texts, documents: Texts, values: Array) -> Table:
        """Of what each line (m,) says."""
        codes = _codes(queries)
        lines = np.bincount(codes)
        first = np.empty(len(lines), np.int64)
        first[codes[::-1]] = np.arange(len(codes))[::-1]
        named = queries.taken(first)
        if (codes[1:] >= codes[:-1]).all():
            return cls(named, starts_of(lines), documents, values)
        order = np.argsort(codes, kind="stable")
        return cls(named, starts_of(lines), documents.taken(order), values[order])

    def best_first(self) -> Table:
        """The same with the documents of each query from the highest value to the lowest: those whose values are the
        same in 32 bits in falling order of the bytes of their ids, as trec_eval sorts them."""
        from harness.inputs.text_sets import sort_lists

        with np.errstate(over="ignore"):  # what is too large for 32 bits is infinite, there as here
            values = self.values.astype(np.float32)
        order, spare = (np.empty(len(values), np.int64) for _ in range(2))
        if sort_lists(*self.documents.utf8, self.starts, values, order, spare):  # as runs mostly are
            return self
        return Table(self.queries, self.starts, self.documents.taken(order), self.values[order])


def _codes(queries: Texts) -> Places:
    """(m,) the queries as numbers, in the order in which they first appear; mostly the lines of one stand together."""
    from harness.inputs.text_sets import changes

    begins = np.empty(len(queries), np.bool_)
    changes(*queries.utf8, begins)
    codes: Places = arrow.codes(queries.taken(np.flatnonzero(begins)).array)[np.cumsum(begins) - 1]
    return codes


def read_table(path: str | Path, layout: Format, expected: str) -> Table:
    """What a file says, each document once for a query."""
    file = files.existing(path, expected)
    columns = list(_columns(file, layout))
    if not columns:
        raise HarnessError(f"{file} is empty; expected {expected}: lines of {layout.expected} fields")
    queries, documents = (Texts.joined(parts) for parts in zip(*(part[:2] for part in columns), strict=True))
    table = Table.of(queries, documents, np.concatenate([part[2] for part in columns]))
    return unique(table, _lines(file, layout, files.raw_lines(file)))


def unique(table: Table, lines: Iterator[Line]) -> Table:
    """The table, if it names each document once for a query; `lines`: what it was made of, for the message."""
    from harness.inputs.text_sets import first_repeated, rooms

    longest = int(np.diff(table.starts).max(initial=0))
    if first_repeated(*table.documents.utf8, table.starts, *rooms(longest)) < 0:
        return table
    places: dict[tuple[str, str], str] = {}
    for place, query, document, _ in lines:
        if (query, document) in places:
            raise HarnessError(
                f"{place} has the document {document!r} for the query {query!r}, which {places[query, document]} has; "
                "expected it once"
            )
        places[query, document] = place
    raise AssertionError("lines that changed while they were read")


# ---------------------------------------------------------------- lines


def _columns(path: Path, layout: Format) -> Iterator[Columns]:
    number = 1
    for piece in pieces(path):
        columns = _at_once(piece, layout)
        if columns is None:
            lines = list(_lines(path, layout, enumerate(io.BytesIO(piece), start=number)))
            queries, documents = Texts.of([line[1] for line in lines]), Texts.of([line[2] for line in lines])
            columns = queries, documents, np.array([line[3] for line in lines], np.float64)
        if len(columns[0]):
            yield columns
        number += newlines(piece)


def _lines(path: Path, layout: Format, lines: Iterator[tuple[int, bytes]]) -> Iterator[Line]:
    """Each line that has any fields."""
    query, document, number = (layout.fields.index(name) for name in ("query", "document", layout.number))
    for line, raw in lines:
        place = f"{path} line {line}"
        text = files.line_text(path, line, raw)
        cells = [cell for cell in WHITE.split(text) if cell]
        if not cells:
            continue
        if len(cells) != len(layout.fields):
            raise HarnessError(f"{place} has {counted(len(cells), 'field')}; expected {layout.expected}")
        try:
            value = layout.value(cells[number])
        except ValueError:
            kind = "a whole number" if layout.whole else "a finite number"
            raise HarnessError(f"{place} has the {layout.number} {cells[number]!r}; expected {kind}") from None
        yield place, cells[query], cells[document], value


def _at_once(piece: bytes, layout: Format) -> Columns | None:
    """The columns of some lines; None where one of them is odd."""
    import pyarrow as pa

    from harness.inputs.field_kernels import fields

    wanted = [layout.fields.index(name) for name in ("query", "document", layout.number)]
    columns = fields(piece, len(layout.fields), wanted)
    if columns is None:
        return None
    queries, documents, numbers = columns
    try:
        values = numbers.array.cast(pa.int64() if layout.whole else pa.float64())
    except pa.ArrowInvalid:
        return None
    floats = np.frombuffer(values.buffers()[1], np.int64 if layout.whole else np.float64, len(values)).astype(
        np.float64
    )
    if not np.isfinite(floats).all() or (layout.whole and (np.abs(floats) > 2**53).any()):
        return None
    return queries, documents, floats
