"""Samples of lm-evaluation-harness from whole columns: as harness/importers/lm_eval.py reads them row by row, wherever
they are as lm-eval writes them. Whatever else there is raises `Odd`, and is read there.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from harness.importers.checked import Choice, named
from harness.importers.json_tables import Odd, child, column, firsts, numbers, records, scalars, texts
from harness.importers.log import Samples
from harness.inputs.arrow import starts as starts_in
from harness.types.texts import whole_numbers

NEEDED = ("doc_id", "target", "arguments", "filtered_resps")


def by_filter(table: pa.Table, choice: Choice, unfit: dict[str, None]) -> Mapping[str, Samples]:
    """The samples of a piece of a log, by filter. `unfit` is told the metrics that are no number of a sample."""
    if any(name not in table.column_names for name in NEEDED):
        raise Odd
    if "filter" not in table.column_names:
        return {"none": _samples(table, "none", choice, unfit)}
    filters = texts(column(table, "filter"))
    parts: dict[str, Samples] = {}
    for name in dict.fromkeys(filters):
        places = np.flatnonzero([other == name for other in filters])
        of_name = table if len(places) == len(table) else table.take(whole_numbers(places)).combine_chunks()
        parts[name] = _samples(of_name, name, choice, unfit)
    return parts


def _samples(table: pa.Table, filter_name: str, choice: Choice, unfit: dict[str, None]) -> Samples:
    ids, target, asked = (column(table, name) for name in ("doc_id", "target", "arguments"))
    if ids.null_count or not (pa.types.is_string(ids.type) or pa.types.is_integer(ids.type)):
        raise Odd
    if target.null_count or pa.types.is_null(target.type) or not pa.types.is_struct(asked.type) or asked.null_count:
        raise Odd
    if [field.name for field in asked.type] != [f"gen_args_{i}" for i in range(len(asked.type))]:
        raise Odd
    requests = [_request(asked.field(i)) for i in range(len(asked.type))]
    known = list(map(str, scalars(ids)))
    if "" in known or not requests:
        raise Odd
    written = list(map(str, scalars(target)))
    answers, responses = [answer for _, answer in requests], column(table, "filtered_resps")
    if len(answers) == 1 and pa.types.is_struct(answers[0].type) and not answers[0].null_count:  # how to generate
        outputs, references = firsts(responses), list(map(targets, written))
    else:
        outputs, references = _multiple_choice(answers, responses, written)
    prompts = texts(requests[0][0])
    scores, fields = _scores(table, choice, unfit), _fields(table, filter_name)
    return Samples(known, prompts, references, outputs, scores, fields)


def _request(request: pa.Array) -> tuple[pa.Array, pa.Array]:
    """(the prompts, what was asked beside them) of a column of requests."""
    if not pa.types.is_struct(request.type) or [field.name for field in request.type] != ["arg_0", "arg_1"]:
        raise Odd
    if request.null_count:
        raise Odd
    return request.field(0), request.field(1)


def _multiple_choice(
    options: Sequence[pa.Array], responses: pa.Array, written: Sequence[str]
) -> tuple[list[str], list[Any]]:
    """(the outputs, the references) of a multiple choice."""
    n, k = len(written), len(options)
    likelihoods = responses.flatten() if pa.types.is_list(responses.type) else responses
    pairs = likelihoods.flatten() if pa.types.is_list(likelihoods.type) else likelihoods
    if k < 2 or responses.null_count or likelihoods.null_count or len(likelihoods) != n * k or len(pairs) != 2 * n * k:
        raise Odd
    if (np.diff(starts_in(responses)) != k).any() or (np.diff(starts_in(likelihoods)) != 2).any():
        raise Odd
    each = texts(pairs)
    if not set(each[1::2]) <= {"True", "False"}:
        raise Odd
    try:
        values = np.array(list(map(float, each[::2]))).reshape(n, k)
    except ValueError:
        raise Odd from None
    if np.isnan(values).any():
        raise Odd
    best = values.argmax(axis=1).tolist()
    rows = zip(*([text.strip() for text in texts(column)] for column in options), strict=True)
    answers = [picked(choices, *row) for choices, *row in zip(rows, best, written, strict=True)]
    return [output for output, _ in answers], [references for _, references in answers]


def picked(choices: Sequence[str], best: int, target: str) -> tuple[str, list[str]]:
    """(the most likely of several choices, the right one)."""
    if len(set(choices)) < len(choices):  # prompts differ, continuations do not
        return str(best), [target]
    right = choices[int(target)] if target.isdecimal() and int(target) < len(choices) else target.strip()
    return choices[best], [right]


def targets(target: str) -> list[str]:
    """lm-eval writes a list of targets as Python prints it.

    >>> targets("['a', 'b']"), targets("[sic]")
    (['a', 'b'], ['[sic]'])
    """
    if target[:2] in ("['", '["'):
        try:
            parts = ast.literal_eval(target)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return [target]
        if isinstance(parts, list) and all(isinstance(text, str) for text in parts):
            return parts
    return [target]


def _scores(table: pa.Table, choice: Choice, unfit: dict[str, None]) -> list[dict[str, float | None]]:
    names = _metrics(column(table, "metrics"))
    columns: dict[str, list[float | None]] = {}
    for name in names:
        values = column(table, name)
        if pa.types.is_list(values.type) or pa.types.is_struct(values.type):
            if values.null_count:
                raise Odd
            if choice.wants(name):
                unfit[name] = None
        elif choice.wants(name):
            if named(name) in columns:
                raise Odd
            columns[named(name)] = numbers(values)
    if not columns:
        return [{} for _ in range(len(table))]
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _metrics(names: pa.Array) -> list[str]:
    """The names that every row of this column of lists has."""
    if pa.types.is_null(names.type):
        return []
    if not pa.types.is_list(names.type) or names.null_count:
        raise Odd
    lengths = np.diff(starts_in(names))
    each = texts(names.flatten())
    if (lengths != lengths[0]).any() or each != each[: lengths[0]] * len(names):
        raise Odd
    return each[: lengths[0]]


def _fields(table: pa.Table, filter_name: str) -> list[dict[str, Any]]:
    doc = column(table, "doc")
    columns: dict[str, list[Any]] = {}
    for field in doc.type if pa.types.is_struct(doc.type) else ():
        if not pa.types.is_nested(field.type):
            columns[field.name] = scalars(child(doc, field.name))
    if filter_name != "none":
        columns["filter"] = [filter_name] * len(table)
    if "doc_hash" in table.column_names:
        columns["doc_hash"] = texts(column(table, "doc_hash"))
    return records(list(columns), list(columns.values()), len(table))
