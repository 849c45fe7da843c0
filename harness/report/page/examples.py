"""The examples of a data set by columns, as the browser reads them: texts once, outputs by run, scores as numbers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from harness.inputs import arrow
from harness.report.numbers import digits_of
from harness.report.page import passages
from harness.report.page.packed import SCORES, packed_floats, packed_json
from harness.report.page.scores import lower_is_better, score_names
from harness.report.score_titles import score_titles
from harness.types import IMPORTED, Array, Group, Study

if TYPE_CHECKING:
    import pyarrow as pa

Rows = NDArray[np.intp]

OWN = ("id", "repeat", "source", "references", "output", "error", "raw_output", "finish", *passages.COLUMNS)
"""Columns of examples.parquet that are neither metadata nor scores."""


@dataclass(frozen=True)
class Opening:
    """What the page of a data set opens with."""

    pair: tuple[int, int]
    """The places of the two runs that are looked at first; the same twice where there is one."""
    score: str | None
    """By which they are compared; None where there is no headline score."""
    kept: Rows
    """The rows that the page holds."""


def blocks(
    study: Study, group: Group, place: int, opening: Opening, by: Sequence[str] = ()
) -> tuple[dict[str, Any], dict[str, str]]:
    """(what is known of the group beforehand, its packed data by the name of the block), of the rows that are kept."""
    kept = opening.kept
    names, titles = score_names(group), score_titles(group.runs)
    fields = _fields(group.runs[0].table, names, by)
    info = {
        "dataset": group.dataset,
        "rows": len(kept),
        "of": group.runs[0].table.num_rows,
        "runs": [{"label": study.labels[run.name], "failed": run.failed} for run in group.runs],
        "baseline": None if group.baseline is None else [run is group.baseline for run in group.runs].index(True),
        "scores": [
            {
                "name": name,
                "title": titles[name],
                "lower": lower_is_better(group, name),
                "digits": digits_of(group.runs, name),
            }
            for name in names
        ],
        "fields": fields,
        "contextual": any("contexts" in run.table.column_names for run in group.runs),
        "pair": opening.pair,
        "score": opening.score,
    }
    places = arrow.numbers(kept)
    shown = group.runs[0].table.select(["id", "repeat", "source", "references", *fields]).take(places).to_pydict()
    ids, repeats = shown["id"], shown["repeat"]
    first = {id_: i for i, id_ in reversed(list(enumerate(ids)))}  # texts of an example are kept with its first output
    texts = {
        "id": ids,
        "repeat": repeats if any(repeats) else None,
        "source": [shown["source"][i] if first[id_] == i else None for i, id_ in enumerate(ids)],
        "references": [shown["references"][i] if first[id_] == i else None for i, id_ in enumerate(ids)],
        "fields": {field: [_value(value) for value in shown[field]] for field in fields},
    }
    data = {f"texts-{place}": packed_json(texts)}
    for r, run in enumerate(group.runs):
        answers = run.table.select(["output", "error"]).take(places).to_pydict()
        errors = {str(i): error for i, error in enumerate(answers["error"]) if error is not None}
        contexts = passages.retrieved(run.table, places)
        more = {} if contexts is None else {"contexts": contexts}
        data[f"outputs-{place}-{r}"] = packed_json({"output": answers["output"], "error": errors, **more})
    data[f"{SCORES}{place}"] = packed_floats([column[kept] for name in names for column in columns(group, name)])
    return info, data


def columns(group: Group, score: str) -> list[Array]:
    """A score of every row (n,), for each run."""
    return [_scores(run.table, score) for run in group.runs]


def _scores(table: pa.Table, name: str) -> Array:
    if name not in table.column_names:  # a score of the whole corpus only
        return np.full(table.num_rows, np.nan)
    return arrow.floats(table.column(name).cast("float64"))


def _fields(table: pa.Table, scores: Sequence[str], by: Sequence[str]) -> list[str]:
    """Metadata fields, those asked for first."""
    own = {*OWN, *scores, *(f"{score}.each" for score in scores)}  # the last: numbers of each context
    fields = [column for column in table.column_names if column not in own and not column.startswith(IMPORTED)]
    return [*(field for field in by if field in fields), *(field for field in fields if field not in by)]


def _value(value: Any) -> str | float | None:
    """A metadata value as the page shows it: a number or a text."""
    if value is None or value != value:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return value if abs(value) < 2**53 else str(value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
