"""From rows with named fields to examples: what all tabular data sets share.

A field is a column (`dataset.columns.source=article`), a field inside one (`translation.de`, where no column has that
very name), or a Jinja template over the row (`'dataset.columns.source="{{ title }}: {{ body }}"'`); references are one
of these or a list of them. Columns so named, and those that a template of the references mentions, are not metadata:
a system is shown all metadata, and must not see the answer in it.

>>> rows = [("row 1", {"id": 7, "translation": {"de": "Hallo", "en": "Hello"}, "domain": "chat"})]
>>> list(examples_of(lambda: rows, {"source": "translation.de", "references": ["translation.en"]}, cluster=None))
[Example(id='7', source='Hallo', references=('Hello',), metadata={'domain': 'chat'}, repeat=0)]
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

from harness.inputs import files
from harness.inputs.templates import MissingField, NullField, Template, TemplateFault, mentioned
from harness.types import Example, HarnessError

FIELDS = ("id", "source", "references")
PLAIN = frozenset({int, float, bool, type(None)})
"""Kinds of metadata in which there is nothing to check."""
BLOCK = 2**10
"""Slots of the smallest table of ids, and how many are moved to a larger one at a time."""
Get = Callable[[Mapping[str, Any], str], Any]
"""(row, place) -> the value of a field."""


class Columns:
    """The checked `columns` option: where each field of an example comes from."""

    def __init__(self, columns: Mapping[str, Any] | None) -> None:
        named: dict[str, list[str]] = {}
        for field, value in (columns or {}).items():
            if field not in FIELDS:
                raise HarnessError(f"dataset.columns.{field} is not a field; expected one of {', '.join(FIELDS)}")
            if value is not None:
                named[field] = [str(name) for name in (value if isinstance(value, list | tuple) else [value])]
        for field in ("id", "source"):
            if len(named.get(field, [""])) != 1:
                raise HarnessError(f"dataset.columns.{field} names {len(named[field])} columns; expected one")
        self.named = frozenset(named)
        """Fields whose columns the user named."""
        names = {field: named.get(field, [field]) for field in FIELDS}
        self.gets: dict[str, list[tuple[str, Get]]] = {
            field: [(name, _get(name, f"dataset.columns.{field}")) for name in names[field]] for field in FIELDS
        }
        plain = {name for group in names.values() for name in group if not _is_template(name)}
        self.taken = plain | _mentioned(named.get("references", []))
        """Top-level columns that are not metadata."""
        self.inside = [name.split(".") for name in sorted(plain) if "." in name]
        """Paths of nested fields that are not metadata."""

    def metadata(self, row: Mapping[str, Any], place: str) -> dict[str, Any]:
        """All other fields, as they are; their strings must be storable."""
        taken = self.taken
        kept = {
            k: v if (v.isascii() and "\0" not in v if type(v) is str else type(v) in PLAIN) else _clean(v, place, k)
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


def examples_of(
    rows: Callable[[], Iterable[files.Row]],
    columns: Mapping[str, Any] | None,
    cluster: str | None,
    blank_is_absent: bool = False,
) -> Iterator[Example]:
    """Examples from rows, which can be read again. Ids are the row numbers where no row has an id.

    `blank_is_absent`: with several reference columns, an empty cell is not a reference (CSV knows no null).
    """
    mapped = Columns(columns)
    ((id_name, get_id),), ((source_name, get_source),), references = (mapped.gets[field] for field in FIELDS)
    source_named, references_named = "source" in mapped.named, "references" in mapped.named
    skip_blank = blank_is_absent and len(references) > 1
    with_id: bool | None = None
    checked: set[str] = set()
    ids = Ids()
    for number, (place, row) in enumerate(rows(), start=1):
        if with_id is None:
            with_id = "id" in mapped.named or "id" in row
        if with_id:
            id_ = files.identifier(row[id_name] if id_name in row else get_id(row, place), place, id_name)
            if not ids.add(id_):
                first = _first_place(rows, number - 1, id_, partial(_identifier, get_id, id_name))
                if first is not None:
                    raise HarnessError(f"{place} has the id {id_!r}, already used in {first}; expected unique ids")
        elif "id" in row:
            raise HarnessError(
                f"{place} has an 'id', and the rows before it have none; expected one in all rows, or in none"
            )
        else:
            id_ = str(number)
        source = row[source_name] if source_name in row else get_source(row, place) if source_named else None
        reference_texts: list[str] = []
        for name, get in references:
            value = row[name] if name in row else get(row, place) if references_named else None
            if skip_blank and value == "":
                continue
            for item in value if isinstance(value, list | tuple) else (value,):
                if item is not None:
                    reference_texts.append(files.text(item, place, name))
        if not checked.issuperset(row):
            files.check_width(row, place)
            checked.update(files.text(key, place, key) for key in row)
        metadata = mapped.metadata(row, place)
        if cluster is not None:
            unit = _cluster(row, place, cluster)
            metadata.setdefault(cluster, unit)
        text = None if source is None else files.text(source, place, source_name)
        yield Example(id_, text, tuple(reference_texts), metadata)


def _identifier(get: Get, name: str, row: Mapping[str, Any], place: str) -> str:
    return files.identifier(get(row, place), place, name)


def _cluster(row: Mapping[str, Any], place: str, name: str) -> Any:
    value = _lookup(row, place, name, f" (dataset.cluster={name})")
    if value is None:
        raise HarnessError(f"{place}: '{name}' is null; expected the cluster of the example (dataset.cluster)")
    return _clean(value, place, name)


# ---------------------------------------------------------------- ids


class Ids:
    """The ids so far, as 64-bit hashes in an open-addressing table: 12 to 24 bytes an id, whatever its length."""

    def __init__(self) -> None:
        self._count, self._slots = 0, BLOCK
        self._table = np.zeros(self._slots, np.int64).data

    def add(self, id_: str) -> bool:
        """Adds an id; False where an id of this hash is there: almost surely the same, which the caller looks up."""
        if self._count * 3 >= self._slots * 2:
            self._grow()
        return self._put(hash(id_) or 1)

    def _put(self, key: int) -> bool:
        table, mask = self._table, self._slots - 1
        slot = key & mask
        while held := table[slot]:
            if held == key:
                return False
            slot = (slot + 1) & mask
        table[slot] = key
        self._count += 1
        return True

    def _grow(self) -> None:
        old = np.asarray(self._table)
        table = np.zeros(2 * self._slots, np.int64)
        self._table, self._slots, self._count = table.data, len(table), 0
        for block in np.split(old, len(old) // BLOCK):
            keys = block[block != 0]
            home = keys & (self._slots - 1)
            free = table[home] == 0
            table[home[free]] = keys[free]  # of several with one home the last stays
            displaced = table[home] != keys
            self._count += len(keys) - int(displaced.sum())
            for key in keys[displaced].tolist():
                self._put(key)


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


def _clean(value: Any, place: str, field: str) -> Any:
    """Metadata is kept as it is; its strings must be storable too."""
    if isinstance(value, str):
        return files.text(value, place, field)
    if isinstance(value, Mapping):
        return {k: _clean(v, place, f"{field}.{k}") for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_clean(v, place, field) for v in value]
    return value


def _without(value: Any, path: list[str]) -> Any:
    """A copy of nested mappings without one leaf, and without what that leaves empty."""
    if not isinstance(value, Mapping) or not path or path[0] not in value:
        return value
    rest = {k: v for k, v in value.items() if k != path[0]}
    inner = _without(value[path[0]], path[1:]) if len(path) > 1 else None
    return {**rest, path[0]: inner} if inner else rest
