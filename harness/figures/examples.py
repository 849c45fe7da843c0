"""Figures of single examples and of buckets of them: how they differ between systems, and scores by length or field."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from harness.figures.view import View, slugs
from harness.report.figures import buckets as drawn
from harness.report.figures import differences as bars
from harness.report.figures.theme import plain, short
from harness.stats import buckets
from harness.stats.differences import edges, histogram
from harness.store.folder import COLUMNS
from harness.types import Array, Figure, HarnessError, Progress, RunResult

MOST = 8
"""Systems side by side in a bucket."""
MOST_OTHERS = 4
"""Systems whose examples are shown against those of another."""
FIELDS = 6
"""Fields of the metadata that get a figure without being asked for."""
RESAMPLES = 2_000
"""For the interval of a bucket, of which there are many."""
LENGTHS = {"source_length": "source", "reference_length": "references", "output_length": "output"}


def difference_figures(view: View) -> Iterator[Figure]:
    """Each system against the baseline, the first of two, or the best by the first score."""
    runs = view.group.runs
    if len(runs) < 2:
        return
    against = view.group.baseline or (runs[0] if len(runs) == 2 else view.ordered(view.scores[0])[0])
    others = [run for run in view.ordered(view.scores[0]) if run is not against][:MOST_OTHERS]
    found = []
    for score in view.scores:
        reference = _per_example(against, score)
        pairs = [(run, _per_example(run, score)) for run in others]
        gaps = [(run, values - reference) for run, values in pairs if values is not None and reference is not None]
        gaps = [(run, values) for run, values in gaps if not np.isnan(values).all()]
        if gaps:
            at = edges([values for _, values in gaps])
            found += [(run, score, at[-1], histogram(values, at, view.higher(score))) for run, values in gaps]
    if not found:
        return
    few = short([view.study.labels.get(run.name, run.name) for run in (against, *others)], 16)
    labels = {run.name: f"{label} − {few[0]}" for run, label in zip(others, few[1:], strict=True)}
    panels = [
        bars.Panel(
            system=labels[run.name],
            score=plain(score),
            bars=[bars.Bar(b.low, b.high, b.outcome, b.share, b.below, b.count) for b in spread.bins],
            reach=float(reach),
            mean=spread.mean,
            won=spread.won,
            tied=spread.tied,
            lost=spread.lost,
        )
        for run, score, reach, spread in sorted(found, key=lambda one: others.index(one[0]))
    ]
    base = view.labels[against.name]
    why = "" if view.group.baseline or len(runs) == 2 else f", the best by {plain(view.scores[0])}"
    caption = (
        f"Differences of single examples from {base}{why}: share of examples by difference, the line their mean (of "
        "scores of single examples: for BLEU and its kind not the difference of the corpus scores)."
        + (f" The {MOST_OTHERS} best of {len(runs) - 1} others are shown." if len(others) < len(runs) - 1 else "")
    )
    yield view.figure(
        "differences", f"Differences of single examples from {base}", caption, bars.draw(panels, view.width)
    )


def _per_example(run: RunResult, score: str) -> Array | None:
    """(n,) NaN where an example has no score."""
    for one in run.statistics.values():
        if score in one.metric.score_names:
            with np.errstate(divide="ignore", invalid="ignore"):
                found: Array = one.metric.score_examples(one.rows)[:, one.metric.score_names.index(score)]
            return found
    return None


# ---------------------------------------------------------------- buckets


def bucket_figures(view: View, fields: Sequence[str], progress: Progress) -> Iterator[Figure]:
    """A figure for each field; without any named, for lengths and the fields of the metadata that lend themselves."""
    runs = view.some(MOST)
    chosen = list(dict.fromkeys(fields)) or [*_lengths(runs), *_fields(runs)]
    names = slugs(chosen)
    split = [_split(runs, field) for field in chosen]
    with progress("buckets", sum(len(splits[0].labels) for _, _, splits in split)) as step:
        for field, slug, (title, unit, splits) in zip(chosen, names, split, strict=True):
            yield _bucket_figure(view, runs, field, slug, title, unit, splits, step)


def _bucket_figure(
    view: View,
    runs: Sequence[RunResult],
    field: str,
    slug: str,
    title: str,
    unit: str,
    splits: Sequence[Any],
    step: Any,
) -> Figure:
    study = view.study
    points: dict[str, list[drawn.Point]] = {score: [] for score in view.scores}
    resamples = min(study.resamples, RESAMPLES)
    found = buckets.scores(runs, splits, view.scores, resamples, study.level, study.seed, step.advance)
    for one in found:
        label = view.labels[runs[one.run].name]
        points[one.score].append(drawn.Point(label, one.bucket, one.estimate, one.low, one.high, one.n))
    small = any(one.low is None for one in found)
    own = field == "output_length"
    counts = None if own else np.bincount(splits[0].codes, minlength=len(splits[0].labels)).tolist()
    panels = [drawn.Panel(plain(score), some, view.higher(score)) for score, some in points.items() if some]
    across = f"{title} ({unit})" if unit else title
    names = [view.labels[run.name] for run in runs]
    chart = drawn.draw(panels, names, short(splits[0].labels, 18), counts, across, view.width)
    said = [
        f"Each score of the examples of a bucket taken as a corpus of its own, with {100 * study.level:g}% bootstrap "
        "intervals (unadjusted: many buckets, some differ by chance)."
    ]
    if own:
        said.append("Every system's buckets are by the length of its own outputs, so they hold different examples.")
    if field == "reference_length":
        said.append("Length: the mean of an example's references.")
    if runs[0].cluster is not None:
        said.append(f"n counts outputs; resampled are clusters by {plain(runs[0].cluster)}.")
    if any(run.failed for run in runs):
        said.append("Failed outputs are counted in n and have no score.")
    if small:
        said.append(f"No interval where a bucket has fewer than {buckets.LEAST} examples or clusters to resample.")
    if len(runs) < len(view.group.runs):
        said.append(f"The {len(runs)} best of {len(view.group.runs)} systems are shown.")
    made = view.figure("buckets", f"Scores by {title}", " ".join(said), chart)
    return Figure(f"{made.name}-{slug}", made.title, made.caption, made.chart)


def _lengths(runs: Sequence[RunResult]) -> list[str]:
    table = runs[0].examples
    there = {"source_length": table["source"].notna().any(), "output_length": True}
    there["reference_length"] = any(len(some) for some in table["references"])
    return [name for name in LENGTHS if there[name]]


def _fields(runs: Sequence[RunResult]) -> list[str]:
    """Fields of the metadata with 2 to 12 values of 5 examples each or more, or with numbers that are no numbering."""
    found = []
    for field in _metadata(runs[0]):
        values = runs[0].examples[field].tolist()
        known = [value for value in values if not buckets.is_missing(value)]
        try:
            distinct = len(set(known))
        except TypeError:  # lists
            continue
        numbers = all(buckets.is_number(value) for value in known)
        numbering = numbers and distinct == len(known) and known == sorted(known)
        few = 2 <= distinct <= buckets.DOZEN and len(known) >= buckets.LEAST * distinct
        if few or (numbers and distinct > buckets.DOZEN and not numbering):
            found.append(field)
    return found[:FIELDS]


def _metadata(run: RunResult) -> list[str]:
    taken = {*COLUMNS, *(name for one in run.statistics.values() for name in one.metric.score_names)}
    return [str(name) for name in run.examples.columns if name not in taken]


def _split(runs: Sequence[RunResult], field: str) -> tuple[str, str, list[buckets.Split]]:
    """(what the buckets are by, in which unit, the buckets of each run's rows)"""
    if field in LENGTHS:
        return _by_length(runs, field)
    if field not in _metadata(runs[0]):
        known = ", ".join([*_lengths(runs), *_metadata(runs[0])])
        raise HarnessError(f"the examples of {runs[0].dataset} have no field {field!r}; expected one of {known}")
    values = runs[0].examples[field].tolist()
    there = [value for value in values if not buckets.is_missing(value)]
    many = all(map(buckets.is_number, there)) and len(set(map(repr, there))) > buckets.DOZEN
    split = buckets.by_number(values) if many else buckets.by_value(values)
    return plain(field), "", [split] * len(runs)


def _by_length(runs: Sequence[RunResult], field: str) -> tuple[str, str, list[buckets.Split]]:
    column = LENGTHS[field]
    texts = [list(run.examples[column]) for run in (runs if column == "output" else runs[:1])]
    sample = [text for one in texts[0][:200] for text in _texts(one)]
    words = " ".join(sample).count(" ") * 20 >= sum(map(len, sample)) or not any(sample)
    lengths = [[_length(one, words) for one in some] for some in texts]
    whole = buckets.by_number([value for some in lengths for value in some])
    n = len(runs[0].examples)
    splits = [buckets.Split(whole.labels, whole.codes[i * n : (i + 1) * n], True) for i in range(len(texts))]
    return field.replace("_", " "), "words" if words else "characters", splits * (len(runs) // len(splits))


def _texts(value: Any) -> list[str]:
    return [value] if isinstance(value, str) else [] if buckets.is_missing(value) else list(value)


def _length(value: Any, words: bool) -> float | None:
    """In words, or in characters where the language writes no spaces; of several texts the mean, rounded."""
    found = [len(text.split()) if words else len(text) for text in _texts(value)]
    return round(sum(found) / len(found)) if found else None
