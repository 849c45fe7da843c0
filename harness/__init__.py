"""harness: experiment-tracking evaluation for text generation.

>>> import harness
>>> result = harness.evaluate(outputs=["the cat sat"], references=[["the cat sat"]], metrics=["rouge"], resamples=0)
>>> result.scores["rougeL"].estimate
1.0
"""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"
__all__ = [
    "HarnessError",
    "Metric",
    "__version__",
    "best",
    "compare",
    "curve",
    "evaluate",
    "export_run",
    "gate",
    "import_logs",
    "load",
    "load_run",
    "log_dataset",
    "meta",
    "plot",
    "power",
    "rankings",
    "report_best",
    "run",
    "runs",
    "sweep",
    "table",
    "variance",
    "verify",
    "write_report",
]
_PLACES = {
    "HarnessError": "types",
    "Metric": "types",
    "load": "analysis.drop_in",
    "rankings": "stats.comparing.ranking",
    "runs": "analysis.stored.catalog",
}
"""Where a public name is defined; all others are in api."""

if TYPE_CHECKING:
    from harness.analysis.drop_in import load
    from harness.analysis.stored.catalog import runs
    from harness.api import (
        best,
        compare,
        curve,
        evaluate,
        export_run,
        gate,
        import_logs,
        load_run,
        log_dataset,
        meta,
        plot,
        power,
        report_best,
        sweep,
        table,
        variance,
        verify,
        write_report,
    )
    from harness.cli.hydra.from_python import run
    from harness.stats.comparing.ranking import rankings
    from harness.types import HarnessError, Metric


class _CallableRoom(ModuleType):
    """`harness.run(…)` is what users call, and harness/run/ the room whose modules are imported by that name: one
    module that can be called is both, whichever comes first."""

    def __call__(self, *words: str) -> Any:
        from harness.cli.hydra.from_python import run

        return run(*words)


if not TYPE_CHECKING:  # for type checkers it is the function
    import importlib

    importlib.import_module("harness.run").__class__ = _CallableRoom


def __getattr__(name: str) -> Any:
    """Public names are imported on first use, so that `harness --help` answers at once."""
    import importlib

    if name in __all__:
        return getattr(importlib.import_module(f"harness.{_PLACES.get(name, 'api')}"), name)
    raise AttributeError(f"module 'harness' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
