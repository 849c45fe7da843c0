"""What a run must hold to pass a gate: a policy, from YAML or from the command's own margins.

```yaml
scores:
  bleu: {margin: 0.5, floor: 25}     # not worse by 0.5 or more; never below 25
  rouge1: 0.01                       # the margin alone
  exact_match: {improve: true}       # must be better; improve: 2 must be better by more than 2
slices:
  domain=legal: {bleu: 1.0}
datasets:                            # in place of the rules above, on the data set of that name
  test: {scores: {bleu: 0.3}}
limits:
  health/empty: 0.01                 # a share of the outputs
  health/loop: baseline              # no more than the baseline's
  generation/cost: baseline + 10%    # at most a tenth above it
  generation/latency_p90: 2.5
  run/failed: 0
on_unknown: fail
```

>>> policy = read({"scores": {"bleu": 0.5}, "limits": {"generation/cost": "baseline + 10%"}}, "gate.yaml")
>>> policy.scores["bleu"], policy.limits["generation/cost"].allowed(20.0)
(Rule(margin=0.5, floor=None, improve=None), 22.0)
>>> read({"scores": {"bleu": {"margn": 0.5}}}, "gate.yaml")
Traceback (most recent call last):
harness.types.errors.HarnessError: gate.yaml: scores.bleu has 'margn' (did you mean 'margin'?); expected margin, floor
or improve
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import yaml

from harness.types import HarnessError, nearest
from harness.types.real_numbers import is_finite

UNKNOWN = ("pass", "fail")
"""What `cannot tell` may count as."""
PARTS = ("health", "generation", "run")
"""Of what a run's own facts are named by: `health/empty`."""
EQUALS = re.compile(r"(?<![<>=!])=(?!=)")


@dataclass(frozen=True)
class Rule:
    """What is asked of a score."""

    margin: float | None = None
    """A loss that does not matter."""
    floor: float | None = None
    """What the score itself must reach (where lower is better: what it may not pass)."""
    improve: float | None = None
    """By how much it must be better; 0: at all."""


@dataclass(frozen=True)
class Limit:
    """The most that a fact of the run may be."""

    most: float
    relative: str = ""
    """`+`: above the baseline's; `%`: percent above the baseline's; empty: as it is."""

    def allowed(self, baseline: float | None) -> float | None:
        """None where it depends on a baseline that has no such fact."""
        if not self.relative:
            return self.most
        if baseline is None:
            return None
        return baseline * (1 + self.most / 100) if self.relative == "%" else baseline + self.most

    def __str__(self) -> str:
        if not self.relative:
            return f"{self.most:g}"
        return "the baseline's" + (f" + {self.most:g}{self.relative.replace('+', '')}" if self.most else "")


Rules = Mapping[str, Rule]


@dataclass(frozen=True)
class Policy:
    scores: Rules = field(default_factory=dict)
    """Empty: every headline score, without a margin."""
    slices: Mapping[str, Rules] = field(default_factory=dict)
    """By `FIELD=VALUE`."""
    datasets: Mapping[str, Policy] = field(default_factory=dict)
    limits: Mapping[str, Limit] = field(default_factory=dict)
    on_unknown: str | None = None

    def on(self, dataset: str) -> Policy:
        """What holds on a data set."""
        return self.datasets.get(dataset, self)

    def with_margins(self, margins: Sequence[tuple[str, float]]) -> Policy:
        """Margins that were typed come before those of the file."""
        rules = {score: replace(self.scores.get(score, Rule()), margin=margin) for score, margin in margins}
        parts = {name: part.with_margins(margins) for name, part in self.datasets.items()}
        return replace(self, scores={**self.scores, **rules}, datasets=parts)


def load(path: str | Path) -> Policy:
    """Of a YAML file."""
    try:
        content = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise HarnessError(f"{path}: {error.strerror or error}; expected a policy, a YAML file") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise HarnessError(f"{path} is no YAML ({' '.join(str(error).split())}); expected a policy") from None
    return read(content, str(path))


