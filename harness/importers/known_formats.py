"""Which format a log is of: as the user says, or the first that fits; where none does, why each refused."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path

from harness.importers import aligned, eee, inspect_ai, lm_eval
from harness.importers.checked import Choice
from harness.importers.log import Log
from harness.inputs.garbage import left_alone
from harness.types import HarnessError, check_choice

log = logging.getLogger(__name__)
FORMATS = {module.NAME: module for module in (lm_eval, inspect_ai, eee, aligned)}
NAMES = tuple(FORMATS)


def read(paths: Sequence[str | Path], format: str | None = None, scores: Sequence[str] | None = None) -> list[Log]:
    """The logs at these paths, all of them read and checked; `scores`: those to import, all by default."""
    if format is not None:
        check_choice("--as", format, NAMES)
    choice = Choice(scores)
    with left_alone():  # millions of small objects, none of which is garbage
        logs = [log for path in paths for log in _at(Path(path), format, choice)]
    choice.check()
    return logs


def _at(path: Path, format: str | None, choice: Choice) -> list[Log]:
    if not path.exists():
        raise HarnessError(f"{path} does not exist; expected a log, or a folder of them")
    refusals = {name: FORMATS[name].refusal(path) for name in (NAMES if format is None else (format,))}
    fitting = [name for name, why in refusals.items() if why is None]
    if not fitting:
        tried = "; ".join(f"{name}: {why}" for name, why in refusals.items())
        raise HarnessError(f"{path} is a log of no format that was tried ({tried}); expected one of these")
    for other in fitting[1:]:
        log.warning("%s: read as %s; --as %s imports what it has of that format", path, fitting[0], other)
    logs = list(FORMATS[fitting[0]].logs(path, choice))
    if not logs:
        raise HarnessError(f"{path} has neither scores of single samples nor outputs; expected one of them to import")
    return logs
