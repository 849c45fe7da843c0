"""Columns that are handed in from Python, as lists: of pandas, polars, Arrow, NumPy, `datasets`, or anything iterable.

>>> listed(("a", "b"), "outputs", "output")
['a', 'b']
>>> listed({"output": ["a", "b"], "source": ["x", "y"]}, "outputs", "output")  # a table, as `datasets` slices itself
['a', 'b']
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from harness.types import Contexts, HarnessError


def listed(column: Any, name: str, field: str) -> Any:
    """`name`: of the argument, for messages. Of a whole table, the column that is called `field`, or the only one.
    Strings are left as they are, for whoever checks the columns."""
    if column is None or isinstance(column, str | Contexts):
        return column
    if hasattr(column, "collect"):  # a lazy table of polars
        column = column.collect()
    if (names := _names(column)) is not None:
        column = column[_chosen(names, name, field)]
        if isinstance(column, str):
            return column
    if hasattr(column, "notna"):  # pandas, whose missing values are of several kinds
        column = column.astype(object).where(column.notna(), None)
    for method in ("to_pylist", "to_list", "tolist"):
        if hasattr(column, method):
            return getattr(column, method)()
    if not isinstance(column, Iterable):
        raise HarnessError(f"{name} is {column!r}; expected a list, one item for each example")
    return list(column)


def _names(table: Any) -> list[str] | None:
    """The columns of a table; None where it is a column."""
    if isinstance(table, Mapping):
        return list(table)
    names = getattr(table, "column_names", None)  # Arrow, `datasets`
    if names is None:
        names = getattr(table, "columns", None)  # pandas, polars
    return None if names is None else list(names)


def _chosen(names: list[str], name: str, field: str) -> str:
    if field in names:
        return field
    if len(names) == 1:
        return names[0]
    shown = ", ".join(map(str, names))
    raise HarnessError(f"{name} is a table with the columns {shown}; expected one column, or one called {field!r}")
