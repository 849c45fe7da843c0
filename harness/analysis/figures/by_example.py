"""Figures of single examples and of buckets of them: how they differ between systems, and scores by length or field."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from harness.analysis.figures.view import View, slugs
from harness.inputs import arrow
from harness.report.charts import buckets as drawn
from harness.report.charts import differences as bars
from harness.report.charts.theme import plain, short
from harness.stats.comparing.per_example import edges, histogram
from harness.stats.options import Options
from harness.stats.slices import slicing
from harness.stats.slices.divided import LENGTHS, divided, fields_of, lengths_of
from harness.types import Array, Figure, Progress, RunResult, Step

MOST = 8
"""Systems side by side in a bucket."""
MOST_OTHERS = 4
"""Systems whose examples are shown against those of another."""
FIELDS = 6
"""Fields of the metadata that get a figure without being asked for."""
RESAMPLES = 2_000
"""For the interval of a bucket, of which there are many."""
OUTPUT_LENGTH = "output_length"


def difference_figures(view: View) -> Iterator[Figure]:
    """Each system against the baseline, the first of two, or the best by the first score."""
    runs = view.group.runs
    if len(runs) < 2:
        return
    against = view.group.baseline or (runs[0] if len(runs) == 2 else view.ordered(view.scores[0])[0])
    others = [run for run in view.ordered(view.scores[0]) if run is not against][:MOST_OTHERS]
    spreads = []
    for score in view.scores:
        reference = _per_example(against, score)
        pairs = [(run, _per_example(run, score)) for run in others]
        gaps = [(run, values - reference) for run, values in pairs if values is not None and reference is not None]
        gaps = [(run, values) for run, values in gaps if not np.isnan(values).all()]
        if gaps:
            at = edges([values for _, values in gaps])
            spreads += [(run, score, at[-1], histogram(values, at, view.higher(score))) for run, values in gaps]
    if not spreads:
        return
    few = short([view.study.labels.get(run.name, run.name) for run in others], 30)
    labels = dict(zip([run.name for run in others], few, strict=True))
    panels = [
        bars.Panel(
            system=labels[run.name],
            score=view.title(score),
            bars=[bars.Bar(b.low, b.high, b.outcome, b.share, b.below, b.count) for b in spread.bins],
            reach=float(reach),
            mean=spread.mean,
            digits=view.digits(score),
            won=spread.won,
            tied=spread.tied,
            lost=spread.lost,
        )
        for run, score, reach, spread in sorted(spreads, key=lambda item: others.index(item[0]))
    ]
    base = view.labels[against.name]
    why = "" if view.group.baseline or len(runs) == 2 else f", the best by {view.title(view.scores[0])}"
    caption = (
        f"Differences of single examples from {base}{why}: share of examples by difference, the triangle their mean "
        "(which is not the difference of the two scores where a score is not a mean over examples)."
        + (f" The {MOST_OTHERS} best of {len(runs) - 1} others are shown." if len(others) < len(runs) - 1 else "")
    )
    yield view.figure(
        "differences", f"Differences of single examples from {base}", caption, bars.draw(panels, view.width)
    )


def _per_example(run: RunResult, score: str) -> Array | None:
    """(n,) NaN where an example has no score."""
    for statistics in run.statistics.values():
        metric = statistics.metric
        if score in metric.score_names:
            with np.errstate(divide="ignore", invalid="ignore"):
                values: Array = metric.score_examples(statistics.rows)[:, metric.score_names.index(score)]
            return values
    return None


# ---------------------------------------------------------------- buckets


@dataclass(frozen=True)
class _Buckets:
    """The examples of each run divided by a field."""

    field: str
    title: str
    """What the buckets are by, for people."""
    unit: str
    splits: Sequence[slicing.Split]
    """The buckets of each run's rows."""


def bucket_figures(view: View, fields: Sequence[str], progress: Progress) -> Iterator[Figure]:
    """A figure for each field; without any named, for lengths and the fields of the metadata that lend themselves."""
    runs = view.leading(MOST)
    scored = {name for run in runs for rows in run.statistics.values() for name in rows.metric.score_names}
    if scored.isdisjoint(view.scores):  # of metrics that are not trusted there are no rows to score by bucket
        return
    chosen = list(dict.fromkeys(fields)) or [*_lengths(runs), *_fields(runs)]
    divided = [_divided(runs, field) for field in chosen]
    with progress("buckets", sum(len(buckets.splits[0].labels) for buckets in divided)) as step:
        for buckets, slug in zip(divided, slugs(chosen), strict=True):
            figure = _bucket_figure(view, runs, buckets, step)
            yield replace(figure, name=f"{figure.name}-{slug}")


