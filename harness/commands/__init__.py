"""One file a command: `add` says its options, `call` does it. Nothing heavy is imported before it is called."""

from __future__ import annotations

import argparse
import sys
from typing import Any

RUN = "a run folder, a run's name (the newest) or MLflow run id"


def resampling(command: argparse.ArgumentParser, scores: bool = True) -> None:
    """Options of every command that resamples stored runs."""
    if scores:
        command.add_argument("--score", metavar="NAME", action="append", help="this score only; may be given again")
    command.add_argument("--level", type=float, default=0.95, help="confidence level (default: %(default)s)")
    command.add_argument("--resamples", type=int, default=10_000, help="(default: %(default)s)")
    command.add_argument("--seed", type=int, default=12345, help="(default: %(default)s)")
    command.add_argument("--no-progress", action="store_true", help="no progress bar")


def testing(command: argparse.ArgumentParser) -> None:
    """Options of every command that shows what the tests say."""
    command.add_argument(
        "--test", choices=("bootstrap", "randomization"), default="bootstrap", help="(default: %(default)s)"
    )
    command.add_argument(
        "--correction",
        choices=("max-t", "holm", "bh", "none"),
        default="max-t",
        help="of p-values over scores, systems and data sets (default: %(default)s)",
    )


def as_json(command: argparse.ArgumentParser) -> None:
    command.add_argument("--json", action="store_true", help="only JSON on standard output")


def settings(options: Any, *names: str) -> dict[str, Any]:
    """What the commands that resample hand on; warnings go to standard error."""
    from harness.report.progress import bars

    warn()
    given = {name: getattr(options, name) for name in ("level", "resamples", "seed", *names)}
    return {**given, "progress": bars(not options.no_progress)}


def warn() -> None:
    """Warnings go to standard error, a line each."""
    from harness.masking import log_to

    log_to(sys.stderr)


def print_json(**fields: Any) -> None:
    import json

    print(json.dumps({"schema": 1, **fields}, indent=2))
