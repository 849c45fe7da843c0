"""`tracking=none`: the run folder only."""

from __future__ import annotations

from harness.types import RunResult, Tracked


class NoTracking:
    def __init__(
        self,
        experiment: str = "harness",
        uri: None = None,
        subscores: bool = False,
        parents: bool = True,
        traces: int = 0,
    ) -> None:
        """All but the experiment is for `harness sync`, which reads it in the run folder."""
        self.experiment = experiment

    def log(self, run: RunResult, group: str | None) -> Tracked | None:
        return None
