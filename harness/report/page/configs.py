"""How the runs were configured: only what differs, and the manifest of each in full."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from harness.inputs.nested import leaves

MISSING = "–"
SAID_BY_OTHERS = ("system.others",)
"""Columns that hold the outputs of the other runs: their own rows name them."""


def flat(config: Mapping[str, Any]) -> dict[str, str]:
    """A config by dotted names, values as JSON.

    >>> flat({"system": {"beams": 4, "stop": ["a"]}})
    {'system.beams': '4', 'system.stop': '["a"]'}
    """
    return {name: _shown(value) for name, value in leaves(config) if name not in SAID_BY_OTHERS}


def _shown(value: Any) -> str:
    return value if isinstance(value, str) and value else json.dumps(value, ensure_ascii=False, default=str)


def differing(configs: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Rows `{name, values}` of what is not the same in all configs; `–` where a config has no such field."""
    return [row for row in _rows(configs) if len(set(row["values"])) > 1]


def common_count(configs: Sequence[Mapping[str, Any]]) -> int:
    """How many fields are the same everywhere."""
    return sum(len(set(row["values"])) == 1 for row in _rows(configs))


def _rows(configs: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    flats = [flat(config) for config in configs]
    names = dict.fromkeys(name for fields in flats for name in fields)
    return [{"name": name, "values": [fields.get(name, MISSING) for fields in flats]} for name in names]
