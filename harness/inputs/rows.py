"""From rows with named fields to examples: what all tabular data sets share.

A field is a column (`dataset.columns.source=article`), a field inside one (`translation.de`, where no column has that
very name), or a Jinja template over the row (`'dataset.columns.source="{{ title }}: {{ body }}"'`); references are one
of these or a list of them. Columns so named, and those that a template of the references mentions, are not metadata:
a system is shown all metadata, and must not see the answer in it. `contexts` (a retrieval that comes with the data),
`reference_contexts` and `relevant` are fields of their own, the last two never shown either.

>>> rows = [("row 1", {"id": 7, "translation": {"de": "Hallo", "en": "Hello"}, "domain": "chat"})]
>>> list(examples_of(lambda: rows, {"source": "translation.de", "references": ["translation.en"]}, cluster=None))
[Example(id='7', source='Hallo', references=('Hello',), metadata={'domain': 'chat'}, repeat=0)]
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.inputs import files
from harness.inputs.templates import MissingField, NullField, Template, TemplateFault, mentioned
from harness.types import PASSAGES, ContextFault, Example, HarnessError
from harness.types.context_forms import graded, listed

FIELDS = ("id", "source", "references", *PASSAGES)
UNSEEN = ("references", "reference_contexts", "relevant")
"""Fields that no system is shown, nor the columns that a template of one mentions."""
DEEPEST = 64
"""Levels of lists and mappings in metadata: no data has more, and Parquet files of a few hundred cannot be read."""
PLAIN = frozenset({int, float, bool, type(None)})
"""Kinds of metadata in which there is nothing to check."""
SLOTS, MOVED = 2**10, 2**16
"""Of the smallest table of ids, and how many are moved to a larger one at a time."""
Get = Callable[[Mapping[str, Any], str], Any]
"""(row, place) -> the value of a field."""


class Columns:
    """The checked `columns` option: where each field of an example comes from."""

    def __init__(
        self, columns: Mapping[str, Any] | None, optional: Collection[str] = (), drop: Iterable[str] = ()
    ) -> None:
        """`optional`: fields whose columns a row may lack though they are named. `drop`: columns that are no part of
        the data, such as the answers in a file that holds both."""
        named: dict[str, list[str]] = {}
        for field, value in (columns or {}).items():
            if field not in FIELDS:
                raise HarnessError(f"dataset.columns.{field} is not a field; expected one of {', '.join(FIELDS)}")
            if value is not None:
                named[field] = [str(name) for name in (value if isinstance(value, list | tuple) else [value])]
        for field in (name for name in FIELDS if name != "references"):
            if len(named.get(field, [""])) != 1:
                raise HarnessError(f"dataset.columns.{field} names {len(named[field])} columns; expected one")
        self.named = frozenset(named).difference(optional)
        """Fields whose columns the user named, and every row must have."""
        names = {field: named.get(field, [field]) for field in FIELDS}
        self.gets: dict[str, list[tuple[str, Get]]] = {
            field: [(name, _get(name, f"dataset.columns.{field}")) for name in names[field]] for field in FIELDS
        }
        plain = {name for group in names.values() for name in group if not _is_template(name)}
        unseen = [name for field in UNSEEN for name in named.get(field, [])]
        self.taken = plain | _mentioned(unseen) | set(drop)
        """Top-level columns that are not metadata."""
        self.inside = [name.split(".") for name in sorted(plain) if "." in name]
        """Paths of nested fields that are not metadata."""

    def metadata(self, row: Mapping[str, Any], place: str) -> dict[str, Any]:
        """All other fields, as they are; their strings must be storable."""
        taken = self.taken
        kept = {
            k: v if (v.isascii() and "\0" not in v if type(v) is str else type(v) in PLAIN) else clean(v, place, k)
            for k, v in row.items()
            if k not in taken
        }
        for path in self.inside:
            if path[0] in kept and ".".join(path) not in row:
                rest = _without(kept[path[0]], path[1:])
                if rest or not isinstance(rest, Mapping):
                    kept[path[0]] = rest
                else:
                    del kept[path[0]]
        return kept


class Reader:
    """Rows become examples. What must be known of the rows before is kept, so that some can be read one by one and
    others as columns (harness/inputs/blocks.py)."""

    def __init__(
        self,
        again: Callable[[], Iterable[files.Row]],
        columns: Columns | Mapping[str, Any] | None,
        cluster: str | None,
        blank_is_absent: bool = False,
    ) -> None:
        """`again`: reads all rows from the first. `blank_is_absent`: with several reference columns, an empty cell is
        not a reference (CSV knows no null)."""
        self._again, self.cluster = again, cluster
        self.mapped = columns if isinstance(columns, Columns) else Columns(columns)
        self.skip_blank = blank_is_absent and len(self.mapped.gets["references"]) > 1
        self.with_id: bool | None = None
        """None before the first row. Ids are the row numbers where no row has an id."""
        self.number = 0
        """How many rows were read."""
        self.ids = Ids()
        self._checked: set[str] = set()

    def start(self, names: Container[str]) -> bool:
        """Told the fields of the first row; whether rows have ids."""
        if self.with_id is None:
            self.with_id = "id" in self.mapped.named or "id" in names
        return self.with_id

    def example(self, place: str, row: Mapping[str, Any]) -> Example:
        """The example of the next row."""
        mapped = self.mapped
        ((source_name, get_source),), references = mapped.gets["source"], mapped.gets["references"]
        source_named, references_named = "source" in mapped.named, "references" in mapped.named
        id_ = self._id(place, row)
        source = row[source_name] if source_name in row else get_source(row, place) if source_named else None
        reference_texts: list[str] = []
        for name, get in references:
            value = row[name] if name in row else get(row, place) if references_named else None
            if self.skip_blank and value == "":
                continue
            for item in value if isinstance(value, list | tuple) else (value,):
                if not files.absent(item):
                    reference_texts.append(files.text(item, place, name))
        if not self._checked.issuperset(row):
            files.check_width(row, place)
            self._checked.update(files.text(key, place, key) for key in row)
        metadata = mapped.metadata(row, place)
        if self.cluster is not None:
            unit = _cluster(row, place, self.cluster)
            metadata.setdefault(self.cluster, unit)
        text = None if files.absent(source) else files.text(source, place, source_name)
        passages = {field: self._passages(field, place, row) for field in PASSAGES}
        return Example(id_, text, tuple(reference_texts), metadata, **passages)

    def _passages(self, field: str, place: str, row: Mapping[str, Any]) -> Any:
        """The contexts of a row in one of the fields that hold any."""
        ((name, get),) = self.mapped.gets[field]
        value = row[name] if name in row else get(row, place) if field in self.mapped.named else None
        if files.absent(value) or value == "":
            return None
        try:
            return graded(value) if field == "relevant" else listed(value)
        except ContextFault as fault:
            raise HarnessError(f"{place}: {fault.of(name)}") from None

    def _id(self, place: str, row: Mapping[str, Any]) -> str:
        self.number += 1
        if not self.start(row):
            if "id" in row:
                raise HarnessError(
                    f"{place} has an 'id', and the rows before it have none; expected one in all rows, or in none"
                )
            return str(self.number)
        ((name, get),) = self.mapped.gets["id"]
        id_ = files.identifier(row[name] if name in row else get(row, place), place, name)
        if not self.ids.add(id_):
            first = _first_place(self._again, self.number - 1, id_, partial(_identifier, get, name))
            if first is not None:
                raise HarnessError(f"{place} has the id {id_!r}, already used in {first}; expected unique ids")
        return id_


def examples_of(
    rows: Callable[[], Iterable[files.Row]],
    columns: Mapping[str, Any] | None,
    cluster: str | None,
    blank_is_absent: bool = False,
) -> Iterator[Example]:
    """Examples from rows, which can be read again, one by one."""
    reader = Reader(rows, columns, cluster, blank_is_absent)
    for place, row in rows():
        yield reader.example(place, row)


def _identifier(get: Get, name: str, row: Mapping[str, Any], place: str) -> str:
    return files.identifier(get(row, place), place, name)


def _cluster(row: Mapping[str, Any], place: str, name: str) -> Any:
    value = _lookup(row, place, name, f" (dataset.cluster={name})")
    if value is None:
        raise HarnessError(f"{place}: '{name}' is null; expected the cluster of the example (dataset.cluster)")
    return clean(value, place, name)


# ---------------------------------------------------------------- ids


class Ids:
    """The ids so far, as 64-bit hashes in an open-addressing table: 12 to 24 bytes an id, whatever its length."""

    def __init__(self) -> None:
        self._count, self._slots = 0, SLOTS
        self._table = np.zeros(self._slots, np.int64).data

    def add(self, id_: str) -> bool:
        """Adds an id; False where an id of this hash is there: almost surely the same, which the caller looks up."""
        self._make_room(1)
        key, table, mask = hash(id_) or 1, self._table, self._slots - 1
        slot = key & mask
        while held := table[slot]:
            if held == key:
                return False
            slot = (slot + 1) & mask
        table[slot] = key
        self._count += 1
        return True

    def add_all(self, ids: Iterable[str]) -> bool:
        """Adds many; False, and none is added, where two of them, or one and an earlier one, have the same hash."""
        keys = np.fromiter(map(hash, ids), np.int64)
        keys[keys == 0] = 1
        ordered = np.sort(keys)
        if (ordered[1:] == ordered[:-1]).any() or self._any_held(keys):
            return False
        self._make_room(len(keys))
        self._put(keys)
        return True

    def _any_held(self, keys: NDArray[np.int64]) -> bool:
        table, mask = np.asarray(self._table), self._slots - 1
        slots = keys & mask
        while len(keys):
            held = table[slots]
            if (held == keys).any():
                return True
            others = held != 0
            keys, slots = keys[others], (slots[others] + 1) & mask
        return False

    def _put(self, keys: NDArray[np.int64]) -> None:
        """Adds keys that differ from each other and from all that are there."""
        table, mask = np.asarray(self._table), self._slots - 1
        self._count += len(keys)
        slots = keys & mask
        while len(keys):
            free = table[slots] == 0
            table[slots[free]] = keys[free]  # of several with one slot the last stays
            displaced = table[slots] != keys
            keys, slots = keys[displaced], (slots[displaced] + 1) & mask

    def _make_room(self, more: int) -> None:
        if (self._count + more) * 3 <= self._slots * 2:
            return
        old = np.asarray(self._table)
        while (self._count + more) * 3 > self._slots * 2:
            self._slots *= 2
        self._table, self._count = np.zeros(self._slots, np.int64).data, 0
        for start in range(0, len(old), MOVED):
            block = old[start : start + MOVED]
            self._put(block[block != 0])


def _first_place(
    rows: Callable[[], Iterable[files.Row]], before: int, id_: str, id_of: Callable[[Mapping[str, Any], str], str]
) -> str | None:
    """Reads the rows again for the first of that id; None where the hashes of two ids were the same by chance."""
    for _, (place, row) in zip(range(before), rows(), strict=False):
        if id_of(row, place) == id_:
            return place
    return None


# ---------------------------------------------------------------- fields


def _get(name: str, option: str) -> Get:
    return _template(name, option) if _is_template(name) else partial(_column, name)


def _column(name: str, row: Mapping[str, Any], place: str) -> Any:
    return _lookup(row, place, name)


def _lookup(row: Mapping[str, Any], place: str, name: str, hint: str = "") -> Any:
    """The column of that name, else the field that its dots lead to."""
    if name in row:
        return row[name]
    value: Any = row
    parts = name.split(".")
    for i, part in enumerate(parts):
        if not isinstance(value, Mapping) or part not in value:
            if i and isinstance(value, Mapping):
                hint = f" ('{'.'.join(parts[:i])}' has: {files.listed(value) or 'nothing'})" + hint
            raise files.missing_field(place, name, row, hint)
        value = value[part]
    return value


def _is_template(name: str) -> bool:
    return "{{" in name or "{%" in name


def _template(source: str, option: str) -> Get:
    try:
        template = Template(source)
    except TemplateFault as error:
        raise HarnessError(
            f"{option}={source} is not a template ({error}); expected Jinja over the row's fields, "
            "for instance {{ title }}: {{ body }}"
        ) from None

    def get(row: Mapping[str, Any], place: str) -> str:
        try:
            return template(row)
        except MissingField as error:
            names = files.listed(row) or "nothing"
            raise HarnessError(f"{place}: {option}={source}: {error}; found: {names}") from None
        except NullField:
            raise HarnessError(
                f"{place}: {option}={source} cannot be filled in "
                "(a part of it is null; where that can happen, write {{ field or '' }})"
            ) from None
        except TemplateFault as error:
            raise HarnessError(f"{place}: {option}={source} cannot be filled in ({error})") from None

    return get


def _mentioned(names: Iterable[str]) -> set[str]:
    """The columns that the templates among the names use."""
    return {column for name in names if _is_template(name) for column in mentioned(name)}


# ---------------------------------------------------------------- metadata


def clean(value: Any, place: str, field: str, levels: int = DEEPEST) -> Any:
    """Metadata is kept as it is; its strings must be storable too."""
    if isinstance(value, str):
        return files.text(value, place, field)
    if not isinstance(value, Mapping | list | tuple):
        return value
    if not levels:
        raise HarnessError(f"{place}: '{field[:60]}' is nested more than {DEEPEST} levels deep; expected fewer")
    if isinstance(value, Mapping):
        return {k: clean(v, place, f"{field}.{k}", levels - 1) for k, v in value.items()}
    return [clean(v, place, field, levels - 1) for v in value]


def _without(value: Any, path: list[str]) -> Any:
    """A copy of nested mappings without one leaf, and without what that leaves empty."""
    if not isinstance(value, Mapping) or not path or path[0] not in value:
        return value
    rest = {k: v for k, v in value.items() if k != path[0]}
    inner = _without(value[path[0]], path[1:]) if len(path) > 1 else None
    return {**rest, path[0]: inner} if inner else rest
