"""Scores by bucket: the rows of a bucket are selected first, so that the score is that of the bucket as a corpus, with
an interval from its own examples under the run's clusters and strata.

>>> split = by_number([1, 2, 3, 10, 20, 30], bins=2)
>>> split.labels, split.codes.tolist()
(('1–3', '10–30'), [0, 0, 0, 1, 1, 1])
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.stats import intervals
from harness.stats.design import Design
from harness.stats.options import Options
from harness.stats.resampling import Sample, quiet_single_thread, replicates
from harness.types import Advance, Array, RunResult, nothing
from harness.types.shown import counted

BINS = 5
"""Of numbers, with as many examples in each as ties permit."""
IN_A_BIN = 20
"""Examples that a bin of numbers should have at least."""
VALUES = 8
"""Values of a field that have a bucket of their own where there are more than a dozen; the rest is `other`."""
DOZEN = 12
LEAST = 5
"""Units (examples, clusters) of a bucket below which it has no interval: it would say little."""
NONE = "(none)"
EMPTY = "(empty)"
"""Of texts that show nothing."""


@dataclass(frozen=True)
class Split:
    """Which bucket each row is in."""

    labels: tuple[str, ...]
    codes: NDArray[np.int64]
    """(n,)"""
    ordered: bool
    """Whether the buckets have an order, as numbers have."""


@dataclass(frozen=True)
class Bucketed:
    """One score of one run in one bucket."""

    run: int
    bucket: int
    score: str
    n: int
    """Rows that have a score."""
    estimate: float | None
    low: float | None
    high: float | None
    """None where the bucket has fewer than `LEAST` units."""


def by_number(values: Sequence[Any], bins: int | None = None) -> Split:
    """Bins of numbers with about the same count; labels say the smallest and the largest value in each."""
    numbers = np.array([np.nan if is_missing(value) else float(value) for value in values])
    known = ~np.isnan(numbers)
    some = numbers[known]
    count = bins or max(2, min(BINS, len(some) // IN_A_BIN))
    inner = np.unique(np.quantile(some, np.arange(1, count) / count)) if len(some) else np.empty(0)
    bins_of = np.where(known, np.searchsorted(inner, numbers, side="left"), -1)
    filled = np.unique(bins_of[known])
    codes = np.where(known, np.searchsorted(filled, bins_of), len(filled))
    labels = [_range(some[bins_of[known] == number]) for number in filled]
    return Split((*labels, *([NONE] if not known.all() else [])), codes.astype(np.int64), True)


def _range(values: NDArray[np.float64]) -> str:
    low, high = (f"{end:,.0f}" if end == round(end) else f"{end:.4g}" for end in (values.min(), values.max()))
    return low if low == high else f"{low}–{high}"


def by_value(values: Sequence[Any]) -> Split:
    """A bucket for each value, the most frequent first (numbers in their order); where there are many, `other` last."""
    names = [_name(value) for value in values]
    counts = Counter(names)
    ranked = sorted(counts, key=lambda name: (-counts[name], name))
    numbers = {name: value for name, value in zip(names, values, strict=True) if is_number(value)}
    if len(counts) > DOZEN:
        rest = ranked[VALUES:]
        ranked = [*ranked[:VALUES], f"other ({counted(len(rest), 'value')})"]
        place = {name: i for i, name in enumerate(ranked[:VALUES])}
        return Split(tuple(ranked), np.array([place.get(name, VALUES) for name in names]), False)
    ordered = len(numbers) >= len(counts) - (NONE in counts)
    if ordered:
        ranked = sorted(counts, key=lambda name: (name not in numbers, numbers.get(name, 0)))
    place = {name: i for i, name in enumerate(ranked)}
    return Split(tuple(ranked), np.array([place[name] for name in names]), ordered)


def is_number(value: object) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool) and not is_missing(value)


def is_missing(value: object) -> bool:
    return value is None or (isinstance(value, float | np.floating) and bool(value != value))


def _name(value: Any) -> str:
    if is_missing(value):
        return NONE
    if isinstance(value, str):
        return value if value.strip() else EMPTY
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, list | dict):
        return json.dumps(value, ensure_ascii=False, default=str)
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def scores(
    runs: Sequence[RunResult],
    splits: Sequence[Split],
    names: Sequence[str],
    options: Options,
    advance: Advance = nothing,
) -> list[Bucketed]:
    """These scores of the runs, each with its split, in every bucket that has an example, with their intervals.

    All that is scored on the same examples shares its draws. `advance` is told of every bucket done.
    """
    designs = [Design.of_run(replace(run, seeds=1), options.seed) for run in runs]
    parts = [
        (i, statistics, statistics.scored)
        for i, run in enumerate(runs)
        for statistics in run.statistics.values()
        if set(statistics.metric.score_names) & set(names)
    ]
    bucketed: list[Bucketed] = []
    for bucket in range(len(splits[0].labels)):
        together: dict[tuple[bytes, object], list[tuple[int, Sample]]] = {}
        for i, statistics, scored in parts:
            keep = scored & (splits[i].codes == bucket)
            if keep.any():
                same = together.setdefault((keep.tobytes(), (runs[i].cluster, runs[i].strata)), [])
                design = same[0][1].design if same else designs[i].kept(keep)
                same.append((i, Sample(statistics.metric, statistics.whole[keep], design)))
        for (kept, _), same in together.items():
            bounds = _bounds([sample for _, sample in same], options)
            for (i, sample), ends in zip(same, bounds, strict=True):
                for j, name in enumerate(sample.metric.score_names):
                    if name in names:
                        three = (intervals.number(end[j]) for end in ends)
                        bucketed.append(Bucketed(i, bucket, name, sum(kept), *three))
        advance(1)
    return bucketed


def _bounds(samples: Sequence[Sample], options: Options) -> list[tuple[Array, Array, Array]]:
    """(estimates, low, high), each (s,), of samples of one design, as a run of these examples alone would have them."""
    with quiet_single_thread():
        estimates = [sample.estimate() for sample in samples]
    if samples[0].design.units < LEAST or not options.resamples:
        return [(values, np.full_like(values, np.nan), np.full_like(values, np.nan)) for values in estimates]
    drawn = replicates(samples, options.resamples, options.seed, "intervals")
    pairs = zip(drawn, estimates, strict=True)
    with quiet_single_thread():
        ends = [
            intervals.bounds(sample, replicate, values, options)[0]
            for sample, (replicate, values) in zip(samples, pairs, strict=True)
        ]
    return [(values, *pair) for values, pair in zip(estimates, ends, strict=True)]
