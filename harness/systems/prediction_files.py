"""`system=predictions 'system.path=outputs/*.jsonl'`: each file of outputs is a system of its own.

>>> PredictionFiles("no/such/*.jsonl", None, {}).cells()
Traceback (most recent call last):
harness.types.errors.HarnessError: system.path=no/such/*.jsonl matches no file; expected files of outputs
"""

from __future__ import annotations

import glob
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from harness.types import HarnessError, Systems

TARGET = "harness.systems.predictions.Predictions"


class PredictionFiles(Systems):
    def __init__(self, pattern: str, name: str | None, options: Mapping[str, Any]) -> None:
        """`options`: those of system=predictions that all files share."""
        self.pattern, self.name, self._named, self.options = pattern, name or pattern, name, options

    def cells(self) -> list[dict[str, Any]]:
        files = sorted(path for path in glob.glob(str(Path(self.pattern).expanduser())) if Path(path).is_file())
        if not files:
            raise HarnessError(f"system.path={self.pattern} matches no file; expected files of outputs")
        return [
            {
                "_target_": TARGET,
                **self.options,
                "path": path,
                "name": self._named and f"{self._named}-{Path(path).stem}",
            }
            for path in files
        ]
