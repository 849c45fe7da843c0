"""`metrics=python metrics.python.function=quality.py:adequacy`: a metric that is a Python function of the user's own.

It is called once, as function(outputs, references, sources), and returns a number for each output; the score of a run
is their mean. For several scores it returns a mapping {score name: numbers}, or rows (n, s). What is no mean needs a
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
...     rows = metric.statistics(["a b c", "a b c d"], [[], []], [None, None])
>>> metric.score_names, metric.score(rows.sum(0)).tolist()
(('brief',), [0.5])
"""

from __future__ import annotations

import importlib
import logging
import math
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from functools import cached_property
from numbers import Real
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from harness import files
from harness.types import Array, HarnessError, Metric

log = logging.getLogger(__name__)


class UserMetric(Metric):
    """What code of the user's own says of each example, by default scores of which the mean counts."""

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
            found = ", ".join(self.score_names)
            raise HarnessError(f"the scores [{found}] of {name}; expected one without a dot: those are compared")
        for names in (self.score_names, self.columns):
            if len(set(names)) < len(names):
                raise HarnessError(f"{name} has the columns {', '.join(names)}; expected distinct names")

    def extremes(self, references: Sequence[Sequence[str]], sources: Sequence[str | None]) -> None:
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
        with np.errstate(divide="ignore", invalid="ignore"):
            return sums[..., :-1] / sums[..., -1:]


class PythonMetric(UserMetric):
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
                f"{name} has {'columns' if columns else 'score'} alone; expected both: columns=[…] names the "
                "statistics that the function returns, score=module:function turns sums of them into scores"
            )

    @cached_property
    def _function(self) -> tuple[Callable[..., Any], str]:
        return load(self.function)

    @cached_property
    def _score(self) -> tuple[Callable[..., Any], str]:
        try:
            return load(self.score_function or "")
        except HarnessError as error:
            raise HarnessError(f"the scores of {self.name} need {self.score_function}: {error}") from error

    def definition(self) -> dict[str, str]:
        code = [self._function[1], self._score[1] if self.score_function else None]
        stated = {"revision": self.revision} if self.revision is not None else {}
        return {"function": self.function.rpartition(":")[2], "code": files.digest(code)[:8], **stated}

    def statistics(
        self, outputs: Sequence[str], references: Sequence[Sequence[str]], sources: Sequence[str | None]
    ) -> Array:
        if not outputs:
            return np.empty((0, len(self.columns)))
        function = self._function[0]
        with _blamed(self.function):
            result = function(list(outputs), [list(texts) for texts in references], list(sources))
            rows = self.rows_of(self._values(result, len(outputs)))
        self.advance(len(outputs))
        return rows

    def _values(self, result: Any, n: int) -> list[list[float]]:
        """What the function returned, as numbers (n, s) or, where it has a `score`, (n, k)."""
        names = self.columns if self.score_function else self.score_names
        if isinstance(result, Mapping):
            if not set(names) <= result.keys():
                there = files.some([str(name) for name in result]) or "nothing"
                raise HarnessError(f"{self.function} returned a mapping of {there}; expected {', '.join(names)}")
            result = zip(*(_each(result[name], n, f"{self.function}, {name},") for name in names), strict=True)
        found = enumerate(_each(result, n, self.function), start=1)
        return [_row(value, names, f"{self.function}, value {i},") for i, value in found]

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
        with _blamed(f"{self.score_function} of sums {sums.shape}"), np.errstate(divide="ignore", invalid="ignore"):
            found = np.asarray(function(sums), dtype=np.float64)
        m, s = len(sums), len(self.score_names)
        if found.shape != (m, s) and (s > 1 or found.shape != (m,)):
            expected = f"({m},)" if s == 1 else f"({m}, {s}): {', '.join(self.score_names)}"
            raise HarnessError(
                f"{self.score_function} of sums {sums.shape} has shape {found.shape}; expected {expected}"
            )
        return found.reshape(m, s)


# ---------------------------------------------------------------- what the user's code returns


