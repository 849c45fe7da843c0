"""What a data set lacks for a metric, and what a metric's author got wrong: said before it becomes a wrong score."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from harness.inputs import files
from harness.types import HarnessError, Metric, Rows, nearest
from harness.types.shown import counted

NEEDED = {
    "contexts": "them beside the outputs (system.columns.contexts, or what a function or program answers) or in the "
    "data (dataset.columns.contexts); in Python contexts=",
    "reference_contexts": "them in the data (dataset.columns.reference_contexts); in Python reference_contexts=",
    "relevant": "it in the data (dataset.columns.relevant); in Python relevant=",
}
OF_PYTHON = ("cluster", "stratum")
"""Fields that `harness.evaluate` makes."""
SHOWN = 3
"""Ids in a message."""


def check_references(
    metrics: Mapping[str, Metric], lengths: NDArray[np.int64], ids: Iterable[str], fields: Collection[str] = ()
) -> None:
    """Refuses examples without references where a metric needs them; `lengths`: how many each example has, `fields`:
    the others that they have, one of which may be what was meant."""
    needing = [name for name, metric in metrics.items() if metric.needs_references]
    without = np.flatnonzero(lengths == 0)
    if needing and len(without):
        shown = set(without[:SHOWN].tolist())
        names = [id_ for i, id_ in enumerate(ids) if i in shown] + [""] * (len(without) - len(shown))
        raise HarnessError(
            f"{len(without)} of {len(lengths)} examples {'has' if len(without) == 1 else 'have'} no "
            f"references ({files.some(names)}); expected at least one each, since {needing[0]} needs them"
            + (_hint(fields) if len(without) == len(lengths) else "")
        )


def _hint(fields: Collection[str]) -> str:
    own = [field for field in fields if field not in OF_PYTHON]
    return f"; the data has {files.listed(own)}: dataset.columns.references=NAME says which has them" if own else ""


def check_fields(metrics: Mapping[str, Metric], fields: Collection[str], cluster: str | None) -> None:
    """Refuses a metric that needs a field which no example has, or whose groups are not the clusters."""
    for metric in metrics.values():
        for field in metric.needs_fields:
            if field not in fields:
                raise HarnessError(
                    f"{metric.name} reads the field {field!r}, which neither the examples nor the outputs have"
                    f"{nearest(field, fields)}; found: {files.listed(sorted(fields)) or 'no other fields'}"
                )
        if metric.groups is not None and metric.groups != cluster:
            clusters = "there are no clusters" if cluster is None else f"the clusters are by {cluster!r}"
            raise HarnessError(
                f"{metric.name} is of groups by {metric.groups!r}, and {clusters}; expected "
                f"dataset.cluster={metric.groups}: what was compared with each other must be drawn together"
            )


def check_passages(metrics: Mapping[str, Metric], known: Collection[str], looked_for: Collection[str]) -> None:
    """Refuses a metric that needs contexts, gold passages or judgements of which no example has any; `known`: those
    that there are, `looked_for`: those that could be there by now."""
    for name, metric in metrics.items():
        for column in metric.needs:
            if column in looked_for and column not in known:
                raise HarnessError(f"{name} needs {column}, and no example has any; expected {NEEDED[column]}")


def check_rows(metric: Metric, rows: Rows, n: int) -> None:
    """Refuses what a metric's author got wrong."""
    name, shape = metric.name, rows.values.shape
    if not metric.columns:
        raise HarnessError(f"{name} has no columns; expected at least one, whose NaN says what cannot be scored")
    if shape != (n, len(metric.columns)):
        raise HarnessError(f"{name} gave statistics of shape {shape}; expected ({n}, {len(metric.columns)})")
    if set(rows.lists) != set(metric.lists):
        given, expected = (", ".join(lists) or "none" for lists in (rows.lists, metric.lists))
        raise HarnessError(f"{name} gave the lists {given}; expected {expected}, as its `lists` says")
    clash = set(metric.lists) & set(metric.columns)
    if clash:
        raise HarnessError(f"{name} has a list and a column {sorted(clash)[0]!r}; expected distinct names")
    for each, lists in rows.lists.items():
        starts, values = lists.starts, lists.values
        if starts.dtype != np.int64 or values.dtype != metric.list_kind:
            kind = np.dtype(metric.list_kind)
            raise HarnessError(f"{name}: the list {each} has {values.dtype} values; expected {kind}")
        if len(lists) != n or starts[0] != 0 or starts[-1] != len(values) or (np.diff(starts) < 0).any():
            raise HarnessError(
                f"{name}: the list {each} has {len(lists)} lists of {counted(len(values), 'value')}; "
                f"expected {n}, one for each example, whose starts rise from 0 to the number of values"
            )
    if type(metric).score_weighted is Metric.score_weighted:
        with np.errstate(all="ignore"):
            scores = np.shape(metric.score(np.nansum(rows.values, axis=0)))
        if scores != (len(metric.score_names),):
            raise HarnessError(
                f"{name} gave scores of shape {scores} for sums of shape ({len(metric.columns)},); "
                f"expected ({len(metric.score_names)},), one for each of its score_names"
            )
