"""Runs of shards: what a score of one is worth, and the rows of all as those of the whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from harness.inputs import files
from harness.inputs.hashing import Content
from harness.run.answers import Answers, Reads, hashed_reads
from harness.run.scoring import Scorer
from harness.store.folder import StoredRows, described_rows
from harness.store.shards import Shards
from harness.types import RunResult

NOTE = "fitted to the references of shard {} alone; harness merge fits it to those of all shards"
OF_DATA = ("nrefs",)
"""Parts of a definition that say something of the references, which differs from shard to shard."""


def noted(result: RunResult, scorer: Scorer, shard: str | None) -> RunResult:
    """The result of a shard, with a note where a metric was fitted to less than the whole data set."""
    if shard is None or shard == "0/1":
        return result
    note = NOTE.format(shard)
    fitted = {score for metric in scorer.metrics.values() if metric.context for score in metric.score_names}
    scores = {
        name: replace(score, note="; ".join(filter(None, (score.note, note)))) if name in fitted else score
        for name, score in result.scores.items()
    }
    return replace(result, scores=scores)


def rows_of_shards(shards: Shards, scorer: Scorer, answers: Answers) -> dict[str, StoredRows]:
    """The rows that the shards have, by the keys that they have in the whole: those of metrics to which the whole is
    nothing but its parts. What was fitted to a shard, or looks at all outputs at once, is computed again."""
    heads = [described_rows(folder) for folder in shards.folders]
    names = [name for name, metric in scorer.metrics.items() if len(heads) == 1 or not metric.at_once]
    contents = _contents(shards, answers, {scorer.metrics[name].reads for name in names})
    usable: dict[str, StoredRows] = {}
    for name in names:
        parts = contents[scorer.metrics[name].reads]
        if all(_same(head.get(name), part, scorer.identity(name)) for head, part in zip(heads, parts, strict=True)):
            rows = StoredRows(partial(shards.statistics, name), heads[0][name]["provenance"])
            usable[scorer.key(name, answers)] = rows
    return usable


def _contents(shards: Shards, answers: Answers, reads: set[Reads]) -> dict[Reads, list[Content]]:
    """The content of each shard's own rows, in these columns."""
    contents: dict[Reads, list[Content]] = {columns: [Content() for _ in shards.folders] for columns in reads}
    first = 0
    for block in answers.blocks():
        of = shards.of_row[first : first + len(block)]
        for columns, hashes in hashed_reads(block, reads):
            for shard, content in enumerate(contents[columns]):
                content.add(hashes[of == shard])
        first += len(block)
    return contents


def _same(about: Mapping[str, Any] | None, content: Content, identity: list[Any]) -> bool:
    """Whether a shard's rows are of these texts and this metric."""
    if about is None:
        return False
    *others, definition, context = identity
    if without_data(about["definition"]) != without_data(definition):
        return False
    return bool(about["key"] == files.digest([content.ordered, [*others, about["definition"], context]]))


def without_data(definition: Mapping[str, str]) -> dict[str, str]:
    """What of a definition is the same on any data."""
    return {name: value for name, value in definition.items() if name not in OF_DATA}
