"""Which of many runs are meant: conditions as people type them, and the fields that they and sorting can name.

    dataset=wmt22   system=lead,lexrank   name~^dev-   bleu>30   interval/bleu.low>=30   failed>0   since=2d

A field is one of `FIELDS`, a score, a bound of a score, or a value of the config by its dotted name.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from typing import Any

from harness.inputs.expressions import Expression, TooSlow
from harness.inputs.nested import settings
from harness.store.sweep_cells import shown
from harness.types import HarnessError, RunRecord, nearest

FIELDS: dict[str, Callable[[RunRecord], Any]] = {
    "name": lambda run: run.name,
    "dataset": lambda run: run.dataset,
    "system": lambda run: run.system,
    "experiment": lambda run: run.experiment,
    "examples": lambda run: run.examples,
    "failed": lambda run: run.failed,
    "started": lambda run: run.started,
    "ended": lambda run: run.ended,
    "folder": lambda run: str(run.path),
    "group": lambda run: run.manifest.get("group"),
    "cell": lambda run: run.cell,
    "step": lambda run: run.manifest["system"].get("step"),
    "commit": lambda run: (run.manifest.get("git") or {}).get("commit"),
    "mlflow": lambda run: (run.mlflow or {}).get("run_id"),
}
"""What every run has beside its scores and its config."""
TIMES = {"since": ">=", "before": "<"}
"""Names for conditions on `ended`."""
AGES = {"m": 60, "h": 3600, "d": 86_400, "w": 604_800}
"""Units of an age, in seconds."""
ORDERED: dict[str, Callable[[Any, Any], bool]] = {
    ">": operator.gt, ">=": operator.ge, "<": operator.lt, "<=": operator.le,
}  # fmt: skip
CONDITION = re.compile(r"([^\s=<>~!]+)(!=|!~|>=|<=|=|~|>|<)(.*)", re.DOTALL)
MISSING = object()
BOUNDS = "interval/"


def value_of(run: RunRecord, field: str) -> Any:
    """What a run has under this name; `MISSING` where it has no such thing."""
    if field in FIELDS:
        return FIELDS[field](run)
    if field in run.values:
        return run.values[field]["estimate"]
    score, _, bound = field.removeprefix(BOUNDS).rpartition(".")
    if field.startswith(BOUNDS) and score in run.values and bound in ("low", "high"):
        return run.values[score][bound]
    value: Any = run.config
    for part in field.split("."):
        if not isinstance(value, Mapping) or part not in value:
            return MISSING
        value = value[part]
    return MISSING if isinstance(value, Mapping) else value


def plain_value(run: RunRecord, field: str) -> Any:
    """What a run has under this name as JSON has it."""
    value = value_of(run, field)
    return None if value is MISSING else value.isoformat() if isinstance(value, datetime) else value


def text_of(run: RunRecord, field: str) -> str:
    """What a run has under this name as a table shows it; nothing where it has no such thing."""
    value = plain_value(run, field)
    return "" if value is None else shown(value)


@dataclass(frozen=True)
class Condition:
    """One of the conditions that all have to hold."""

    text: str
    """As it was typed."""
    field: str
    """Empty: any part of the name or the folder."""
    sign: str
    value: str

    def holds(self, run: RunRecord, now: datetime) -> bool:
        """Whether a run fulfils it. One that lacks the field does not, except where it must differ (`!=`, `!~`)."""
        if not self.field:
            return self.value in run.name or self.value in str(run.path)
        value = value_of(run, self.field)
        if self.sign in ("!=", "!~"):
            return not Condition(self.text, self.field, self.sign[1:], self.value).holds(run, now)
        if value is MISSING:
            return False
        if self.sign == "=":
            return any(_equal(value, text) for text in (self.value, *self.value.split(",")))
        if self.sign == "~":
            return value is not None and _searched(self.value, self.text, str(value))
        return value is not None and ORDERED[self.sign](value, self._bound(value, now))

    def _bound(self, value: Any, now: datetime) -> Any:
        """What was typed, as the same kind of value as a run's."""
        if isinstance(value, datetime):
            return _time(self.value, now, self.text)
        if isinstance(value, str | list):
            raise HarnessError(f"{self.text}: {self.field} is a text; expected {self.field}=… or {self.field}~…")
        try:
            return float(self.value)
        except ValueError:
            raise HarnessError(f"{self.text}: {self.field} is a number; expected one after {self.sign}") from None


@cache
def _expression(pattern: str, text: str) -> Expression:
    return Expression(pattern, text)


def _searched(pattern: str, text: str, value: str) -> bool:
    try:
        return _expression(pattern, text).first(value) is not None
    except TooSlow as error:
        raise HarnessError(f"{error}; expected a simpler expression") from None


