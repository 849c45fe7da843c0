"""`metrics=python metrics.python.function=quality.py:adequacy`: the user's own Python function as a metric.

It is called once, as function(outputs, references, sources), and returns a number for each output; the score of a run
is their mean. For several scores it returns a mapping {score name: numbers}, or rows (n, s). What is not a mean needs a
second function, `score`: then the first returns rows (n, k) of statistics, and the second turns sums (m, k) of them
into scores (m,) or (m, s). None or NaN: this output cannot be scored; it is missing.

A score is defined by the text of the files that hold the functions, and by the `revision` that the user states for what
is not in them: a model, a prompt, other modules. Stored rows are scored without them, save those with a `score`.

>>> from pathlib import Path
>>> from tempfile import TemporaryDirectory
>>> with TemporaryDirectory() as folder:
...     rules = Path(folder, "rules.py")
...     _ = rules.write_text("def brief(outputs, references, sources): return [len(o.split()) < 4 for o in outputs]")
...     metric = PythonMetric(f"{rules}:brief", needs_references=False)
...     rows = metric.statistics(Batch(["a b c", "a b c d"], []))
>>> metric.score_names, metric.score(rows.sum(0)).tolist()
(('brief',), [0.5])
"""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np

from harness.inputs import files, functions
from harness.metrics.means import means
from harness.types import Array, Batch, HarnessError, Metric
from harness.types.shown import counted

log = logging.getLogger(__name__)


USER = ("name", "scores", "higher_is_better", "needs_references", "revision")
"""Options of metrics of the user's own that name no code."""


class UserMetric(Metric):
    """What the user's own code says of each example: by default scores, whose mean counts."""

    at_once = True

    def __init__(
        self,
        name: str,
        scores: Sequence[str] | None,
        columns: Sequence[str] | None,
        higher_is_better: bool,
        needs_references: bool,
        revision: str | None,
    ) -> None:
        self.name, self.revision = name, revision
        self.score_names = (name,) if scores is None else tuple(scores)
        self.columns = (*self.score_names, "count") if columns is None else tuple(columns)
        self.higher_is_better = higher_is_better
        self.needs_references = needs_references
        self.averaged = columns is None
        for score in self.score_names:
            if not re.fullmatch(r"[\w-]+(\.[\w-]+)*", score):
                raise HarnessError(f"the score name {score!r}; expected letters, digits, _, - and single dots")
        if all("." in score for score in self.score_names):
            dotted = ", ".join(self.score_names)
            raise HarnessError(f"the scores [{dotted}] of {name}; expected one without a dot: only those are compared")
        for names in (self.score_names, self.columns):
            if len(set(names)) < len(names):
                raise HarnessError(f"{name} has the columns {', '.join(names)}; expected distinct names")

    def extremes(self, batch: Batch) -> None:
        return None  # nobody knows how the user's own code ranks outputs

    def rows_of(self, values: Sequence[Sequence[float]]) -> Array:
        """Rows from the numbers (n, s) of each example: missing where one of them is, which is said."""
        rows = np.array(values, dtype=np.float64)
        missing = np.asarray(np.isnan(rows).any(axis=1))
        if missing.any():
            log.warning("%s gave no score for %d of %d outputs; they are left out", self.name, missing.sum(), len(rows))
        if rows.shape[1] < len(self.columns):
            rows = np.column_stack([rows, np.ones(len(rows))])
        rows[missing] = np.nan
        return rows

    def score(self, sums: Array) -> Array:
        return means(sums)

    @classmethod
    def stored(cls, options: Mapping[str, Any], columns: Sequence[str]) -> Metric | None:
        """The mean of the columns before the count, whatever computed them; None where a function makes the scores."""
        if options.get("score") or options.get("columns"):
            return None
        kept = {option: options.get(option, True) for option in ("higher_is_better", "needs_references")}
        return StoredMeans(str(options.get("name") or columns[0]), columns[:-1], None, revision=None, **kept)


class StoredMeans(UserMetric):
    """The scores of stored rows, without the program or the function that gave the rows."""

    def statistics(self, batch: Batch) -> Array:
        raise HarnessError(f"{self.name} is read from stored rows; expected nothing new to score")


