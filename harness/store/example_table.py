"""examples.parquet: one row for each example and repeat, with its texts, its metadata and one column per score.

A metadata field has the column of its name, `metadata.<name>` where a text or a score has that one, or where the field
is itself called so: no two fields share a column.

>>> [metadata_name(field, ["bleu"]) for field in ("topic", "output", "metadata.output", "metadata.topic", "bleu")]
['topic', 'metadata.output', 'metadata.metadata.output', 'metadata.topic', 'metadata.bleu']
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from harness.inputs import arrow, regular
from harness.inputs.expanded import check_expanded
from harness.store.repeats import check_repeats
from harness.types import ABSENT, PASSAGES, Contexts, Examples, HarnessError, Lists, Metric, Outputs, Rows, Texts
from harness.types.text_columns import retrieved

if TYPE_CHECKING:
    import pyarrow as pa

OPTIONAL = ("finish", *PASSAGES)
"""Columns that a run has where it knows of any."""
COLUMNS = ("id", "repeat", "source", "references", "output", "error", "raw_output", *OPTIONAL)
PREFIX = "metadata."
EACH = ".each"
"""Of the column beside a score that has a list of it for each example: one number for each context."""
TEXT, FLAG, WHOLE, WIDE, NUMBER, JSON = str, bool, int, "beyond 53 bits", float, "json"
PLAIN: dict[type, Any] = {str: TEXT, bool: FLAG, int: WHOLE, float: NUMBER}


class Layout:
    """How examples are stored: which columns there are, and the type of each metadata field, which must be the same in
    every block. Found from all blocks before the first one is written."""

    def __init__(self) -> None:
        self.ended = False
        """Whether it is known of any output how it ended."""
        self.forms: dict[str, str] = {}
        """How the columns of contexts are stored that any row has: `text` where all are texts and nothing else."""
        self._kinds: dict[str, set[Any]] = {}
        """By field, in the order in which rows have them first."""
        self._first: dict[str, int] = {}
        """The first row that has a field."""
        self._rows = 0

    def see(self, rows: Examples, raw: Outputs) -> None:
        """A block that will be stored."""
        self.ended = self.ended or any(end is not None for end in raw.finish if raw.infos is not None)
        for name, contexts in _passages(rows, raw).items():
            alone = contexts.of_texts_alone and self.forms.get(name, "text") == "text"
            self.forms[name] = "grade" if name == "relevant" else "text" if alone else "context"
        places = {field: _first(column) for field, column in rows.metadata.items() if field not in self._kinds}
        for field, place in sorted(places.items(), key=lambda item: item[1]):
            if place < len(rows):
                self._kinds[field], self._first[field] = set(), self._rows + place
        for field, column in rows.metadata.items():
            if field in self._kinds:
                self._kinds[field].update(_kinds(column))
        self._rows += len(rows)

    @property
    def names(self) -> Collection[str]:
        """The fields that any row has."""
        return self._kinds.keys()

    @property
    def fields(self) -> dict[str, dict[str, Any]]:
        """What the table does not tell: the first row that has a field, and whether its values are JSON. Fields that
        every row has from the first on, as they are, are left out."""
        described = {
            field: {"first": self._first[field], "json": isinstance(_type_of(kinds), str)}
            for field, kinds in self._kinds.items()
        }
        return {field: about for field, about in described.items() if about["first"] or about["json"]}

    def table(
        self, rows: Examples, raw: Outputs, processed: Outputs, scores: Mapping[str, NDArray[Any] | Lists]
    ) -> pa.Table:
        """A block of examples.parquet; `scores`: for each name those of the rows (n,), or a list for each row."""
        import pyarrow as pa

        columns: dict[str, Any] = {
            "id": rows.ids.array,
            "repeat": arrow.numbers(rows.repeat),
            "source": rows.sources.array,
            "references": rows.references.array,
            "output": processed.texts.array,
            "error": processed.errors.array,
            "raw_output": raw.texts.array,
        }
        if self.ended:
            columns["finish"] = arrow.texts(raw.finish)
        passages = _passages(rows, raw)
        for name in (name for name in PASSAGES if name in self.forms):
            columns[name] = passages.get(name, Contexts.nones(len(rows))).array(self.forms[name])
        for field, kinds in self._kinds.items():
            column = rows.metadata.get(field, [None] * len(rows))
            columns[metadata_name(field, scores)] = _stored(column, kinds)
        for name, values in scores.items():
            columns[name] = arrow.number_lists(values) if isinstance(values, Lists) else arrow.numbers(values)
        return pa.table(columns)


def _passages(rows: Examples, raw: Outputs) -> dict[str, Contexts]:
    """By name the columns of contexts that there are; what the system retrieved goes before what came with the data."""
    contexts = retrieved(rows, raw.contexts)
    return {**rows.passages, **({} if contexts is None else {"contexts": contexts})}


def example_scores(metrics: Mapping[str, Metric], rows: Mapping[str, Rows]) -> dict[str, NDArray[Any] | Lists]:
    """For each score of these metrics that of each example (n,); lists beside them (`faithfulness.each`) as such."""
    scores: dict[str, NDArray[Any] | Lists] = {}
    for key, metric in metrics.items():
        values = metric.score_examples(rows[key].values)
        for i, name in enumerate(metric.score_names):
            if name in COLUMNS:
                raise HarnessError(
                    f"a score of {metric.name} is called {name!r}, the name of a column; expected another name"
                )
            scores[name] = values[:, i]
        scores |= metric.example_lists(rows[key])
    return scores


def metadata_name(field: str, scores: Iterable[str]) -> str:
    """The column of a metadata field: its own name unless that is taken."""
    bare = field
    while bare.startswith(PREFIX):
        bare = bare.removeprefix(PREFIX)
    return PREFIX + field if bare in COLUMNS or bare.removesuffix(EACH) in scores else field


def metadata_field(column: str, scores: Iterable[str]) -> str:
    """The metadata field of a column, the other way round."""
    field = column.removeprefix(PREFIX)
    return field if metadata_name(field, scores) == column else column


def _kinds(column: Sequence[Any]) -> set[Any]:
    """What a field holds: some of `TEXT`, `FLAG`, `WHOLE`, `WIDE`, `NUMBER` and `JSON`, or an Arrow type."""
    if isinstance(column, Texts):
        return {TEXT} if column.array.null_count < len(column) else set()
    values = [value for value in column if value is not None and value is not ABSENT]
    types = set(map(type, values))
    if int in types and types <= PLAIN.keys():
        sizes = [abs(value) for value in values if type(value) is int]
        whole = JSON if max(sizes) > 2**63 - 1 else WIDE if max(sizes) > 2**53 else WHOLE
        return {PLAIN[kind] for kind in types - {int}} | {whole}
    if types <= PLAIN.keys():
        return {PLAIN[kind] for kind in types}
    if any(_holds_mapping(value) for value in values):
        return {JSON}
    import pyarrow as pa

    try:
        return {arrow.values(values).type}
    except (pa.ArrowException, TypeError, OverflowError):
        return {JSON}


def _holds_mapping(value: Any) -> bool:
    return isinstance(value, Mapping) or (isinstance(value, list) and any(isinstance(x, Mapping) for x in value))


def _first(column: Sequence[Any]) -> int:
    """The place of the first row that has the field; that after the last one where none has."""
    if isinstance(column, Texts):
        return 0
    return next((place for place, value in enumerate(column) if value is not ABSENT), len(column))


def _type_of(kinds: set[Any]) -> Any:
    """How a field that holds these kinds is stored: as `str`, `bool`, `int`, `float`, an Arrow type or `JSON`; None
    where there is no value."""
    import pyarrow as pa

    if not kinds:
        return None
    if kinds in ({TEXT}, {FLAG}):
        return next(iter(kinds))
    if kinds <= {WHOLE, WIDE}:
        return int
    if kinds <= {WHOLE, NUMBER}:
        return float
    types = [kind for kind in kinds if isinstance(kind, pa.DataType)]
    if len(types) == len(kinds):
        try:
            fields = [pa.schema([("field", kind)]) for kind in sorted(types, key=str)]
            return pa.unify_schemas(fields, promote_options="permissive").field("field").type
        except pa.ArrowException:
            pass
    return JSON


def _stored(column: Sequence[Any], kinds: set[Any]) -> Any:
    """The Arrow array of a field that holds these kinds in all blocks; values of several kinds become their JSON."""
    import pyarrow as pa

    if kinds <= {TEXT} and isinstance(column, Texts):
        return column.array if kinds else pa.nulls(len(column))
    values, stored = [None if value is ABSENT else value for value in column], _type_of(kinds)
    if stored is None:
        return pa.nulls(len(values))
    if isinstance(stored, type):
        return arrow.values(values, stored)
    if not isinstance(stored, str):
        try:
            made = arrow.values(values)
            return made if made.type == stored else pa.array(values, stored)
        except (pa.ArrowException, TypeError, OverflowError):
            pass
    return arrow.texts([None if v is None else json.dumps(v, sort_keys=True, default=str) for v in values])


@dataclass(frozen=True)
class Expected:
    """What the examples of a run must fit."""

    rows: int | None = None
    """How many rows of statistics there are, where that is known."""
    fields: tuple[str, ...] = ()
    """Columns that the run names: clusters, strata."""
    scores: tuple[str, ...] = ()


def read_examples(folder: Path, expected: Expected | None = None) -> pa.Table:
    """The table of a stored run, with the columns that every run has."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = folder / "examples.parquet"
    try:
        regular.check(path)
        with pq.ParquetFile(path) as file:  # read_table would import pandas
            check_expanded(path, file)
            table = file.read().replace_schema_metadata(None)  # what pandas is told there, a run does not write
        _check(table, expected or Expected())
    except (OSError, ValueError, OverflowError, pa.ArrowException) as error:
        why = getattr(error, "strerror", None) or error
        raise HarnessError(f"{path} cannot be read ({why}); expected the examples of a run") from None
    return table