def read(content: Any, place: str) -> Policy:
    """Of what a YAML file holds, named by its place."""
    known = [each.name for each in fields(Policy)]
    whole = _mapping(content, place, known)
    on_unknown = whole.get("on_unknown")
    if on_unknown not in (None, *UNKNOWN):
        raise HarnessError(f"{place}: on_unknown is {on_unknown!r}; expected pass or fail")
    slices = _mapping(whole.get("slices"), f"{place}: slices")
    for name in slices:
        if not all(field_and_value(name)):
            raise HarnessError(
                f"{place}: the slice {name!r} names no value; expected FIELD=VALUE, such as domain=legal"
            )
    limits = _mapping(whole.get("limits"), f"{place}: limits")
    datasets = _mapping(whole.get("datasets"), f"{place}: datasets")
    scores = _rules(whole.get("scores"), f"{place}: scores")
    return Policy(
        scores,
        {name: _of_slice(rules, f"{place}: slices.{name}", scores) for name, rules in slices.items()},
        {name: _of_data_set(part, f"{place}: datasets.{name}") for name, part in datasets.items()},
        {name: _limit(name, value, place) for name, value in limits.items()},
        on_unknown,
    )


def field_and_value(name: str) -> tuple[str, str]:
    """Of a slice; signs of an expression that compares are none that part the two.

    >>> field_and_value("domain=legal"), field_and_value("len(source) >= 200=yes")
    (('domain', 'legal'), ('len(source) >= 200', 'yes'))
    """
    by, *value = EQUALS.split(name, maxsplit=1)
    return by.strip(), "".join(value).strip()


def _of_slice(content: Any, place: str, scores: Rules) -> Rules:
    """Scores with what is asked of each; or, where the policy asks for one score, what is asked of that."""
    known = [each.name for each in fields(Rule)]
    alone = isinstance(content, int | float) or (isinstance(content, dict) and content and set(content) <= set(known))
    if not alone:
        return _rules(content, place)
    if len(scores) != 1:
        raise HarnessError(f"{place} is {content!r}, and names no score; expected SCORE with it, such as bleu: 1.0")
    return {score: _rule(content, place) for score in scores}


def _of_data_set(content: Any, place: str) -> Policy:
    whole = _mapping(content, place, ["scores", "slices", "limits"])
    return read(whole, place)


def _mapping(content: Any, place: str, known: Sequence[str] | None = None) -> dict[str, Any]:
    if content is None:
        return {}
    if not isinstance(content, dict):
        raise HarnessError(f"{place} is {content!r}; expected names with what is asked of each")
    for name in content:
        if known is not None and name not in known:
            expected = f"{', '.join(known[:-1])} or {known[-1]}"
            raise HarnessError(f"{place} has {name!r}{nearest(str(name), known)}; expected {expected}")
    return {str(name): value for name, value in content.items()}


def _rules(content: Any, place: str) -> Rules:
    return {score: _rule(value, f"{place}.{score}") for score, value in _mapping(content, place).items()}


def _rule(value: Any, place: str) -> Rule:
    if value is None:
        return Rule()
    if not isinstance(value, dict):
        return Rule(margin=_number(value, place, positive=True))
    given = _mapping(value, place, [each.name for each in fields(Rule)])
    improve = given.get("improve")
    if isinstance(improve, bool):
        improve = 0.0 if improve else None
    return Rule(
        None if given.get("margin") is None else _number(given["margin"], f"{place}.margin", positive=True),
        None if given.get("floor") is None else _number(given["floor"], f"{place}.floor"),
        None if improve is None else _number(improve, f"{place}.improve"),
    )


def _limit(name: str, value: Any, place: str) -> Limit:
    if name.partition("/")[0] not in PARTS or "/" not in name:
        raise HarnessError(
            f"{place}: limits has {name!r}; expected a fact of a run, such as health/empty, generation/cost, "
            "generation/latency_p90 or run/failed"
        )
    if isinstance(value, str) and (shape := re.fullmatch(r"baseline(?:\s*\+\s*(\d+(?:\.\d+)?)(%?))?", value.strip())):
        return Limit(float(shape[1] or 0), shape[2] or "+")
    if isinstance(value, str):
        raise HarnessError(
            f"{place}: limits.{name} is {value!r}; expected a number, baseline, baseline + 0.01 or baseline + 10%"
        )
    return Limit(_number(value, f"{place}: limits.{name}"))


def _number(value: Any, place: str, positive: bool = False) -> float:
    if not is_finite(value):
        raise HarnessError(f"{place} is {value!r}; expected a number")
    if positive and value <= 0:
        raise HarnessError(f"{place} is {value!r}; expected a difference above 0")
    return float(value)
