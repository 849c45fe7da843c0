"""The runs of all shards of a data set as the data set and the system of one run, so that `harness merge` needs nothing
but their folders.

Shard i of n has of every n examples the one at place i, so the whole data set takes an example from each in turn. An
example's rows (one for each repeat) stay together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.inputs.kept import Kept
from harness.store.folder import read_rows
from harness.store.rescored import Stored
from harness.types import BlockDataset, Example, Examples, HarnessError, Outputs, Rows, System, Texts, text_columns
from harness.types.shown import counted

Places = NDArray[np.int64]


class Shards:
    """The rows of stored runs, taken from each in turn; that of shard 0 comes first."""

    def __init__(self, folders: Sequence[Path], manifest: Mapping[str, Any]) -> None:
        """`manifest`: what is known of the whole."""
        self.folders, self.manifest = folders, manifest
        self.stored = [Stored(folder) for folder in folders]
        starts = [_starts(part.rows.ids) for part in self.stored]
        self._check_sizes([len(places) - 1 for places in starts])
        self.of_row, self.places, self.starts = _in_turn(starts)
        """(rows,) the shard of each row of the whole and its place there; (examples,) the first row of each."""
        self._check_ids()
        self._order = self._ordered_fields()

    def _check_sizes(self, sizes: Sequence[int]) -> None:
        """Of N examples shard i of n has those at the places i, i + n, i + 2 n …"""
        n, total = len(sizes), sum(part.manifest["dataset"]["content"]["rows"] for part in self.stored)
        for shard, size in enumerate(sizes):
            if size != (right := len(range(shard, total, n))):
                raise HarnessError(
                    f"{self.folders[shard]} has {counted(size, 'example')}; expected {right}, since all {n} "
                    f"shards have {total}"
                )

    def _check_ids(self) -> None:
        import pyarrow.compute as pc

        ids = self._taken([part.rows.ids for part in self.stored], self.starts, Texts.joined)
        if pc.count_distinct(ids.array).as_py() == len(ids):
            return
        first: dict[str | None, int] = {}
        for place, id_ in enumerate(ids):
            if id_ in first:
                shards = sorted({place % len(self.folders), first[id_] % len(self.folders)})
                where = " and ".join(str(self.folders[shard]) for shard in shards)
                raise HarnessError(f"the example {id_!r} is twice in {where}; expected each once")
            first[id_] = place

    def _ordered_fields(self) -> list[str]:
        """The metadata fields in the order in which the whole data set has them."""
        seen: dict[str, tuple[int, int]] = {}
        for shard, part in enumerate(self.stored):
            rows = np.flatnonzero(self.of_row == shard)
            for number, field in enumerate(part.rows.metadata):
                first = int(rows[min(part.first.get(field, 0), len(rows) - 1)])
                seen[field] = min(seen.get(field, (len(self), 0)), (first, number))
        return sorted(seen, key=seen.__getitem__)

    def __len__(self) -> int:
        return len(self.places)

    def rows(self, chosen: Places) -> Examples:
        """Those at these places of the whole, in ascending order."""
        rows: Examples = self._taken([part.rows for part in self.stored], chosen, Examples.joined)
        return replace(rows, metadata={field: rows.metadata[field] for field in self._order if field in rows.metadata})

    def outputs(self, chosen: Places) -> Outputs:
        """What the system gave for these rows."""
        outputs: Outputs = self._taken([part.outputs for part in self.stored], chosen, Outputs.joined)
        return outputs

    def statistics(self, name: str, sizes: Iterable[int]) -> Iterator[Rows]:
        """A metric's rows, in parts of these sizes."""
        parts, first = [read_rows(folder, name) for folder in self.folders], 0
        if [len(part) for part in parts] != np.bincount(self.of_row).tolist():
            raise HarnessError(f"{name} has not as many rows of statistics as there are outputs")
        for size in sizes:
            of, places = self.of_row[first : first + size], self.places[first : first + size]
            rows = Rows.joined(*(part[places[of == shard]] for shard, part in enumerate(parts)))
            yield rows[_back(of)]
            first += size

    def _taken(self, parts: Sequence[Any], chosen: Places, joined: Callable[[Sequence[Any]], Any]) -> Any:
        of, places = self.of_row[chosen], self.places[chosen]
        return joined([parts[shard].taken(places[of == shard]) for shard in np.unique(of).tolist()]).taken(_back(of))


