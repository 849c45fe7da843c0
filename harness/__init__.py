"""harness: experiment-tracking evaluation for text generation.

>>> import harness
>>> result = harness.evaluate(outputs=["the cat sat"], references=[["the cat sat"]], metrics=["rouge"], resamples=0)
>>> result.scores["rougeL"].estimate
1.0
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"
__all__ = ["HarnessError", "Metric", "__version__", "compare", "evaluate", "load_run"]

if TYPE_CHECKING:
    from harness.api import compare, evaluate, load_run
    from harness.types import HarnessError, Metric


def __getattr__(name: str) -> Any:
    """Public names are imported on first use, so that `harness --help` answers at once."""
    import importlib

    if name in ("compare", "evaluate", "load_run"):
        return getattr(importlib.import_module("harness.api"), name)
    if name in ("HarnessError", "Metric"):
        return getattr(importlib.import_module("harness.types"), name)
    raise AttributeError(f"module 'harness' has no attribute {name!r}")
