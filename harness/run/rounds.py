"""A cell's part in a race: `race={share: 0.125, …}` answers the first eighth of the data in the race's order.

That is the order of a seeded hash of ids, or of clusters, so that all cells answer the same examples, and each round
those of the round before and more. A cell that has answered more than it is asked for keeps that.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from harness.run.job import Round
from harness.run.reading import Data, content_of, kept
from harness.stats.selection.racing import order
from harness.types import RunResult


def entered(
    data: Data, race: Round | None, cluster: str | None, seed: int, earlier: Mapping[str, Any] | None
) -> tuple[Data, dict[str, Any] | None]:
    """(what of the data is answered in this round, what the manifest tells of it); `earlier`: the manifest that is in
    the folder."""
    if race is None:
        return data, None
    names = [example.id if cluster is None else repr(example.metadata.get(cluster)) for example in data.examples]
    known = {name: place for place, name in enumerate(dict.fromkeys(names))}
    came = order(list(known), seed)
    share = max(race.share, _answered(earlier, data.key))
    units = min(len(known), math.ceil(share * len(known) - 1e-9))
    first = np.zeros(len(known), dtype=np.bool_)
    first[came[:units]] = True
    chosen = [bool(first[known[name]]) for name in names]
    about = {
        "score": race.score,
        "error": race.error,
        "left": list(race.left),
        "share": share,
        "units": units,
        "of_units": len(known),
        "examples": sum(chosen),
        "of": len(names),
        "data": data.key,
    }
    return (data if units == len(known) else _part(data, chosen)), about


def _part(data: Data, chosen: list[bool]) -> Data:
    """These of the examples, with all their rows."""
    examples = kept([example for example, own in zip(data.examples, chosen, strict=True) if own])
    if data.rows is data.examples:
        return Data(examples, examples, content_of(examples))
    ids = {example.id for example in examples}
    return Data(examples, kept([row for row in data.rows if row.id in ids]), content_of(examples))


def _answered(earlier: Mapping[str, Any] | None, data: str) -> float:
    """The share of the same data that a run has answered before."""
    if earlier is None or data_of(earlier) != data:
        return 0.0
    return float(earlier["raced"]["share"]) if earlier.get("raced") else 1.0


def data_of(manifest: Mapping[str, Any]) -> str:
    """The key of the data that a run is of, all of it where a race answered a part."""
    raced = manifest.get("raced")
    return str(raced["data"] if raced else manifest["dataset"]["key"])


def partial(raced: Mapping[str, Any] | None) -> bool:
    """Whether a race has not gone to the end of the data."""
    return raced is not None and raced["units"] < raced["of_units"]


def of_round(result: RunResult, raced: Mapping[str, Any] | None) -> RunResult:
    """The result of a round, with a note that it is of a part of the data."""
    if raced is None or not partial(raced):
        return result
    note = f"of the first {raced['examples']:,} of {raced['of']:,} examples, as far as the race went"
    scores = {
        name: replace(score, note="; ".join(filter(None, (note, score.note)))) for name, score in result.scores.items()
    }
    return replace(result, scores=scores)
