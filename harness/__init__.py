"""harness: experiment-tracking evaluation for text generation.

>>> import harness
>>> result = harness.evaluate(outputs=["the cat sat"], references=[["the cat sat"]], metrics=["rouge"], resamples=0)
>>> result.scores["rougeL"].estimate
1.0
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"
__all__ = [
    "HarnessError", "Metric", "__version__", "best", "compare", "evaluate", "load_run", "plot", "power", "rankings",
    "report", "table",
]  # fmt: skip

if TYPE_CHECKING:
    from harness.api import best, compare, evaluate, load_run, power
    from harness.figures import plot
    from harness.reports import report
    from harness.stats.ranking import rankings
    from harness.tables import table
    from harness.types import HarnessError, Metric


def __getattr__(name: str) -> Any:
    """Public names are imported on first use, so that `harness --help` answers at once."""
    import importlib

    places = {"HarnessError": "harness.types", "Metric": "harness.types", "rankings": "harness.stats.ranking"}
    places |= {"plot": "harness.figures", "report": "harness.reports", "table": "harness.tables"}
    if name in __all__:
        return getattr(importlib.import_module(places.get(name, "harness.api")), name)
    raise AttributeError(f"module 'harness' has no attribute {name!r}")