class PythonMetric(UserMetric):
    plain = USER

    def __init__(
        self,
        function: str,
        name: str | None = None,
        scores: Sequence[str] | None = None,
        columns: Sequence[str] | None = None,
        score: str | None = None,
        higher_is_better: bool = True,
        needs_references: bool = True,
        revision: str | None = None,
    ) -> None:
        """`scores` names several; `columns` names statistics, of whose sums the function `score` makes the scores."""
        name = name or function.rpartition(":")[2]
        super().__init__(name, scores, columns or None, higher_is_better, needs_references, revision)
        self.function, self.score_function = function, score or None
        if bool(columns) != bool(score):
            raise HarnessError(
                f"{name} has {'columns and no score' if columns else 'a score and no columns'}; expected both: "
                "columns=[…] names the statistics that the function returns, score=module:function turns sums of them "
                "into scores"
            )

    @cached_property
    def _function(self) -> tuple[Callable[..., Any], str]:
        return functions.load(self.function)

    @cached_property
    def _score(self) -> tuple[Callable[..., Any], str]:
        try:
            return functions.load(self.score_function or "")
        except HarnessError as error:
            raise HarnessError(f"the scores of {self.name} need {self.score_function}: {error}") from error

    def definition(self) -> dict[str, str]:
        code = [self._function[1], self._score[1] if self.score_function else None]
        stated = {"revision": self.revision} if self.revision is not None else {}
        return {"function": self.function.rpartition(":")[2], "code": files.digest(code)[:8], **stated}

    def statistics(self, batch: Batch) -> Array:
        if not len(batch):
            return np.empty((0, len(self.columns)))
        function = self._function[0]
        with functions.blamed(self.function):
            result = function(list(batch.outputs), [list(texts) for texts in batch.references], list(batch.sources))
            rows = self.rows_of(self._values(result, len(batch)))
        self.advance(len(batch))
        return rows

    def _values(self, result: Any, n: int) -> list[list[float]]:
        """What the function returned, as numbers (n, s) or, where it has a `score`, (n, k)."""
        names = self.columns if self.score_function else self.score_names
        if isinstance(result, Mapping):
            if not set(names) <= result.keys():
                keys = files.some([str(name) for name in result]) or "nothing"
                raise HarnessError(f"{self.function} returned a mapping of {keys}; expected {', '.join(names)}")
            result = zip(*(_each(result[name], n, f"{self.function}, {name},") for name in names), strict=True)
        values = enumerate(_each(result, n, self.function), start=1)
        return [_row(value, names, f"{self.function}, value {i},") for i, value in values]

    def score(self, sums: Array) -> Array:
        if self.score_function is None:
            return super().score(sums)
        flat = sums.reshape(-1, len(self.columns))
        whole = np.asarray(~np.isnan(flat).any(axis=1))
        scores = np.full((len(flat), len(self.score_names)), np.nan)
        if whole.any():
            scores[whole] = self._scored(flat[whole])
        return scores.reshape(*sums.shape[:-1], len(self.score_names))

    def _scored(self, sums: Array) -> Array:
        """Scores (m, s) of sums (m, k) by the user's function."""
        function = self._score[0]
        with (
            functions.blamed(f"{self.score_function} of sums {sums.shape}"),
            np.errstate(divide="ignore", invalid="ignore"),
        ):
            scores = np.asarray(function(sums), dtype=np.float64)
        m, s = len(sums), len(self.score_names)
        if scores.shape != (m, s) and (s > 1 or scores.shape != (m,)):
            expected = f"({m},)" if s == 1 else f"({m}, {s}): {', '.join(self.score_names)}"
            raise HarnessError(
                f"{self.score_function} of sums {sums.shape} has shape {scores.shape}; expected {expected}"
            )
        return scores.reshape(m, s)


# ---------------------------------------------------------------- what the user's code returns


def number(value: Any, where: str) -> float:
    """A finite number, be it NumPy's or torch's; NaN for None."""
    plain = value.tolist() if hasattr(value, "tolist") else value
    try:
        parsed = math.nan if plain is None else float(plain) if isinstance(plain, Real) else math.inf
    except OverflowError:
        parsed = math.inf
    if math.isinf(parsed):
        raise HarnessError(
            f"{where} is {functions.kind(value)}; expected a finite number, or null where there is no score"
        )
    return parsed


def _items(value: Any) -> list[Any] | None:
    """The items of a list, array, tensor, series or generator; None for anything else."""
    value = value.tolist() if hasattr(value, "tolist") else value
    return list(value) if isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping | Set) else None


def _each(value: Any, n: int, where: str) -> list[Any]:
    items = _items(value)
    if items is None or len(items) != n:
        shown = functions.kind(value) if items is None else counted(len(items), "value")
        raise HarnessError(f"{where} returned {shown}; expected {counted(n, 'number')}, one for each output")
    return items


def _row(value: Any, names: Sequence[str], where: str) -> list[float]:
    """The numbers of one example; a single one, or None for all of them, may stand alone."""
    items = _items(value)
    row = [value] * (len(names) if value is None else 1) if items is None else items
    if len(row) != len(names):
        raise HarnessError(
            f"{where} is {functions.kind(value)}; expected {counted(len(names), 'number')} ({', '.join(names)})"
        )
    return [number(item, where) for item in row]