def _bucket_figure(view: View, runs: Sequence[RunResult], buckets: _Buckets, step: Step) -> Figure:
    study, splits = view.study, buckets.splits
    points: dict[str, list[drawn.Point]] = {score: [] for score in view.scores}
    options = Options(min(study.resamples, RESAMPLES), study.level, seed=study.seed)
    scored = slicing.scores(runs, splits, view.scores, options, step.advance)
    for cell in scored:
        label = view.labels[runs[cell.run].name]
        points[cell.score].append(drawn.Point(label, cell.bucket, cell.estimate, cell.low, cell.high, cell.n))
    own = buckets.field == OUTPUT_LENGTH
    counts = None if own else np.bincount(splits[0].codes, minlength=len(splits[0].labels)).tolist()
    panels = [
        drawn.Panel(view.title(score), shown, view.digits(score), view.higher(score))
        for score, shown in points.items()
        if shown
    ]
    across = f"{buckets.title} ({buckets.unit})" if buckets.unit else buckets.title
    names = [view.labels[run.name] for run in runs]
    chart = drawn.draw(panels, names, drawn.Buckets(across, short(splits[0].labels, 18), counts), view.width)
    caption = [
        f"Each score of the examples of a bucket taken as a corpus of its own, with {100 * study.level:g}% intervals "
        "(unadjusted: many buckets, some differ by chance)."
    ]
    if own:
        caption.append("Every system's buckets are by the length of its own outputs, so they hold different examples.")
    if buckets.field == "reference_length":
        caption.append("Length: the mean of an example's references.")
    if runs[0].cluster is not None:
        caption.append(f"n counts outputs; resampled are clusters by {plain(runs[0].cluster)}.")
    if any(run.failed for run in runs):
        caption.append("Failed outputs are counted in n and have no score.")
    if any(cell.low is None for cell in scored):
        caption.append(f"No interval where a bucket has fewer than {slicing.LEAST} examples or clusters to resample.")
    if len(runs) < len(view.group.runs):
        caption.append(f"The {len(runs)} best of {len(view.group.runs)} systems are shown.")
    return view.figure("buckets", f"Scores by {buckets.title}", " ".join(caption), chart)


def _lengths(runs: Sequence[RunResult]) -> list[str]:
    sources, references = (runs[0].table.column(name) for name in ("source", "references"))
    available = {"source_length": sources.null_count < len(sources)}
    available["reference_length"] = np.diff(arrow.starts(arrow.whole(references))).any()
    return [*(name for name in LENGTHS if available[name]), OUTPUT_LENGTH]


def _fields(runs: Sequence[RunResult]) -> list[str]:
    """Fields of the metadata with 2 to 12 values of 5 examples each or more, or with numbers that are not
    just a numbering."""
    fields = []
    for field in fields_of(runs[0]):
        values = runs[0].table.column(field).to_pylist()
        known = [value for value in values if not slicing.is_missing(value)]
        try:
            distinct = len(set(known))
        except TypeError:  # lists
            continue
        numbers = all(slicing.is_number(value) for value in known)
        numbering = numbers and distinct == len(known) and known == sorted(known)
        few = 2 <= distinct <= slicing.DOZEN and len(known) >= slicing.LEAST * distinct
        if few or (numbers and distinct > slicing.DOZEN and not numbering):
            fields.append(field)
    return fields[:FIELDS]


def _divided(runs: Sequence[RunResult], field: str) -> _Buckets:
    if field == OUTPUT_LENGTH:
        return _by_output_length(runs)
    unit = ""
    if field in LENGTHS:
        unit = "words" if lengths_of(runs[0], LENGTHS[field])[1] else "characters"
    return _Buckets(
        field, plain(field.replace("_", " ") if unit else field), unit, [divided(runs[0], field)] * len(runs)
    )


def _by_output_length(runs: Sequence[RunResult]) -> _Buckets:
    """Of each system by its own outputs, in the same bins."""
    first, words = lengths_of(runs[0], "output")
    lengths = [first, *(lengths_of(run, "output", words)[0] for run in runs[1:])]
    whole = slicing.by_number([length for column in lengths for length in column])
    ends = np.cumsum([0, *map(len, lengths)])
    splits = [slicing.Split(whole.labels, whole.codes[a:b], True) for a, b in pairwise(ends)]
    return _Buckets(OUTPUT_LENGTH, "output length", "words" if words else "characters", splits)
