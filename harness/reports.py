"""`harness report`: a study as one HTML file that opens from disk."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import harness
from harness import config
from harness.api import Run
from harness.report.comparisons import CORRECTIONS
from harness.report.page import alignments as aligned
from harness.report.page import examples
from harness.report.page.build import build
from harness.report.page.configs import common_count, differing
from harness.report.page.packed import packed_json
from harness.report.page.scores import tables
from harness.report.progress import silent
from harness.store import atomic
from harness.study import study
from harness.types import HarnessError, Progress, RunResult, Study

ALIGNMENTS = 20
"""Examples of each data set that come with BERTScore's alignment, unless asked for otherwise."""


def report(
    runs: Sequence[Run],
    path: str | Path,
    baseline: Run | None = None,
    scores: Sequence[str] | None = None,
    title: str | None = None,
    by: Sequence[str] = (),
    alignments: int = ALIGNMENTS,
    max_examples: int | None = None,
    test: str = "bootstrap",
    resamples: int = 10_000,
    level: float = 0.95,
    seed: int = 12345,
    correction: str = "max-t",
    progress: Progress = silent,
) -> Path:
    """Writes the runs side by side as one HTML file and says where: the answer in a sentence, scores with intervals,
    pictures, and every example to search, sort, filter and read.

    `by`: metadata fields that scores are also drawn by. `alignments`: of how many biggest wins and losses the words
    that BERTScore matched are kept. `max_examples`: of larger data the biggest differences and an even share of the
    rest. The same runs give the same bytes.
    """
    if max_examples is not None and max_examples < 1:
        raise HarnessError(f"max_examples={max_examples}; expected at least 1")
    if alignments < 0:
        raise HarnessError(f"alignments={alignments}; expected 0 or more")
    target = Path(path)
    if not target.parent.is_dir():
        raise HarnessError(f"{target}: there is no folder {target.parent}; expected one that is there")
    found = study(runs, baseline, test, resamples, level, seed, correction, scores, progress)
    page = page_of(found, title, by, alignments, max_examples, progress)
    try:
        atomic.write(target, page.encode())
    except OSError as error:
        raise HarnessError(f"{target} cannot be written ({error.strerror or error}); expected a writable file") from None
    return target
