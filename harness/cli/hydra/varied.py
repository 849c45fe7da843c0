"""What a multirun varies, told to each of its cells, so that a cell knows what it is called.

The parent adds the override `sweep={space: …, choices: …}` to those of every cell, whatever the launcher, its values as
JSON; a cell finds its own values among its overrides. Nothing of it is part of the config's key.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override, Quote, QuotedString
from omegaconf import OmegaConf

from harness import masking
from harness.cli.hydra.received import literal
from harness.store.sweep_cells import cell, label

GRIDS = ("hydra._internal.core_plugins.basic_sweeper.BasicSweeper", "hydra_plugins.harness_sweepers.RaceSweeper")
"""Sweepers that run every combination of the values, so that one that is not there is missing."""
MEMBER = "sweep.member"
"""Of a race: which of the systems that its system stands for a cell is."""
MOST = 1000
"""So many values of a parameter are noted; of more only that it varies."""


@dataclass(frozen=True)
class Varied:
    """What a sweep varies."""

    space: dict[str, list[Any] | None]
    """The values of each parameter where they are known before, in their order; None where a sweeper chooses them."""
    choices: dict[str, list[Any]]
    """Those that it chooses from, where they can be counted."""

    @classmethod
    def of(cls, words: Sequence[str], sweeper: Mapping[str, Any], loader: Any) -> Varied:
        """What the overrides of a multirun vary."""
        typed = [*(f"{name}={value}" for name, value in (sweeper.get("params") or {}).items()), *words]
        overrides = OverridesParser.create(config_loader=loader).parse_overrides(typed)
        known = {override.key_or_group: _values(override) for override in overrides if override.is_sweep_override()}
        if sweeper.get("_target_") in GRIDS:
            return cls(known, {})
        return cls(dict.fromkeys(known), {name: values for name, values in known.items() if values is not None})

    def label(self, words: Sequence[str]) -> str:
        """What the cell with these overrides is called."""
        return label(chosen(words, [*self.space, MEMBER]), {**self.space, **self.choices})

    @property
    def word(self) -> str:
        """The override that tells cells what varies."""
        space, choices = (
            ",".join(f"{name}:{_word(values)}" for name, values in own.items()) for own in (self.space, self.choices)
        )
        return f"sweep={{space:{{{space}}},choices:{{{choices}}}}}"


def _values(swept: Override) -> list[Any] | None:
    if not swept.is_discrete_sweep():
        return None
    name, words = swept.key_or_group, list(swept.sweep_string_iterator())
    if len(words) > MOST:
        return None
    overrides = OverridesParser.create().parse_overrides([f"{name}={word}" for word in words])
    values = [_plain(override.value()) for override in overrides]
    field = name.rpartition(".")[2]
    hidden = any(masking.masked({field: value})[field] != value for value in values)
    return None if hidden else values


def _word(values: list[Any] | None) -> str:
    """As Hydra reads it, `${…}` as it stands."""
    if values is None:
        return "null"
    documents = (json.dumps(value, ensure_ascii=False) for value in values)
    return f"[{','.join(QuotedString(literal(document), Quote.single).with_quotes() for document in documents)}]"


def own(sweep: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """The cell that this is: what the sweep varies, as it is here; None where it is none."""
    if not sweep or not HydraConfig.initialized():
        return None
    hydra = HydraConfig.get()
    words: Any = OmegaConf.to_container(hydra.overrides.task)  # not resolved: `${.key}` means nothing in this list
    space, choices = (_parsed(sweep.get(part) or {}) for part in ("space", "choices"))
    return cell(chosen(words, space), int(sweep.get("number", hydra.job.num)), space, choices)


def _parsed(known: Mapping[str, Sequence[str] | None]) -> dict[str, Any]:
    return {name: values and [json.loads(value) for value in values] for name, values in known.items()}


def chosen(words: Sequence[str], names: Iterable[str]) -> dict[str, Any]:
    """The values that the overrides of a cell give what varies."""
    overrides = OverridesParser.create().parse_overrides(list(words))
    values = {override.key_or_group: override.value() for override in overrides if not override.is_delete()}
    parameters: dict[str, Any] = masking.masked({name: _plain(values[name]) for name in names if name in values})
    return parameters


def _plain(value: Any) -> Any:
    """A value of an override as JSON has it."""
    if isinstance(value, Mapping):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value if value is None or isinstance(value, bool | int | float) else str(value)
