"""What `harness.evaluate` and `harness.load` take for a column, and what they refuse."""

from __future__ import annotations

from typing import Any

import datasets
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import harness
from harness.types import HarnessError

TABLE = {"output": ["the cat sat", "dogs bark"], "references": [["the cat sat down"], ["dogs bark loudly", "a dog"]]}
MAKERS: list[Any] = [dict, pd.DataFrame, pl.DataFrame, pl.LazyFrame, pa.table, datasets.Dataset.from_dict]


def chrf(outputs: Any, references: Any) -> Any:
    return harness.evaluate(outputs, references, ["chrf"], resamples=0).scores["chrf"].estimate


@pytest.mark.parametrize("make", MAKERS)
def test_a_table_is_its_column_of_the_fields_name_or_its_only_one(make: Any) -> None:
    wanted = chrf(TABLE["output"], TABLE["references"])
    table = make(TABLE)
    assert chrf(table, table) == wanted
    assert chrf(make({"mine": TABLE["output"]}), table) == wanted


@pytest.mark.parametrize("make", MAKERS)
def test_a_table_of_other_columns_is_refused(make: Any) -> None:
    """Iterated over, a table of two columns would be two references: the names of its columns."""
    texts = ["the cat sat down", "dogs bark loudly"]
    message = "references is a table with the columns a, b; expected one column, or one called 'references'"
    with pytest.raises(HarnessError, match=message):
        chrf(TABLE["output"], make({"a": texts, "b": texts}))


def test_nan_is_a_reference_that_is_not_there() -> None:
    nan = float("nan")
    frame = pd.DataFrame({"first": ["a cat", "a dog"], "second": ["cats", np.nan]})
    rows = frame.to_numpy(dtype=object).tolist()
    assert chrf(["a cat", "dogs"], rows) == chrf(["a cat", "dogs"], [["a cat", "cats"], ["a dog"]])
    with pytest.raises(HarnessError, match=r"1 of 2 examples has no references \('2'\)"):
        chrf(["a", "b"], ["a", nan])
    with pytest.raises(HarnessError, match=r"outputs\[1\]: 'output' is null; expected a string"):
        chrf(["a", nan], ["a", "b"])


@pytest.mark.parametrize("make", [np.array, pd.Series, pl.Series, pa.array])
def test_columns_in_the_place_of_lists_for_what_was_evaluates(make: Any) -> None:
    predictions, references = ["the cat sat", "dogs bark"], ["the cat sat down", "dogs bark"]
    wanted = harness.load("chrf").compute(predictions=predictions, references=references)
    assert harness.load("chrf").compute(predictions=make(predictions), references=make(references)) == wanted
    metric = harness.load("chrf")
    metric.add_batch(predictions=make(predictions), references=make(references))
    assert metric.compute() == wanted
