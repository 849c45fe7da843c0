"""The examples of a data set by columns, as the browser reads them: texts once, outputs by run, scores as numbers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.report.numbers import digits_of
from harness.report.page.packed import packed_floats, packed_json
from harness.report.page.scores import lower_is_better, score_names
from harness.types import Array, Group, Study

Rows = NDArray[np.intp]

OWN = ("id", "repeat", "source", "references", "output", "error", "raw_output", "finish")
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
    frames = [run.examples for run in group.runs]
    frame = frames[0]
    names = score_names(group)
    fields = _fields(frame, names, by)
    info = {
        "dataset": group.dataset,
        "rows": len(kept),
        "of": len(frame),
        "runs": [{"label": study.labels[run.name], "failed": run.failed} for run in group.runs],
        "baseline": None if group.baseline is None else [run is group.baseline for run in group.runs].index(True),
        "scores": [
            {"name": name, "lower": lower_is_better(group, name), "digits": digits_of(group.runs, name)}
            for name in names
        ],
        "fields": fields,
        "pair": opening.pair,
        "score": opening.score,
    }
    take = [frame[column].iloc[kept].tolist() for column in ("id", "repeat", "source")]
    references = [list(texts) for texts in frame["references"].iloc[kept]]
    ids = take[0]
    first = {id_: i for i, id_ in reversed(list(enumerate(ids)))}  # texts of an example are kept with its first output
    texts = {
        "id": ids,
        "repeat": take[1] if any(take[1]) else None,
        "source": [_text(take[2][i]) if first[id_] == i else None for i, id_ in enumerate(ids)],
        "references": [references[i] if first[id_] == i else None for i, id_ in enumerate(ids)],
        "fields": {field: [_value(value) for value in frame[field].iloc[kept]] for field in fields},
    }
    data = {f"texts-{place}": packed_json(texts)}
    for r, rows in enumerate(frames):
        errors = {str(i): str(e) for i, e in enumerate(rows["error"].iloc[kept]) if _text(e) is not None}
        outputs = {"output": [_text(text) for text in rows["output"].iloc[kept]], "error": errors}
        data[f"outputs-{place}-{r}"] = packed_json(outputs)
    data[f"scores-{place}"] = packed_floats([column[kept] for name in names for column in columns(group, name)])
    return info, data


def columns(group: Group, score: str) -> list[Array]:
    """A score of every row (n,), for each run."""
    return [_scores(run.examples, score) for run in group.runs]


def _scores(frame: Any, name: str) -> Array:
    if name not in frame:  # a score of the whole corpus only
        return np.full(len(frame), np.nan)
    return frame[name].to_numpy(np.float64, na_value=np.nan)  # type: ignore[no-any-return]


def _fields(frame: Any, scores: Sequence[str], by: Sequence[str]) -> list[str]:
    """Metadata fields, those asked for first."""
    fields = [str(column) for column in frame.columns if column not in OWN and column not in scores]
    return [*(field for field in by if field in fields), *(field for field in fields if field not in by)]


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _value(value: Any) -> str | float | None:
    """A metadata value as the page shows it: a number or a text."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or value != value:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return value if abs(value) < 2**53 else str(value)
    if isinstance(value, np.ndarray):
        value = value.tolist()
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
