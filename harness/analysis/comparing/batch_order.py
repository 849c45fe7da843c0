"""The noise of an engine's batch order: a batch's size and order change the last bits of its numbers, so that greedy
runs of one system differ. Repeats of one such run show by how much.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from harness.analysis.comparing.groups import outputs_each
from harness.inputs.choices import LEVEL, SEED
from harness.stats.design import Design
from harness.stats.resampling import Sample, quiet_single_thread
from harness.stats.seeds import by_seed
from harness.types import Comparisons, RunResult

log = logging.getLogger(__name__)


def is_greedy(run: RunResult) -> bool:
    """Whether the system was to give the same output each time: it does not sample."""
    system: Any = run.manifest.get("config", {}).get("system") if run.manifest else None
    if not isinstance(system, Mapping):
        return False
    if "do_sample" in system:
        return system["do_sample"] is False
    return system.get("temperature") in (0, 0.0) and system["temperature"] is not False


def _repeats(run: RunResult) -> int:
    return int(run.manifest.get("system", {}).get("repeats") or 1)


def warn_of_batch_order(runs: Sequence[RunResult], rows: Comparisons, seed: int = SEED) -> None:
    """Says which differences are below what the order of batches alone makes, as repeats of greedy runs show it."""
    from scipy.special import stdtrit

    measured = {run.name: run for run in runs if is_greedy(run) and run.seeds == 1 and _repeats(run) > 1}
    spreads = {(name, score): spread for name, run in measured.items() for score, spread in _spreads(run, seed).items()}
    for row in rows:
        known = [spreads[name, row.score] for name in (row.baseline, row.system) if (name, row.score) in spreads]
        if not known or row.difference is None:
            continue
        spread, count = max(known)
        each = [count if name in measured else 1 for name in (row.baseline, row.system)]
        reach = float(stdtrit(count - 1, (1 + LEVEL) / 2)) * spread * float(np.sqrt(sum(1 / n for n in each)))
        if abs(row.difference) < reach:
            log.warning(
                "%s and %s differ by %.*f in %s, less than the %.*f that the order of batches alone may make (from %d "
                "repeats of a greedy run)",
                row.baseline, row.system, row.digits, abs(row.difference), row.score, row.digits, reach, count,
            )  # fmt: skip


def _spreads(run: RunResult, seed: int) -> dict[str, tuple[float, int]]:
    """By score (the standard deviation between its repeats, how many there are)."""
    count = outputs_each(run)
    design = Design.of_run(replace(run, seeds=count), seed)
    spreads = {}
    for statistics in run.statistics.values():
        keep = design.rows_of(design.complete(statistics.scored))
        with quiet_single_thread():
            scores = by_seed(Sample(statistics.metric, statistics.whole[keep], design.kept(keep)))
        for i, score in enumerate(statistics.metric.score_names):
            spreads[score] = float(scores[:, i].std(ddof=1)), count
    return spreads
