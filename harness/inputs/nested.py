"""Nested configs by dotted names: `system.model`, `metrics.bleu.tokenize`.

>>> config = {"system": {"beams": 4, "stop": []}, "limit": None, "columns": {}}
>>> dict(leaves(config))
{'system.beams': 4, 'system.stop': [], 'limit': None, 'columns': {}}
>>> [name for name, _ in nodes(config)]
['system', 'system.beams', 'system.stop', 'limit', 'columns']
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


def nodes(tree: Mapping[Any, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """(dotted name, value) of everything in nested mappings, a mapping before what it holds."""
    for key, value in tree.items():
        name = f"{prefix}.{key}" if prefix else str(key)
        yield name, value
        if isinstance(value, Mapping):
            yield from nodes(value, name)


def leaves(tree: Mapping[Any, Any]) -> Iterator[tuple[str, Any]]:
    """(dotted name, value) of what nested mappings hold; an empty mapping is a value like any other."""
    return ((name, value) for name, value in nodes(tree) if not isinstance(value, Mapping) or not value)


def settings(tree: Mapping[Any, Any]) -> Iterator[tuple[str, str]]:
    """(dotted name, text) of every value that is set; an empty mapping sets nothing."""
    return ((name, str(value)) for name, value in leaves(tree) if not isinstance(value, Mapping))
