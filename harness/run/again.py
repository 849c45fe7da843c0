"""A stored run scored again in memory, as if it had just been generated: nothing is reused and nothing is written.

The job has the stored run as its data set and its system (store/rescored.py). Rows of metrics whose texts, model or
code are not to be had are taken from the folder: their scores and intervals are then computed again from these rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from harness.run.generation import Source
from harness.run.job import Job
from harness.run.runner import answered, prepared, subject_of
from harness.run.scoring import Scorer, score
from harness.run.sharding import noted
from harness.run.sinks import InMemory
from harness.run.stopping import allowing_for
from harness.store.folder import rows_of
from harness.types import Metric, Progress, RunResult, Signature

FromRows = Mapping[str, tuple[Metric, Mapping[str, Any]]]
"""By name the metrics that score stored rows, each with what is stored with them."""


def scored_again(job: Job, from_rows: FromRows, progress: Progress) -> RunResult:
    """What the run's folder should hold; the metrics of the job compute their rows anew."""
    data, computed = prepared(job, progress)
    scorer = _with_rows(computed, from_rows, list(job.specs))
    data, answers, stopped = answered(data, scorer, Source.of(job), progress)
    sink = InMemory(scorer, answers)
    assert job.source is not None
    sink.reusable = {
        scorer.key(name, answers): rows_of(job.source, name, about) for name, (_, about) in from_rows.items()
    }
    result = score(subject_of(job, data), answers, scorer, job.stats, sink, progress)
    result = noted(allowing_for(stopped, result) if stopped else result, scorer, job.shard)
    return replace(result, manifest=dict(job.original() or {}))


def _with_rows(computed: Scorer, from_rows: FromRows, order: list[str]) -> Scorer:
    """The metrics in the order of the run's config, as its files have them."""
    metrics = {**computed.metrics, **{name: metric for name, (metric, _) in from_rows.items()}}
    signatures = {
        **computed.signatures,
        **{name: Signature(about["definition"], about["provenance"]) for name, (_, about) in from_rows.items()},
    }
    names = sorted(metrics, key=lambda name: order.index(name) if name in order else len(order))
    return replace(
        computed,
        metrics={name: metrics[name] for name in names},
        signatures={name: signatures[name] for name in names},
    )
