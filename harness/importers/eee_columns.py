"""Samples of Every Eval Ever from whole columns: as harness/importers/eee.py reads them row by row, where each sample
has one score and an output, and nothing of it comes from a run of ours. Whatever else there is raises `Odd`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from harness.importers.checked import Choice
from harness.importers.json_tables import (
    Odd,
    child,
    column,
    firsts,
    numbers,
    read_pieces,
    records,
    scalars,
    text_lists,
    texts,
)
from harness.importers.log import Samples

ABSENT = ("error", "token_usage", "performance")
"""What says more of a sample than fits here."""


def by_dataset(
    samples: Path, choice: Choice, name_of: Callable[[Any], str], marked: frozenset[str]
) -> Iterator[tuple[str, Samples]]:
    """(the data set, its samples) of each piece of a file. `name_of`: the score's name, of an evaluation_result_id;
    `marked`: fields in which an exported run says more of its samples."""
    for piece in read_pieces(samples):
        table = piece.table
        if table is None or any(column(table, name).null_count < len(table) for name in ABSENT):
            raise Odd
        datasets = set(texts(column(table, "evaluation_name")))
        results = set(texts(column(table, "evaluation_result_id"), nullable=True))
        if len(datasets) != 1 or len(results) != 1:
            raise Odd
        yield datasets.pop(), _samples(table, choice, name_of(results.pop()), marked)


def _samples(table: pa.Table, choice: Choice, score: str, marked: frozenset[str]) -> Samples:
    asked, evaluation, output = _objects(table, "input"), _objects(table, "evaluation"), _objects(table, "output")
    ids, about, n = column(table, "sample_id"), column(table, "metadata"), len(table)
    if ids.null_count or not (pa.types.is_string(ids.type) or pa.types.is_integer(ids.type)):
        raise Odd
    fields: dict[str, list[Any]] = {}
    for field in about.type if pa.types.is_struct(about.type) else ():
        if field.name in marked:
            raise Odd
        if not pa.types.is_nested(field.type):
            fields[field.name] = scalars(child(about, field.name))
    if not pa.types.is_struct(about.type) and not pa.types.is_null(about.type):
        raise Odd
    known = list(map(str, scalars(ids)))
    if "" in known:
        raise Odd
    return Samples(
        known,
        texts(child(asked, "raw"), nullable=True),
        text_lists(child(asked, "reference")),
        firsts(child(output, "raw")),
        [{score: value} for value in numbers(child(evaluation, "score"))] if choice.wants(score) else [{}] * n,
        records(list(fields), list(fields.values()), n),
    )


def _objects(table: pa.Table, name: str) -> pa.Array:
    objects = column(table, name)
    if not pa.types.is_struct(objects.type) or objects.null_count:
        raise Odd
    return objects
