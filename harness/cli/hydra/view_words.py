"""`metrics.rouge.view.against=contexts` without Hydra's `+`: every metric takes a view, and the YAML of most has none.

>>> added(["metrics=rouge", "metrics.rouge.view.against=contexts", "metrics.rouge.stemmer=true"])
['metrics=rouge', '++metrics.rouge.view.against=contexts', 'metrics.rouge.stemmer=true']
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from harness.types import HarnessError, nearest

VIEW = re.compile(r"metrics\.[^.=\s]+\.view(\.[^.=\s]+)?=")


def added(overrides: Sequence[str]) -> list[str]:
    """With Hydra's word for "whether or not it is there" before every option of a view."""
    return [f"++{override}" if VIEW.match(override) else override for override in overrides]


def check(metrics: Mapping[str, Any]) -> None:
    """Refuses a view of a metric that was not chosen."""
    alone = [name for name, spec in metrics.items() if isinstance(spec, Mapping) and set(spec) == {"view"}]
    if alone:
        chosen = [name for name in metrics if name not in alone]
        raise HarnessError(
            f"metrics.{alone[0]}.view is a view of a metric that was not chosen{nearest(alone[0], chosen)}; expected "
            f"one of {', '.join(chosen)}, or {alone[0]} among the metrics"
        )
