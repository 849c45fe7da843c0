"""What a multirun varies, told to each of its cells, so that a cell knows what it is called.

The parent adds the override `sweep={space: …}` to those of every cell, whatever the launcher; a cell finds its own
values among its overrides. Nothing of it is part of the config's key.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override, Quote, QuotedString
from omegaconf import OmegaConf

from harness import masking
from harness.cli.hydra.received import literal
from harness.store.sweep_cells import cell

GRIDS = ("hydra._internal.core_plugins.basic_sweeper.BasicSweeper", "hydra_plugins.harness_sweepers.RaceSweeper")
"""Sweepers that run every combination of the values, so that one that is not there is missing."""
MOST = 1000
"""So many values of a parameter are noted; of more only that it varies."""


def space_of(words: Sequence[str], sweeper: Mapping[str, Any], loader: Any) -> dict[str, list[str] | None]:
    """What varies, with the values of each where they are known before."""
    typed = [*(f"{name}={value}" for name, value in (sweeper.get("params") or {}).items()), *words]
    overrides = OverridesParser.create(config_loader=loader).parse_overrides(typed)
    grid = sweeper.get("_target_") in GRIDS
    return {
        override.key_or_group: _values(override) if grid else None
        for override in overrides
        if override.is_sweep_override()
    }


def swept(space: Mapping[str, list[str] | None]) -> str:
    """The override that tells cells what varies."""
    return f"sweep={{space:{{{','.join(f'{name}:{_shown(values)}' for name, values in space.items())}}}}}"


def _values(override: Override) -> list[str] | None:
    if not override.is_discrete_sweep():
        return None
    values = list(override.sweep_string_iterator())
    name = override.key_or_group.rpartition(".")[2]
    hidden = any(masking.masked({name: value})[name] != value for value in values)
    return None if hidden or len(values) > MOST else values


def _shown(values: list[str] | None) -> str:
    """As Hydra reads it, `${…}` as it stands."""
    if values is None:
        return "null"
    return f"[{','.join(QuotedString(literal(value), Quote.single).with_quotes() for value in values)}]"


def own(sweep: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """The cell that this is: what the sweep varies, as it is here; None where it is none."""
    if not sweep or not HydraConfig.initialized():
        return None
    hydra = HydraConfig.get()
    words: Any = OmegaConf.to_container(hydra.overrides.task)  # not resolved: `${.key}` means nothing in this list
    space = sweep.get("space") or {}
    return cell(chosen(words, space), int(sweep.get("number", hydra.job.num)), space)


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
