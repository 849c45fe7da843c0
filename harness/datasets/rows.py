"""From rows with named fields to examples: the part that all tabular data sets share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from harness import files
from harness.types import Example, HarnessError

FIELDS = ("id", "source", "references")


def columns_of(columns: Mapping[str, Any] | None) -> dict[str, list[str] | None]:
    """Checked `columns` option: which column holds each field, None for the field's own name where it exists."""
    chosen: dict[str, list[str] | None] = dict.fromkeys(FIELDS)
    for field, column in (columns or {}).items():
        if field not in FIELDS:
            raise HarnessError(f"dataset.columns.{field} is not a field; expected one of {', '.join(FIELDS)}")
        if column is not None:
            chosen[field] = [str(c) for c in (column if isinstance(column, list | tuple) else [column])]
    for field in ("id", "source"):
        if chosen[field] is not None and len(chosen[field] or ()) != 1:
            raise HarnessError(f"dataset.columns.{field} names {len(chosen[field] or ())} columns; expected one")
    return chosen


def examples_of(
    rows: Iterable[files.Row],
    columns: Mapping[str, Any] | None,
    cluster: str | None,
    blank_is_absent: bool = False,
) -> Iterator[Example]:
    """Examples from rows. Ids are the row numbers where no row has an id.

    `blank_is_absent`: with several reference columns, an empty cell is no reference (CSV knows no null).
    """
    chosen = columns_of(columns)
    used = {name for names in chosen.values() for name in names or ()}
    with_id: bool | None = None
    seen: dict[str, str] = {}
    for number, (place, row) in enumerate(rows, start=1):
        id_column = (chosen["id"] or ["id"])[0]
        if with_id is None:
            with_id = id_column in row or chosen["id"] is not None
        if with_id and id_column not in row:
            raise files.missing_field(place, id_column, row)
        id_ = files.identifier(row[id_column], place, id_column) if with_id else str(number)
        if id_ in seen:
            raise HarnessError(f"{place} has the id {id_!r}, already used in {seen[id_]}; expected unique ids")
        seen[id_] = place
        names = {*used, *(f for f in FIELDS if chosen[f] is None)}
        metadata = {files.text(k, place, k): _clean(v, place, k) for k, v in row.items() if k not in names}
        if cluster is not None and cluster not in row:
            raise files.missing_field(place, cluster, row, f" (dataset.cluster={cluster})")
        if cluster is not None and row[cluster] is None:
            raise HarnessError(f"{place}: '{cluster}' is null; expected the cluster of the example (dataset.cluster)")
        if cluster is not None and cluster in names:
            metadata[cluster] = row[cluster]
        yield Example(
            id=id_,
            source=_source(row, chosen["source"], place),
            references=_references(row, chosen["references"], place, blank_is_absent),
            metadata=metadata,
        )


def _source(row: Mapping[str, Any], column: Sequence[str] | None, place: str) -> str | None:
    name = column[0] if column else "source"
    if name not in row:
        if column:
            raise files.missing_field(place, name, row)
        return None
    return None if row[name] is None else files.text(row[name], place, name)


def _references(
    row: Mapping[str, Any], columns: Sequence[str] | None, place: str, blank_is_absent: bool
) -> tuple[str, ...]:
    if columns is None and "references" not in row:
        return ()
    names = columns or ["references"]
    found: list[str] = []
    for name in names:
        if name not in row:
            raise files.missing_field(place, name, row)
        value = row[name]
        if blank_is_absent and len(names) > 1 and value == "":
            continue
        for item in value if isinstance(value, list | tuple) else [value]:
            if item is not None:
                found.append(files.text(item, place, name))
    return tuple(found)


def _clean(value: Any, place: str, field: str) -> Any:
    """Metadata is kept as it is; its strings must be storable too."""
    if isinstance(value, str):
        return files.text(value, place, field)
    if isinstance(value, Mapping):
        return {k: _clean(v, place, f"{field}.{k}") for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_clean(v, place, field) for v in value]
    return value