def _starts(ids: Texts) -> Places:
    """(examples + 1) where the rows of each example begin, and those of the last one end."""
    codes = ids.array.dictionary_encode().indices
    numbers = np.frombuffer(codes.buffers()[1], np.int32, len(codes), codes.offset * 4)
    return np.concatenate([[0], np.flatnonzero(np.diff(numbers)) + 1, [len(ids)]])


def _in_turn(starts: Sequence[Places]) -> tuple[NDArray[np.int32], Places, Places]:
    """(the shard of each row, its place in that shard, the first row of each example), an example of each in turn.

    >>> of, places, first = _in_turn([np.array([0, 2, 3]), np.array([0, 1])])
    >>> of.tolist(), places.tolist(), first.tolist()
    ([0, 0, 1, 0], [0, 1, 0, 2], [0, 2, 3])
    """
    n, total = len(starts), sum(len(places) - 1 for places in starts)
    shards = np.arange(total) % n
    begins, lengths = np.empty(total, np.int64), np.empty(total, np.int64)
    for shard, places in enumerate(starts):
        begins[shard::n], lengths[shard::n] = places[:-1], np.diff(places)
    first = np.concatenate([[0], np.cumsum(lengths)])
    within = np.repeat(begins - first[:-1], lengths) + np.arange(first[-1])
    return np.repeat(shards, lengths).astype(np.int32), within, first[:-1]


def _back(of: NDArray[np.int32]) -> Places:
    """Where rows that lie shard after shard belong, given the shard (n,) of each place."""
    back = np.empty(len(of), np.int64)
    back[np.argsort(of, kind="stable")] = np.arange(len(of))
    return back


class ShardsDataset(BlockDataset):
    def __init__(self, shards: Shards) -> None:
        self.shards = shards
        self.name: str = shards.manifest["dataset"]["name"]
        self.cluster = shards.stored[0].cluster

    def blocks(self) -> Iterator[Examples]:
        for chosen in _in_blocks(self.shards.starts):
            yield replace(self.shards.rows(chosen), repeats=None)

    def about(self) -> Mapping[str, str]:
        return dict(self.shards.manifest["dataset"].get("about", {}))


class ShardsSystem(System):
    stored = True

    def __init__(self, shards: Shards) -> None:
        self.shards, self._next = shards, 0
        system = shards.manifest["system"]
        self.name: str = system["name"]
        self.repeats: int = system["repeats"]
        self.step, self.series = system.get("step"), system.get("series")

    def key(self) -> str | None:
        key: str | None = self.shards.manifest["system"]["key"]
        return key

    def expand(self, examples: Sequence[Example]) -> Sequence[Example]:
        """The rows that were scored, with the references that each was scored against."""
        self._next = 0
        if len(self.shards) == len(self.shards.starts):
            return examples
        return Kept.of(*map(self.shards.rows, _in_blocks(np.arange(len(self.shards)))))

    def about(self) -> Mapping[str, str]:
        return dict(self.shards.manifest["system"].get("about", {}))

    def generate(self, batch: Sequence[Example]) -> Outputs:
        """Of the next rows: all are asked for in their order."""
        first, self._next = self._next, self._next + len(batch)
        return self.shards.outputs(np.arange(first, self._next))


def _in_blocks(places: Places) -> Iterator[Places]:
    size = text_columns.BLOCK
    bounds = [*range(0, len(places), size), len(places)]
    return (places[a:b] for a, b in pairwise(bounds))
