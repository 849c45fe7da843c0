"""What executing a stored run would run, load, read and ask: every function, program, model, file and address that its
config names, for whoever decides whether to trust it.

>>> would_run({"config": {"system": {"_target_": "harness.systems.python.Python", "function": "mine.py:f"}}})
['system: harness.systems.python.Python(function=mine.py:f)']
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harness.analysis.stored.trust import described
from harness.inputs.visible import visible
from harness.masking import redacted

NOTHING: tuple[Any, ...] = (None, False, "", [], {})
PARTS = ("dataset", "system", "postprocess", "engine")


def would_run(manifest: Mapping[str, Any]) -> list[str]:
    """A line for each part of the run's config that is built, with the options that name anything."""
    config = manifest["config"]
    specs = {part: config.get(part) for part in PARTS}
    metrics = config.get("metrics")
    specs |= {f"metrics.{name}": spec for name, spec in metrics.items()} if isinstance(metrics, Mapping) else {}
    lines = []
    for place, spec in specs.items():
        if isinstance(spec, Mapping) and isinstance(spec.get("_target_"), str):
            options = {name: _naming(value) for name, value in spec.items() if name != "_target_"}
            options = {name: value for name, value in options.items() if value not in NOTHING}
            lines.append(f"{place}: {described({'_target_': spec['_target_'], 'options': options})}")
    return [visible(redacted(line)) for line in lines]


def _naming(value: Any) -> Any:
    """What of an option names anything: not null, false or what is empty."""
    if not isinstance(value, Mapping):
        return value
    inner = {name: _naming(item) for name, item in value.items()}
    return {name: item for name, item in inner.items() if item not in NOTHING}