def _check(table: pa.Table, expected: Expected) -> None:
    """ValueError where the table is not that of a run."""
    import pyarrow.compute as pc
    import pyarrow.types as kinds

    table.validate(full=True)
    names = table.schema.names
    if twice := [name for name, count in Counter(names).items() if count > 1]:
        raise ValueError(f"two columns {twice[0]!r}")
    for name in (*(name for name in COLUMNS if name not in OPTIONAL), *expected.fields):
        if name not in names:
            raise ValueError(f"no column {name!r}")
    for name in names:
        column, kind = table.column(name), table.schema.field(name).type
        if name == "references":
            right = (kinds.is_list(kind) or kinds.is_large_list(kind)) and _is_text(kind.value_type)
            right = right and not column.null_count and not column.combine_chunks().flatten().null_count
        elif name == "repeat":
            right = kinds.is_integer(kind) and not column.null_count
            right = right and all(0 <= end.as_py() < len(column) for end in pc.min_max(column).values() if len(column))
        elif name in PASSAGES:
            right = _is_passages(column)
        elif name in COLUMNS:
            right = _is_text(kind) and not (name == "id" and column.null_count)
        elif name in expected.scores:
            right = kinds.is_float64(kind)
        elif _is_text(kind) or (kinds.is_primitive(kind) and not kinds.is_temporal(kind)):
            right = True
        else:
            column.to_pylist()  # a time past the year 9999 is no value of Python's
            right = True
        if not right:
            raise ValueError(f"the column {name!r} is not as a run writes it, but of {kind}")
    if expected.rows is not None and table.num_rows != expected.rows:
        raise ValueError(f"{table.num_rows} rows, and {expected.rows} of statistics")
    if _repeated(table):
        raise ValueError("an id twice")
    check_repeats(table)


def _repeated(table: pa.Table) -> bool:
    """Whether two rows have the same id and repeat. `group_by` would import pandas."""
    ids, n = arrow.codes(arrow.whole(table.column("id"))), table.num_rows
    if ids.max(initial=-1) + 1 == n:
        return False
    return bool(len(np.unique(ids * n + arrow.integers(table.column("repeat")))) < n)


def _is_passages(column: pa.ChunkedArray) -> bool:
    """Whether a column holds lists of contexts, each with an id or a text, as a run writes them."""
    import pyarrow as pa

    try:
        contexts = Contexts.of_array(arrow.whole(column))
    except (ValueError, pa.ArrowException):
        return False
    kinds = [contexts.ids.array.type, contexts.texts.array.type]
    return all(map(_is_text, kinds)) and bool((contexts.ids.present | contexts.texts.present).all())


def _is_text(kind: pa.DataType) -> bool:
    import pyarrow.types as kinds

    return bool(kinds.is_string(kind) or kinds.is_large_string(kind))
