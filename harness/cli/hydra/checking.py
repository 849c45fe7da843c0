"""What no key of a config can be: a number or a text that a run folder cannot hold, a flag that is neither true nor
false. What a key's own range is, whoever reads it says."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any

from harness.inputs.nested import leaves
from harness.types import HarnessError, text_fault
from harness.types.settings import Config

FLAGS = tuple(key.name for key in fields(Config) if isinstance(key.default, bool))


def check_flags(config: Mapping[Any, Any]) -> None:
    """OmegaConf would take 5 for true."""
    for name in FLAGS:
        if name in config and not isinstance(config[name], bool):
            raise HarnessError(f"{name}={config[name]}; expected true or false")


def check_values(config: Mapping[str, Any]) -> None:
    """Refuses what JSON, YAML or MLflow cannot keep, before anything is computed."""
    for name, value in _single(config):
        if isinstance(value, int) and value.bit_length() > 63:
            shown = str(value) if value.bit_length() < 200 else "a number of hundreds of digits"
            raise HarnessError(f"{name}={shown}; expected a whole number of at most 18 digits")
        if isinstance(value, float) and not math.isfinite(value):
            raise HarnessError(f"{name}={value}; expected a finite number")
        fault = text_fault(value) if isinstance(value, str) else None
        if fault:
            raise HarnessError(f"{name} holds {fault}; expected Unicode text")


def _single(config: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """(dotted name, value), those in lists one by one."""
    waiting = list(leaves(config))
    while waiting:
        name, value = waiting.pop(0)
        if isinstance(value, list):
            waiting[:0] = [(f"{name}.{i}", item) for i, item in enumerate(value)]
        elif isinstance(value, Mapping):
            waiting[:0] = [(f"{name}.{inner}", item) for inner, item in leaves(value)]
        else:
            yield name, value
