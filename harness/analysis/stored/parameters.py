"""Which parameters a sweep varied: what differs between the configs of runs on the same data."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.analysis.stored import cell_names
from harness.inputs.nested import leaves
from harness.store.sweep_cells import told_apart
from harness.types import RunRecord, RunResult
from harness.types.real_numbers import is_number

PARTS = ("system", "postprocess")
"""Parts of a config that decide the outputs; what else differs (names, folders, tracking) does not."""
INCIDENTAL = ("system._target_", "system.name", "system.path", "system.step", "system.series", "postprocess._target_")
"""What a run is, not how it was set: its name, the file its outputs come from, its place in a learning curve."""


@dataclass(frozen=True)
class Parameter:
    """A value of the config that is not the same in all runs."""

    name: str
    values: tuple[Any, ...]
    """Of each run; numbers, or texts."""
    also: tuple[str, ...] = ()
    """Others that change whenever it does, and only then."""

    @property
    def numeric(self) -> bool:
        return all(map(is_number, self.values))

    @property
    def levels(self) -> list[Any]:
        """Its values, each once, numbers in their order."""
        distinct = list(dict.fromkeys(self.values))
        return sorted(distinct) if self.numeric else distinct


def parameters(runs: Sequence[RunResult | RunRecord]) -> list[Parameter]:
    """What differs between the runs' configs, in the configs' order; nothing where a run has no config.

    Runs of systems of different kinds have `system` as a parameter, and beside it only what all of them have.
    """
    configs = [run.manifest.get("config") for run in runs]
    if len(runs) < 2 or not all(configs):
        return []
    settings = [dict(leaves({part: config.get(part) for part in PARTS})) for config in configs if config]
    shared = [key for key in settings[0] if all(key in own for own in settings)]
    varied: dict[str, tuple[Any, ...]] = {}
    if len({own.get("system._target_") for own in settings}) > 1:
        varied["system"] = tuple(run.system for run in runs)
    for key in shared:
        values = tuple(_plain(own[key]) for own in settings)
        if len(set(map(repr, values))) > 1 and key not in INCIDENTAL:
            varied[key] = values
    return _merged(varied)


def labels(runs: Sequence[RunResult | RunRecord]) -> list[str]:
    """What runs on the same data are called in a table: their systems, with what differs between the configs of runs of
    the same system (`lead sentences=2`, `lead sentences=3`, `copy`)."""
    systems = [run.system for run in runs]
    apart = len(set(systems)) == len(systems)
    if (called := cell_names.labels(runs)) is not None and not (apart and cell_names.by_system(runs)):
        return called
    if apart:
        return systems
    called = list(systems)
    for system in dict.fromkeys(systems):
        places = [i for i, own in enumerate(systems) if own == system]
        for setting in parameters([runs[i] for i in places]):
            for i, value in zip(places, told_apart(setting.values), strict=True):
                called[i] += f" {setting.name}={value}"
    return called


def _plain(value: Any) -> Any:
    """Numbers and texts as they are, the rest as JSON."""
    if isinstance(value, int | float | str) and not isinstance(value, bool):
        return value
    return json.dumps(value, ensure_ascii=False, default=str)


def _merged(varied: Mapping[str, tuple[Any, ...]]) -> list[Parameter]:
    """Parameters that always change together are one."""
    merged: dict[tuple[int, ...], list[str]] = {}
    for key, values in varied.items():
        known: dict[str, int] = {}
        pattern = tuple(known.setdefault(repr(value), len(known)) for value in values)
        merged.setdefault(pattern, []).append(key)
    names = [key.removeprefix("system.") for key in varied]
    short = {key: name if names.count(name) == 1 else key for key, name in zip(varied, names, strict=True)}
    parameters = []
    for keys in merged.values():
        main = next((key for key in keys if Parameter(key, varied[key]).numeric), keys[0])
        parameters.append(Parameter(short[main], varied[main], tuple(short[key] for key in keys if key != main)))
    return parameters
