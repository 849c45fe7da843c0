"""Runs of one metric that were asked for other scores each, such as `measures=[nDCG@10,RR]` and `measures=[AP,RR]`:
what all of them have can be compared, where the metric can tell its scores apart."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace

from harness.inputs import files
from harness.types import Metric, RunResult, Statistics

log = logging.getLogger(__name__)


def on_shared_scores(runs: Sequence[RunResult]) -> list[RunResult]:
    """The runs on one data set; of a metric that is defined alike in all that have it, with the scores that all of
    these have. What shares none stays as it is: comparing it is refused."""
    kept = list(runs)
    for name in dict.fromkeys(name for run in runs for name in run.statistics):
        owners = [i for i, run in enumerate(runs) if name in run.statistics]
        parts = _narrowed([runs[i].statistics[name] for i in owners])
        if parts is None:
            continue
        for i, part in zip(owners, parts, strict=True):
            kept[i] = replace(kept[i], statistics={**kept[i].statistics, name: part})
        before = dict.fromkeys(s for i in owners for s in runs[i].statistics[name].metric.score_names if "." not in s)
        left_out = [score for score in before if score not in parts[0].metric.score_names]
        log.warning(
            "%s: not in all of %s, so not compared: %s",
            name, files.some([runs[i].name for i in owners]), ", ".join(left_out),
        )  # fmt: skip
    return kept


def _narrowed(statistics: Sequence[Statistics]) -> list[Statistics] | None:
    """With the scores that all have; None where all have the same, or share none, or cannot be narrowed."""
    first, *others = statistics
    if all(other.metric.columns == first.metric.columns for other in others):
        return None
    if any(other.signature.definition != first.signature.definition for other in others):
        return None
    shared = [s for s in first.metric.score_names if all(s in other.metric.score_names for other in others)]
    metrics = [each.metric.of_scores(shared) for each in statistics] if shared else [None]
    made = [metric for metric in metrics if metric is not None]
    if len(made) < len(metrics) or any(metric.columns != made[0].columns for metric in made):
        return None
    return [_with_columns(each, metric) for each, metric in zip(statistics, made, strict=True)]


def _with_columns(statistics: Statistics, metric: Metric) -> Statistics:
    """The rows of a metric that has some of the columns."""
    places = [statistics.metric.columns.index(column) for column in metric.columns]
    key = statistics.key and files.digest([statistics.key, metric.columns])
    return replace(
        statistics,
        metric=metric,
        load=lambda: replace(statistics.whole, values=statistics.rows[:, places]),
        key=key,
    )
