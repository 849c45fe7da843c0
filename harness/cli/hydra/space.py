"""What an optimising sweep searches, in Hydra's own syntax.

`system=lead,lexrank` and `choice(…)` are values without order, `range(1,9)` whole numbers (or steps), `interval(0,1)`
numbers in between, `int(interval(1,8))` whole ones, `tag(log, interval(1e-5, 1))` on a logarithmic scale.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override

from harness.types import HarnessError

LARGEST = 100_000
"""Combinations of a grid."""


@dataclass(frozen=True)
class Space:
    """What varies, and what does not."""

    fixed: list[str] = field(default_factory=list)
    """Overrides of every trial."""
    parameters: dict[str, Any] = field(default_factory=dict)
    """Optuna's distribution of each parameter."""
    values: dict[str, list[str] | None] = field(default_factory=dict)
    """Those of each parameter, where they can be counted."""

    def overrides(self, chosen: Mapping[str, Any]) -> list[str]:
        """Those of a trial."""
        return [*self.fixed, *(f"{name}={_word(chosen[name])}" for name in self.parameters)]

    @property
    def grid(self) -> list[dict[str, Any]]:
        """Every combination."""
        endless = [name for name, values in self.values.items() if values is None]
        if endless:
            raise HarnessError(
                f"{endless[0]} is an interval, and hydra.sweeper.sampler=grid tries every value; expected a list of "
                "values or range(…)"
            )
        columns = [self._column(name) for name in self.parameters]
        count = 1
        for column in columns:
            count *= len(column)
        if count > LARGEST:
            raise HarnessError(f"the grid has {count:,} combinations; expected at most {LARGEST:,}")
        return [dict(zip(self.parameters, row, strict=True)) for row in itertools.product(*columns)]

    def _column(self, name: str) -> Sequence[Any]:
        values, distribution = self.values[name] or [], self.parameters[name]
        return [distribution.to_external_repr(distribution.to_internal_repr(_number(v, distribution))) for v in values]


def space(words: Sequence[str], loader: Any) -> Space:
    """Of the overrides of a sweep."""
    made = Space()
    for override in OverridesParser.create(config_loader=loader).parse_overrides(list(words)):
        if not override.is_sweep_override():
            made.fixed.append(str(override.input_line))
            continue
        name = override.get_key_element()
        made.values[name] = _values(override)
        made.parameters[name] = _distribution(override, name)
    if not made.parameters:
        raise HarnessError(
            "the sweep varies nothing; expected a parameter with values: 'system.temperature=interval(0,1)', "
            "system.num_beams=1,2,4"
        )
    return made


def _values(override: Override) -> list[str] | None:
    if not override.is_discrete_sweep():
        return None
    values = list(override.sweep_string_iterator())
    if not values:
        raise HarnessError(f"{override.input_line} has no value; expected at least one")
    return values


def _distribution(override: Override, name: str) -> Any:
    from optuna import distributions

    value: Any = override.value()
    try:
        if override.is_interval_sweep():
            whole = isinstance(value.start, int) and isinstance(value.end, int)
            kind = distributions.IntDistribution if whole else distributions.FloatDistribution
            return kind(value.start, value.end, log="log" in value.tags)
        if override.is_range_sweep() and not value.shuffle:
            numbers = list(_numbers(override))
            if len(numbers) > 1:
                low, high, step = min(numbers), max(numbers), abs(numbers[1] - numbers[0])
                whole = all(isinstance(number, int) for number in numbers)
                kind = distributions.IntDistribution if whole else distributions.FloatDistribution
                return kind(low, high, step=step)
    except ValueError as error:
        raise HarnessError(f"{override.input_line}: {error}; expected a range that goes up") from None
    return distributions.CategoricalDistribution(list(override.sweep_string_iterator()))


def _numbers(override: Override) -> Iterator[float]:
    for value in override.sweep_iterator():
        yield value if isinstance(value, int) else float(str(value))


def _number(value: str, distribution: Any) -> Any:
    kind = type(distribution).__name__
    return value if kind == "CategoricalDistribution" else int(value) if kind == "IntDistribution" else float(value)


def _word(value: Any) -> str:
    """As an override has it; a choice is one already."""
    return value if isinstance(value, str) else repr(value)