def number(value: Any, where: str) -> float:
    """A finite number, be it NumPy's or torch's; NaN for None."""
    plain = value.tolist() if hasattr(value, "tolist") else value
    try:
        found = math.nan if plain is None else float(plain) if isinstance(plain, Real) else math.inf
    except OverflowError:
        found = math.inf
    if math.isinf(found):
        raise HarnessError(f"{where} is {_kind(value)}; expected a finite number, or null where there is no score")
    return found


def _items(value: Any) -> list[Any] | None:
    """The items of a list, array, tensor, series or generator; None for anything else."""
    value = value.tolist() if hasattr(value, "tolist") else value
    return list(value) if isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping | Set) else None


def _each(value: Any, n: int, where: str) -> list[Any]:
    found = _items(value)
    if found is None or len(found) != n:
        shown = _kind(value) if found is None else f"{len(found)} values"
        raise HarnessError(f"{where} returned {shown}; expected {n} numbers, one for each output")
    return found


def _row(value: Any, names: Sequence[str], where: str) -> list[float]:
    """The numbers of one example; a single one, or None for all of them, may stand alone."""
    found = _items(value)
    row = [value] * (len(names) if value is None else 1) if found is None else found
    if len(row) != len(names):
        raise HarnessError(f"{where} is {_kind(value)}; expected {len(names)} numbers ({', '.join(names)})")
    return [number(one, where) for one in row]


def _kind(value: Any) -> str:
    return f"{type(value).__name__} {str(value)[:40]!r}"


# ---------------------------------------------------------------- the user's code


@contextmanager
def _blamed(what: str) -> Iterator[None]:
    """Whatever the user's code raises becomes a message; --debug shows the traceback."""
    try:
        yield
    except HarnessError:
        raise
    except (Exception, SystemExit) as error:
        raise HarnessError(f"{what} raised {type(error).__name__}: {str(error)[:2000]}") from error


def load(place: str) -> tuple[Callable[..., Any], str]:
    """What `module:function` or `file.py:function` names, with a hash of its name and of the files that hold it."""
    where, _, name = place.rpartition(":")
    if not where or not name:
        raise HarnessError(f"{place!r} names no function; expected module:function or file.py:function")
    module = _from_file(where) if where.endswith(".py") else _imported(where)
    function = getattr(module, name, None)
    if not callable(function):
        there = [key for key, value in vars(module).items() if callable(value) and not key.startswith("_")]
        raise HarnessError(f"{where} has no function {name!r}; expected one of {files.some(there, 10) or 'its own'}")
    defined = sys.modules.get(getattr(function, "__module__", None) or "", module)  # it may be imported there
    return function, files.digest([name, _hash(module), _hash(defined)])


def _from_file(path: str) -> ModuleType:
    """Run again where its text changed, so that a notebook scores by the code that is in the file."""
    found = files.existing(path, "a Python file").resolve()
    name = f"{found.stem}_{files.digest([str(found), files.file_digest(found)])[:12]}"  # hides no library
    if name not in sys.modules:
        module = sys.modules[name] = ModuleType(name)
        module.__file__ = str(found)
        try:
            with _blamed(path):
                exec(compile(found.read_bytes(), str(found), "exec"), vars(module))
        except BaseException:
            del sys.modules[name]
            raise
    return sys.modules[name]


def _imported(name: str) -> ModuleType:
    importlib.invalidate_caches()  # it may have been written a moment ago
    try:
        return importlib.import_module(name)
    except (Exception, SystemExit) as error:
        raise HarnessError(
            f"the module {name} cannot be imported ({type(error).__name__}: {error}); expected one found from the "
            "folder the command is called in, or an installed package"
        ) from error


def _hash(module: ModuleType) -> str:
    """Hash of a module's file, if that is still what was imported."""
    try:
        now = files.file_digest(Path(module.__file__ or ""))
    except (AttributeError, OSError):  # built in
        return module.__name__
    if vars(module).setdefault("__harness_hash__", now) != now:
        raise HarnessError(
            f"{module.__file__} was changed after it was imported; expected a new process, or file.py:function, which "
            "is read again"
        )
    return now
