"""From the rows of a data set's examples to scores with intervals: which examples belong together, and what failed
ones could have changed.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from harness.stats import intervals
from harness.stats.design import Design
from harness.stats.options import Options
from harness.stats.resampling import Sample, quiet_single_thread
from harness.types import Advance, Example, HarnessError, Rows, Score, Statistics, nothing

log = logging.getLogger(__name__)
GROUPING = re.compile(
    r"(^|_)(doc|document|article|passage|paragraph|page|book|talk|query|question|speaker|author|user|thread"
    r"|conversation|dialog|dialogue|session|patient|cluster|group)s?(_?(id|no|nr|number|name|key|index))?$|^[dqpt]id$",
    re.IGNORECASE,
)
"""Names of fields by which examples belong together."""


def estimate(
    statistics: Sequence[Statistics],
    examples: Sequence[Example],
    failed: Sequence[int],
    cluster: str | None,
    options: Options,
    advance: Advance = nothing,
) -> dict[str, Score]:
    """Every score with its interval; where examples failed, also what they could have made of it."""
    design = design_of(examples, cluster, options)
    scores = intervals.scores(statistics, design, options, advance)
    return _with_extremes(scores, statistics, examples, failed, design) if failed else scores


def design_of(examples: Sequence[Example], cluster: str | None, options: Options) -> Design:
    """Units and strata by fields of the metadata, repeats by the examples' own."""
    strata = options.strata
    if cluster is None:
        warn_of_clusters(examples)
    clusters = None if cluster is None else [example.metadata[cluster] for example in examples]
    ids = [example.id for example in examples]
    design = Design.of(
        len(examples),
        clusters=clusters,
        strata=None if strata is None else [_field(example, strata) for example in examples],
        repeats=[example.repeat for example in examples],
        ids=ids,
        label=None if cluster is None else f"clusters by {cluster}",
    )
    return design.in_buckets(ids if clusters is None else clusters, options.drawn)


def _field(example: Example, name: str) -> object:
    if name not in example.metadata:
        fields = ", ".join(example.metadata) or "none"
        raise HarnessError(f"stats.strata={name}: the example {example.id!r} has no such field; its fields: {fields}")
    return example.metadata[name]


def warn_of_clusters(examples: Sequence[Example]) -> None:
    """Says so where the data looks clustered and is resampled as if it were not: intervals would be too narrow."""
    n = len({example.id for example in examples})
    for name in examples[0].metadata if examples else ():
        if GROUPING.search(name):
            values = {repr(example.metadata.get(name)) for example in examples}
            if 1 < len(values) < n:
                log.warning(
                    "the field %s has %d values for %d examples, and examples that belong together make intervals too "
                    "narrow; if they do, set dataset.cluster=%s",
                    name, len(values), n, name,
                )  # fmt: skip
                return


def _with_extremes(
    known: Mapping[str, Score],
    statistics: Sequence[Statistics],
    examples: Sequence[Example],
    failed: Sequence[int],
    design: Design,
) -> dict[str, Score]:
    """The scores with what they would be, had the failed examples given nothing, and had they given a reference."""
    scores = dict(known)
    references = [examples[i].references for i in failed]
    sources = [examples[i].source for i in failed]
    places = np.arange(len(examples))
    places[list(failed)] = len(examples) + np.arange(len(failed))  # of rows put after all others
    for of_metric in statistics:
        ends = of_metric.metric.extremes(references, sources)
        if ends is None:
            continue
        estimates = []
        for end in ends:
            rows = Rows.joined(of_metric.whole, Rows.of(end))[places]
            filled = of_metric.with_rows(rows)
            with quiet_single_thread():
                estimates.append(Sample.scored(filled, design).estimate())
        for i, name in enumerate(of_metric.metric.score_names):
            worst, best = (intervals.number(estimate[i]) for estimate in estimates)
            scores[name] = replace(scores[name], if_worst=worst, if_best=best)
    return scores
