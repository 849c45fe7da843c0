"""The seam to where runs are logged, and what a page there shows of several that belong together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from harness.types.results import RunResult


@dataclass(frozen=True)
class Outcome:
    """What came out of runs that belong together, for the page of their parent."""

    name: str
    """What they are, in a few words."""
    note: str
    """Score table, verdicts and the best, in Markdown."""
    files: Mapping[str, bytes]
    """Figures, table and report by file name."""
    tags: Mapping[str, str]
    """What varied, with its values."""
    best: Mapping[str, float]
    """The best run's score, and what remains of it after correction for the choice: `bleu`, `bleu.corrected`."""


@dataclass(frozen=True, slots=True)
class Tracked:
    """Where a run was logged."""

    run_id: str
    uri: str
    where: str
    """For people: the page or the store."""
    how: str = "logged"
    """`logged`, `completed` where a part was missing, or `already there`."""


class Tracker(Protocol):
    """Logs a finished run folder; the folder stays the truth."""

    experiment: str

    def log(self, run: RunResult, group: str | None) -> Tracked | None: ...
