"""Logs made for real (logs/README.md says how), and a short way to import them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.analysis.importing import Asked, imported
from harness.report.terminal.progress import silent
from harness.run.from_log import Destination
from harness.types import RunResult

LOGS = Path(__file__).parent / "logs"
Import = Callable[..., list[RunResult]]


@pytest.fixture
def logs() -> Path:
    return LOGS


@pytest.fixture
def import_logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Import:
    """Imports into a folder of the test's own, which is the current one: few resamples, no store."""
    monkeypatch.chdir(tmp_path)

    def call(*paths: Path, metrics: tuple[str, ...] = (), **asked: Any) -> list[RunResult]:
        return list(imported(Asked(paths, **asked), Destination(None, "none", metrics, 200), silent))

    return call
