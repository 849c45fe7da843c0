"""`tracking=none`: the run folder only."""

from __future__ import annotations

from harness.tracking.surrounding import DEFAULT
from harness.types import RunResult, Tracked


class NoTracking:
    def __init__(
        self,
        experiment: str | None = None,
        uri: None = None,
        subscores: bool = False,
        parents: bool = True,
        traces: int = 0,
        under: str | None = None,
    ) -> None:
        """All but the experiment is for `harness sync`, which reads it in the run folder."""
        self.experiment = experiment or DEFAULT

    def log(self, run: RunResult, group: str | None) -> Tracked | None:
        return None
