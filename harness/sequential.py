"""Stopping a run when its answer is known: `stop.score=exact_match stop.width=4`, or `stop.baseline=RUN`.

Examples are taken in a seeded random order, `stop.batch` at a time. After each batch a confidence sequence says where
the score lies, or its difference to a baseline run; it holds at all looks at once, so that stopping by it is fair. The
score must be a mean over independent examples with known bounds: exact match, token F1, ROUGE.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from harness.postprocess import Postprocess
from harness.stats.resampling import generator
from harness.stats.sequential import ConfidenceSequence
from harness.types import Array, Example, HarnessError, Metric, Output, RunResult


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
        if self.batch < 1:
            raise HarnessError(f"stop.batch={self.batch}; expected at least 1")
        if self.width is None and self.threshold is None and self.baseline is None:
            raise HarnessError(
                f"stop.score={self.score} and no end; expected stop.width, stop.threshold or stop.baseline"
            )
        if cluster is not None or repeats > 1:
            found = f"dataset.cluster={cluster}" if cluster is not None else f"{repeats} outputs an example"
            raise HarnessError(f"stop.score={self.score} with {found}; expected independent examples, one output each")
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

    def known(self, low: float, high: float) -> str | None:
        """The answer in words, or None while the bounds leave it open."""
        limit = self.threshold if self.threshold is not None else 0.0 if self.baseline is not None else None
        what = f"{self.score}'s difference to {self.baseline.name}" if self.baseline else self.score
        if limit is not None and (low > limit or high < limit):
            return f"{what} is {'above' if low > limit else 'below'} {limit:g}"
        if self.width is not None and high - low <= self.width:
            return f"{what} is known to within {self.width:g}"
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

    def told(self) -> dict[str, Any]:
        """For the run folder, with the share of examples that was not needed."""
        return {**asdict(self), "saved": 1 - self.examples / self.of}

    @classmethod
    def of_stored(cls, told: Mapping[str, Any]) -> Stopped:
        return cls(**{name: value for name, value in told.items() if name != "saved"})


def until_known(
    stop: Stop,
    examples: Sequence[Example],
    metric: Metric,
    postprocess: Postprocess,
    level: float,
    seed: int,
    outputs: Callable[[Sequence[Example]], Sequence[Output]],
) -> tuple[list[int], Stopped]:
    """(the examples that were needed, in the data's order; what is known). `outputs` generates."""
    assert metric.bounds is not None
    smallest, largest = metric.bounds
    reach = largest - smallest
    bounds = (smallest, largest) if stop.baseline is None else (-reach, reach)
    sequence = ConfidenceSequence(*bounds, level=level)
    before = None if stop.baseline is None else _baseline(stop, stop.baseline, metric, examples)
    order = generator(seed, "order of a sequential run").permutation(len(examples))
    answer, looks, end = None, 0, 0
    while answer is None and end < len(order):
        some = order[end : end + stop.batch]
        end, looks = end + len(some), looks + 1
        values = _values(stop, metric, postprocess, [examples[i] for i in some], outputs)
        gains = values if before is None else values - before[some]
        sequence.add(gains[~np.isnan(gains)])
        answer = stop.known(sequence.low, sequence.high)
    chosen = sorted(int(i) for i in order[:end])
    found = sequence.estimate, sequence.low, sequence.high
    name = None if stop.baseline is None else stop.baseline.name
    return chosen, Stopped(stop.score, answer, *found, level, looks, end, len(examples), name)


def _values(
    stop: Stop,
    metric: Metric,
    postprocess: Postprocess,
    examples: Sequence[Example],
    outputs: Callable[[Sequence[Example]], Sequence[Output]],
) -> Array:
    """(n,) the examples' scores; NaN where one failed."""
    made = [o if o.text is None else postprocess(o.text) for o in outputs(examples)]
    good = [i for i, output in enumerate(made) if output.text is not None]
    values = np.full(len(examples), np.nan)
    if good:
        texts = [made[i].text or "" for i in good]
        rows = metric.statistics(texts, [examples[i].references for i in good], [examples[i].source for i in good])
        values[good] = metric.score_examples(rows)[:, metric.score_names.index(stop.score)]
    return values


def _baseline(stop: Stop, run: RunResult, metric: Metric, examples: Sequence[Example]) -> Array:
    """(n,) the baseline's scores of these examples."""
    one = next((s for s in run.statistics.values() if stop.score in s.metric.score_names), None)
    if one is None:
        raise HarnessError(f"stop.baseline={run.name} has no {stop.score}; expected a run with that score")
    if one.metric.definition() != metric.definition():
        raise HarnessError(
            f"{stop.score} of stop.baseline={run.name} is defined differently ({one.signature}); "
            "expected the same definition"
        )
    known = dict(zip(run.examples["id"], run.examples[stop.score], strict=True))
    missing = [example.id for example in examples if example.id not in known]
    if missing:
        raise HarnessError(
            f"stop.baseline={run.name} lacks {len(missing)} of the {len(examples)} examples ({missing[0]!r} is one); "
            "expected a run on the same data"
        )
    return np.array([known[example.id] for example in examples], dtype=np.float64)