def condition(text: str) -> Condition:
    """What was typed, understood."""
    match = CONDITION.fullmatch(text)
    if match is None:
        if not text or text[0] in "=<>~!":
            raise HarnessError(
                f"{text!r} is not a condition; expected for instance dataset=wmt22, name~^dev or 'bleu>30'"
            )
        return Condition(text, "", "", text)
    field, sign, value = match.groups()
    if field in TIMES:
        if sign != "=":
            raise HarnessError(f"{text}: expected {field}=2d or {field}=2026-01-31")
        return Condition(text, "ended", TIMES[field], value)
    if sign.endswith("~"):
        _expression(value, text)
    return Condition(text, field, sign, value)


def chosen(runs: Sequence[RunRecord], conditions: Sequence[Condition], now: datetime) -> list[RunRecord]:
    """The runs that fulfil all conditions; a field that no run has is refused."""
    for wanted in conditions:
        if wanted.field:
            check(runs, wanted.field, wanted.text)
        elif any(wanted.value in run.values for run in runs):
            raise HarnessError(
                f"{wanted.text} is a field; expected a condition, quoted for the shell, as in '{wanted.text}>30'"
            )
    return [run for run in runs if all(wanted.holds(run, now) for wanted in conditions)]


def ordered(runs: Sequence[RunRecord], by: str) -> list[RunRecord]:
    """Sorted by a field, `-FIELD` from the highest down; runs that lack it come last."""
    field = by.removeprefix("-")
    check_sort(runs, by)
    keyed = [(value, run) for run in runs if (value := value_of(run, field)) not in (MISSING, None)]
    keyed.sort(key=lambda pair: _sortable(pair[0]), reverse=by.startswith("-"))
    lacking = [run for run in runs if value_of(run, field) in (MISSING, None)]
    return [*(run for _, run in keyed), *lacking]


def check_sort(runs: Sequence[RunRecord], by: str) -> None:
    """Refuses what runs cannot be sorted by."""
    field = by.removeprefix("-")
    if field in TIMES and all(value_of(run, field) is MISSING for run in runs):
        raise HarnessError(
            f"{field} is a condition ({field}=2d), not something to sort by; expected ended or another field"
        )
    check(runs, field, by, ())


def check(runs: Sequence[RunRecord], field: str, text: str, more: Iterable[str] = TIMES) -> None:
    """Refuses a field that none of the runs has; `more`: other names that may have been meant."""
    if not runs or field in FIELDS or any(value_of(run, field) is not MISSING for run in runs):
        return
    scores = list(dict.fromkeys(name for run in runs for name in run.values))
    configured = {name for run in runs for name, _ in settings(run.config) if name.rpartition(".")[2] != "_target_"}
    names = {*FIELDS, *more, *scores, *configured}
    listed = ", ".join([*FIELDS, *more, *(name for name in scores if "." not in name)])
    where = "" if field == text else f"{text}: "
    raise HarnessError(
        f"{where}no run has {field}{nearest(field, sorted(names))}; expected one of {listed}, or a value of the config "
        "such as stats.seed"
    )


def check_score(runs: Sequence[RunRecord], name: str, text: str) -> None:
    """Refuses what is not a score of any of the runs, even if it is another field of theirs."""
    scores = list(dict.fromkeys(score for run in runs for score in run.values))
    if runs and name not in scores:
        listed = ", ".join(score for score in scores if "." not in score)
        hint = nearest(name.partition("/ci_")[0], scores)  # bounds are shown with their score
        raise HarnessError(f"{text}: no run has a score {name}{hint}; expected one of {listed}")


def _equal(value: Any, text: str) -> bool:
    if value is None or isinstance(value, bool):
        return text.lower() == {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int | float):
        try:
            return float(text) == value
        except ValueError:
            return False
    if isinstance(value, list):
        return text in map(str, value)
    return str(value) == text


def _sortable(value: Any) -> tuple[int, Any]:
    """Of one order, whatever kinds of values a field has: numbers, then times, then texts."""
    if isinstance(value, int | float):
        return 0, value
    return (1, value) if isinstance(value, datetime) else (2, str(value))


def _time(text: str, now: datetime, where: str) -> datetime:
    """`2d` ago, or a date with or without a time of day, here where no zone is given."""
    number, unit = text[:-1], text[-1:]
    if unit in AGES and number.replace(".", "", 1).isdecimal():
        try:
            return now - timedelta(seconds=float(number) * AGES[unit])
        except OverflowError:
            raise HarnessError(f"{where}: {text} ago is before the year 1; expected a shorter age") from None
    try:
        return datetime.fromisoformat(text).astimezone()
    except (ValueError, OverflowError):
        ages = ", ".join(f"2{unit}" for unit in AGES)
        raise HarnessError(
            f"{where}: {text!r} is not a time; expected an age ({ages}) or a date (2026-01-31)"
        ) from None
