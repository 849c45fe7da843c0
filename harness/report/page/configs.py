"""How the runs were configured: only what differs, and the manifest of each in full."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

MISSING = "–"


def flat(config: Any, place: str = "") -> dict[str, str]:
    """A config by dotted names, values as JSON.

    >>> flat({"system": {"beams": 4, "stop": ["a"]}})
    {'system.beams': '4', 'system.stop': '["a"]'}
    """
    if isinstance(config, Mapping) and config:
        found: dict[str, str] = {}
        for key, value in config.items():
            found |= flat(value, f"{place}.{key}" if place else str(key))
        return found
    shown = config if isinstance(config, str) and config else json.dumps(config, ensure_ascii=False, default=str)
    return {place: shown}


def differing(configs: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Rows `{name, values}` of what is not the same in all configs; `–` where a config has no such field."""
    flats = [flat(config) for config in configs]
    names = dict.fromkeys(name for one in flats for name in one)
    rows = [{"name": name, "values": [one.get(name, MISSING) for one in flats]} for name in names]
    return [row for row in rows if len(set(row["values"])) > 1]


def common_count(configs: Sequence[Mapping[str, Any]]) -> int:
    """How many fields are the same everywhere."""
    flats = [flat(config) for config in configs]
    names = dict.fromkeys(name for one in flats for name in one)
    return sum(len({one.get(name, MISSING) for one in flats}) == 1 for name in names)
