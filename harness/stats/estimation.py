"""From the rows of a data set's examples to scores with intervals: which examples belong together, and what failed
ones could have changed.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from harness.stats import intervals
from harness.stats.resampling import Design, Sample, quiet_single_thread
from harness.types import Advance, Example, HarnessError, Score, Statistics, nothing

log = logging.getLogger(__name__)
GROUPING = re.compile(
    r"(^|_)(doc|document|article|passage|paragraph|page|book|talk|query|question|speaker|author|user|thread"
    r"|conversation|dialog|dialogue|session|patient|cluster|group)s?(_?(id|no|nr|number|name|key|index))?$|^[dqpt]id$",
    re.IGNORECASE,
)
"""Names of fields by which examples belong together."""


@dataclass(frozen=True)
class Options:
    """How scores get their intervals: the `stats` group of the config."""

    resamples: int = 10_000
    level: float = 0.95
    method: str = "percentile"
    seed: int = 12345
    strata: str | None = None

    def check(self) -> None:
        intervals.check_options(self.resamples, self.level, self.method, self.seed)


def estimate(
    statistics: Sequence[Statistics],
    examples: Sequence[Example],
    failed: Sequence[int],
    cluster: str | None,
    options: Options,
    advance: Advance = nothing,
) -> dict[str, Score]:
    """Every score with its interval; where examples failed, also what they could have made of it."""
    design = design_of(examples, cluster, options.strata)
    found = intervals.scores(
        statistics, design, options.resamples, options.level, options.method, options.seed, advance
    )
    return _with_extremes(found, statistics, examples, failed, design) if failed else found


def design_of(examples: Sequence[Example], cluster: str | None, strata: str | None) -> Design:
    """Units and strata by fields of the metadata, repeats by the examples' own."""
    if cluster is None:
        warn_of_clusters(examples)
    clusters = None if cluster is None else [example.metadata[cluster] for example in examples]
    return Design.of(
        len(examples),
        clusters=clusters,
        strata=None if strata is None else [_field(example, strata) for example in examples],
        repeats=[example.repeat for example in examples],
        ids=[example.id for example in examples],
        label=None if cluster is None else f"clusters by {cluster}",
    )


def _field(example: Example, name: str) -> object:
    if name not in example.metadata:
        found = ", ".join(example.metadata) or "none"
        raise HarnessError(f"stats.strata={name}: the example {example.id!r} has no such field; its fields: {found}")
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
    found: Mapping[str, Score],
    statistics: Sequence[Statistics],
    examples: Sequence[Example],
    failed: Sequence[int],
    design: Design,
) -> dict[str, Score]:
    """The scores with what they would be, had the failed examples given nothing, and had they given a reference."""
    scores = dict(found)
    references = [examples[i].references for i in failed]
    sources = [examples[i].source for i in failed]
    for one in statistics:
        ends = one.metric.extremes(references, sources)
        if ends is None:
            continue
        estimates = []
        for end in ends:
            rows = one.rows.copy()
            rows[list(failed)] = end
            keep = np.asarray(~np.isnan(rows).any(axis=1))
            with quiet_single_thread():
                estimates.append(Sample(one.metric, rows[keep], design.kept(keep)).estimate())
        for i, name in enumerate(one.metric.score_names):
            worst, best = (intervals.number(estimate[i]) for estimate in estimates)
            scores[name] = replace(scores[name], if_worst=worst, if_best=best)
    return scores
