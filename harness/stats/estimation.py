"""From the rows of a data set's examples to scores with intervals: which examples belong together, and what failed
ones could have changed.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.stats import intervals
from harness.stats.design import IN_A_STRATUM, Design, codes
from harness.stats.options import Options
from harness.stats.resampling import quiet_single_thread
from harness.stats.tally import Tally
from harness.types import (
    ABSENT,
    Advance,
    Batch,
    Engine,
    Examples,
    HarnessError,
    Rows,
    Score,
    Texts,
    joined_columns,
    nothing,
)

log = logging.getLogger(__name__)
GROUPING = re.compile(
    r"(^|_)(doc|document|article|passage|paragraph|page|book|talk|query|question|speaker|author|user|thread"
    r"|conversation|dialog|dialogue|session|patient|cluster|group)s?(_?(id|no|nr|number|name|key|index))?$|^[dqpt]id$",
    re.IGNORECASE,
)
"""Names of fields by which examples belong together."""


@dataclass(frozen=True)
class Failures:
    """The rows of a run that have no output to score."""

    places: NDArray[np.int64]
    rows: Examples


def estimate(
    tallies: Sequence[Tally],
    failures: Failures,
    options: Options,
    advance: Advance = nothing,
    engine: Engine | None = None,
) -> dict[str, Score]:
    """Every score with its interval; where examples failed, also what they could have made of it."""
    scores = _with_gaps(intervals.tallied_scores(tallies, options, advance, engine), tallies, len(failures.places))
    return _with_extremes(scores, tallies, failures) if len(failures.places) else scores


def _with_gaps(scores: Mapping[str, Score], tallies: Sequence[Tally], failed: int) -> dict[str, Score]:
    """The scores with a note where outputs that did not fail have no row, and their metric says why."""
    noted = dict(scores)
    for tally in (tally for tally in tallies if tally.metric.unscored is not None):
        n = len(tally.scored)
        missing = n - failed - int(np.count_nonzero(tally.scored))
        if missing > 0:
            gap = f"{missing:,} of {n:,} outputs {tally.metric.unscored} and are left out"
            for name in tally.metric.score_names:
                noted[name] = replace(noted[name], note="; ".join(filter(None, (noted[name].note, gap))))
    return noted


def design_of(blocks: Iterable[Examples], cluster: str | None, options: Options) -> Design:
    """Units and strata by fields of the metadata, repeats by the examples' own."""
    named = (("cluster", cluster), ("stats.strata", options.strata))
    wanted = {option: name for option, name in named if name is not None}
    ids, repeats, fields = _gathered(blocks, wanted)
    if cluster is None:
        _warn_of_clusters(fields, int(np.count_nonzero(repeats == 0)))
    clusters = None if cluster is None else fields[cluster]
    design = Design.of(
        len(ids),
        clusters=clusters,
        strata=None if options.strata is None else fields[options.strata],
        repeats=repeats,
        ids=ids,
        label=None if cluster is None else f"clusters by {cluster}",
    )
    if design.small_strata:
        log.warning(
            "stats.strata=%s: %d of its values have fewer than %d %s, too few to draw from; they are merged",
            options.strata, design.small_strata, IN_A_STRATUM, design.label,
        )  # fmt: skip
    drawn = design.with_small_strata_merged().in_buckets(ids if clusters is None else clusters, options.drawn)
    return drawn if options.repeats == "seeds" else drawn.of_seeds(1)


def _gathered(
    blocks: Iterable[Examples], wanted: Mapping[str, str]
) -> tuple[Texts, NDArray[np.int32], dict[str, Sequence[Any]]]:
    """(ids, repeats, by name the fields that are wanted or by which examples seem to belong together) of all rows."""
    ids, repeats = [], []
    fields: dict[str, list[Sequence[Any]]] = {}
    first: Examples | None = None
    for block in blocks:
        first = block if first is None else first
        for option, name in wanted.items():
            _check_field(block, option, name)
        ids.append(block.ids.compact())
        repeats.append(block.repeat)
        for name in (name for name in first.metadata if name in wanted.values() or GROUPING.search(name)):
            column = block.metadata.get(name, [ABSENT] * len(block))
            fields.setdefault(name, []).append(column.compact() if isinstance(column, Texts) else column)
    columns = {name: joined_columns(parts) for name, parts in fields.items()}
    return Texts.joined(ids), np.concatenate(repeats), columns


def _check_field(block: Examples, option: str, name: str) -> None:
    """Refuses examples without a field that an option names."""
    column = block.metadata.get(name)
    lacking = 0 if column is None else None if isinstance(column, Texts) else _place(column, ABSENT)
    if lacking is not None:
        example = block[lacking]
        names = ", ".join(example.metadata) or "none"
        raise HarnessError(f"{option}={name}: the example {example.id!r} has no such field; its fields: {names}")


def _place(column: Sequence[Any], value: Any) -> int | None:
    return next((i for i, other in enumerate(column) if other is value), None)


def _warn_of_clusters(fields: Mapping[str, Sequence[Any]], n: int) -> None:
    """Says so where the data looks clustered and is resampled as if it were not: intervals would be too narrow."""
    for name, column in fields.items():
        values = int(codes(column).max(initial=-1)) + 1
        if GROUPING.search(name) and 1 < values < n:
            log.warning(
                "the field %s has %d values for %d examples, and examples that belong together make intervals too "
                "narrow; if they do, set dataset.cluster=%s",
                name, values, n, name,
            )  # fmt: skip
            return


def _with_extremes(known: Mapping[str, Score], tallies: Sequence[Tally], failures: Failures) -> dict[str, Score]:
    """The scores with what they would be, had the failed examples given nothing, and had they given a reference."""
    scores = dict(known)
    nothing_said = Texts.of([""] * len(failures.rows))
    for tally in tallies:
        ends = tally.metric.extremes(Batch.of(nothing_said, failures.rows, tally.metric.reads))
        if ends is None:
            continue
        with quiet_single_thread():
            estimates = [tally.estimate_with(Rows.of(end), failures.places) for end in ends]
        for i, name in enumerate(tally.metric.score_names):
            worst, best = (intervals.number(estimate[i]) for estimate in estimates)
            scores[name] = replace(scores[name], if_worst=worst, if_best=best)
    return scores
