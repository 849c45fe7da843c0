"""Stopping a run when its answer is known: `stop.score=exact_match stop.width=4`, or `stop.baseline=RUN`.

Examples are taken in a seeded random order, `stop.batch` at a time. After each batch a confidence sequence says where
the score lies, or its difference to a baseline run; it holds at all looks at once, so that stopping by it is fair. The
score must be a mean over independent examples with known bounds: exact match, token F1, ROUGE.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from harness.inputs import arrow
from harness.stats.options import Options
from harness.stats.resampling import generator
from harness.stats.selection.sequential import ConfidenceSequence, around, without_luck
from harness.types import Array, Example, HarnessError, Metric, RunResult, check_least
from harness.types.shown import counted


@dataclass(frozen=True)
class Stop:
    """When the answer is known."""

    score: str
    width: float | None = None
    """Known once the interval is no wider."""
    threshold: float | None = None
    """Known once the interval lies above or below this."""
    baseline: RunResult | None = None
    """Known once the difference to this run is above or below 0; width and threshold then mean the difference."""
    batch: int = 50

    def check(self, metrics: Mapping[str, Metric], cluster: str | None, repeats: int) -> Metric:
        """The metric that has the score, if one may stop by it."""
        check_least("stop.batch", self.batch)
        if self.width is None and self.threshold is None and self.baseline is None:
            raise HarnessError(
                f"stop.score={self.score} without a rule to stop by; expected stop.width, stop.threshold "
                "or stop.baseline"
            )
        if cluster is not None or repeats > 1:
            dependent = f"dataset.cluster={cluster}" if cluster is not None else f"{repeats} outputs an example"
            raise HarnessError(
                f"stop.score={self.score} with {dependent}; expected independent examples, one output each"
            )
        usable = {
            score: metric
            for metric in metrics.values()
            for score in metric.score_names
            if metric.averaged and metric.bounds is not None and "." not in score
        }
        if self.score not in usable:
            raise HarnessError(
                f"stop.score={self.score}; expected a chosen score that is a mean of values with known bounds"
                + (f": {', '.join(usable)}" if usable else ", such as exact_match, token_f1 or rouge1")
            )
        return usable[self.score]

    @property
    def limit(self) -> float | None:
        """What the interval is to lie above or below."""
        return self.threshold if self.threshold is not None else 0.0 if self.baseline is not None else None

    def known(self, low: float, high: float) -> str | None:
        """The answer in words, or None while the bounds leave it open."""
        limit = self.limit
        subject = f"{self.score}'s difference to {self.baseline.name}" if self.baseline else self.score
        if limit is not None and (low > limit or high < limit):
            return f"{subject} is {'above' if low > limit else 'below'} {limit:g}"
        if self.width is not None and high - low <= self.width:
            return f"{subject} is known to within {self.width:g}"
        return None


@dataclass(frozen=True)
class Stopped:
    """How a run with `stop` ended."""

    score: str
    answer: str | None
    """None: not known after all examples."""
    estimate: float
    low: float
    high: float
    """Of the score, or of its difference to the baseline, at all looks at once."""
    level: float
    looks: int
    examples: int
    of: int
    baseline: str | None
    """The run that the bounds are a difference to."""

    def document(self) -> dict[str, Any]:
        """For the run folder, with the share of examples that was not needed."""
        return {**asdict(self), "saved": 1 - self.examples / self.of}

    @classmethod
    def of_stored(cls, document: Mapping[str, Any]) -> Stopped:
        return cls(**{name: value for name, value in document.items() if name != "saved"})


def until_known(
    stop: Stop,
    rows: Sequence[Example],
    metric: Metric,
    stats: Options,
    values: Callable[[Sequence[Example]], Array],
) -> tuple[list[int], Stopped]:
    """(the rows that were needed, in the data's order; what is known).

    `values` generates outputs for rows and gives their scores (n,), NaN where one failed.
    """
    assert metric.bounds is not None
    smallest, largest = metric.bounds
    reach = largest - smallest
    bounds = (smallest, largest) if stop.baseline is None else (-reach, reach)
    sequence = ConfidenceSequence(*bounds, level=stats.level)
    before = None if stop.baseline is None else _baseline_values(stop, stop.baseline, metric, rows)
    order = generator(stats.seed, "order of a sequential run").permutation(len(rows))
    answer, end = None, 0
    looks: list[Array] = []
    while answer is None and end < len(order):
        batch = order[end : end + stop.batch]
        end += len(batch)
        scores = values([rows[i] for i in batch])
        gains = scores if before is None else scores - before[batch]
        looks.append(gains[~np.isnan(gains)])
        sequence.add(looks[-1])
        answer = stop.known(sequence.low, sequence.high)
    needed = sorted(int(i) for i in order[:end])
    baseline = None if stop.baseline is None else stop.baseline.name
    estimate = (
        sequence.estimate if end == len(order) else _without_luck(stop, looks, (*bounds, stats.level), stats.seed)
    )
    bounded = estimate, sequence.low, sequence.high
    return needed, Stopped(stop.score, answer, *bounded, stats.level, len(looks), end, len(rows), baseline)


def _without_luck(stop: Stop, looks: Sequence[Array], sequence: tuple[float, float, float], seed: int) -> float:
    """The estimate after an early end, from the values of each look that has any."""
    smallest, largest, level = sequence
    candidates = around(None if stop.width is not None else stop.limit, smallest, largest)
    return without_luck(
        [values for values in looks if len(values)],
        lambda: ConfidenceSequence(smallest, largest, level, candidates),
        stop.known,
        generator(seed, "orders of a sequential run"),
    )


def _baseline_values(stop: Stop, run: RunResult, metric: Metric, rows: Sequence[Example]) -> Array:
    """(n,) the baseline's scores of these rows."""
    statistics = next((s for s in run.statistics.values() if stop.score in s.metric.score_names), None)
    if statistics is None:
        raise HarnessError(f"stop.baseline={run.name} has no {stop.score}; expected a run with that score")
    if statistics.metric.definition() != metric.definition():
        raise HarnessError(
            f"{stop.score} of stop.baseline={run.name} is defined differently ({statistics.signature}); "
            "expected the same definition"
        )
    table = run.columns("id", stop.score)
    scores = dict(zip(table.column("id").to_pylist(), arrow.floats(table.column(stop.score)), strict=True))
    missing = [row.id for row in rows if row.id not in scores]
    if missing:
        raise HarnessError(
            f"stop.baseline={run.name} lacks {len(missing)} of the {len(rows)} examples ({missing[0]!r} is one); "
            "expected a run on the same data"
        )
    return np.array([scores[row.id] for row in rows], dtype=np.float64)


def allowing_for(stopped: Stopped, result: RunResult) -> RunResult:
    """The result of a run that ended early: an estimate and bounds that allow for it where there are any, else a note.

    A run that went on to the end of its data has its ordinary scores: nothing was left out by what was seen.
    """
    result = replace(result, stopped=stopped.document())
    if stopped.examples == stopped.of:
        return result
    note = f"looked {counted(stopped.looks, 'time')} by {stopped.score}: neither score nor interval allow for that"
    scores = {name: replace(score, note=score.note or note) for name, score in result.scores.items()}
    if stopped.baseline is None and stopped.score in scores:
        own = result.scores[stopped.score]
        mean = "none" if own.estimate is None else f"{own.estimate:z.{own.digits}f}"
        scores[stopped.score] = replace(
            own,
            estimate=stopped.estimate,
            low=stopped.low,
            high=stopped.high,
            low_error=None,
            high_error=None,
            method="confidence sequence",
            note=f"allows for the end at look {stopped.looks}; the mean of the {stopped.examples} examples is {mean}",
        )
    return replace(result, scores=scores)
