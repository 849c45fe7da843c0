"""Which rows are drawn together: units, strata and repeats.

>>> design = Design.of(4, clusters=["a", "a", "b", "c"], strata=["x", "x", "y", "x"])
>>> design.units, design.members.tolist(), design.sizes.tolist()
(3, [0, 0, 2, 1], [2, 1])
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.inputs import arrow
from harness.inputs.choices import SEED
from harness.stats.units import Units, hashes, into_buckets
from harness.types import HarnessError, RunResult, Texts
from harness.types.shown import counted

Codes = NDArray[np.int64]
Kept = NDArray[np.bool_]
IN_A_STRATUM = 4
"""Units of a stratum below which strata are merged: resamples of two vary half as much as new data would, and of one
not at all (docs/statistics.md has the table)."""


@dataclass(frozen=True)
class Design:
    """Which rows are drawn together."""

    members: Codes
    """(n,) the unit of each row; units are numbered from 0, those of a stratum one after the other."""
    sizes: Codes
    """(strata,) how many units each stratum has."""
    repeat: Codes
    """(n,) the seed of each row, numbered from 0; 0 where outputs of an example are averaged."""
    label: str
    """What a unit is: `examples`, or `clusters by FIELD`."""
    singles: Codes | None = None
    """(n,) where units are buckets, the example or cluster of each row."""
    example: Codes | None = None
    """(n,) the example of each row, where an example has several."""

    @classmethod
    def of(
        cls,
        n: int,
        clusters: Sequence[object] | None = None,
        strata: Sequence[object] | None = None,
        repeats: Sequence[int] | NDArray[np.integer[Any]] | None = None,
        ids: Sequence[object] | None = None,
        label: str | None = None,
    ) -> Design:
        """The design of n rows; with repeats, rows of one id (or cluster) are one unit, and a repeat is a seed."""
        several = repeats is not None and np.asarray(repeats).any()
        none = np.broadcast_to(np.zeros(1, np.int64), (n,))  # takes no room
        repeat = np.asarray(repeats, dtype=np.int64) if several else none
        units = clusters if clusters is not None else ids if repeat.any() else None
        members = np.arange(n, dtype=np.int64) if units is None else codes(units)
        sizes = np.array([members.max(initial=-1) + 1], dtype=np.int64)
        if strata is not None and n:
            members, sizes = _by_stratum(members, strata)
        example = codes(ids) if repeat.any() and ids is not None else None
        label = label or ("examples" if clusters is None else "clusters")
        return cls(members, sizes, repeat, label, example=example)

    @classmethod
    def of_run(cls, run: RunResult, seed: int = SEED) -> Design:
        """The design of a run's rows, by its cluster and strata fields and its seeds; outputs that are no seeds of
        their own are averaged. Buckets as its config says, the same for the same seed."""
        fields = [name for name in (run.cluster, run.strata) if name is not None]
        table = run.columns("id", "repeat", *dict.fromkeys(fields))
        ids = Texts(arrow.whole(table.column("id")))
        clusters = None if run.cluster is None else _values(table.column(run.cluster))
        design = cls.of(
            len(ids),
            clusters=clusters,
            strata=None if run.strata is None else _values(table.column(run.strata)),
            repeats=arrow.integers(table.column("repeat")),
            ids=ids,
            label=None if run.cluster is None else f"clusters by {run.cluster}",
        )
        stats = run.manifest.get("config", {}).get("stats") if run.manifest else None
        names = ids if clusters is None else clusters
        drawn = design.with_small_strata_merged().in_buckets(names, Units.of_config(stats, seed))
        if not 1 <= run.seeds <= drawn.repeats:
            raise HarnessError(
                f"{run.path or run.name} says that it has {counted(run.seeds, 'seed')}, and has "
                f"{counted(drawn.repeats, 'output')} an example; expected no more seeds than outputs"
            )
        return drawn.of_seeds(run.seeds)

    def of_seeds(self, seeds: int) -> Design:
        """The same rows of so many seeds, whose outputs follow each other; 1: all outputs of an example are averaged.

        >>> design = Design.of(4, repeats=[0, 1, 2, 3], ids=["a"] * 4)
        >>> design.of_seeds(2).repeat.tolist(), design.of_seeds(1).repeat.tolist()
        ([0, 0, 1, 1], [0, 0, 0, 0])
        """
        if seeds == self.repeats:
            return self
        return replace(self, repeat=self.repeat * seeds // self.repeats)

    @property
    def small_strata(self) -> int:
        """How many strata have too few units to draw from."""
        return int(np.count_nonzero(self.sizes < IN_A_STRATUM)) if len(self.sizes) > 1 else 0

    def with_small_strata_merged(self) -> Design:
        """The same rows, strata of too few units merged."""
        if not self.small_strata:
            return self
        members, sizes = _in_strata(self.members, _merged(np.repeat(np.arange(len(self.sizes)), self.sizes)))
        return replace(self, members=members, sizes=sizes)

    def in_buckets(self, names: Sequence[object], units: Units) -> Design:
        """The same rows with buckets for units, where there are too many of these; `names` (n,): of their units."""
        if not units.bucketed(self.units):
            return self
        bucket = into_buckets(self.sizes, hashes(self._names(names), units.seed), units.buckets)
        filled, of_unit = _renumbered(bucket)
        stratum = np.searchsorted(np.cumsum(self.sizes), filled, side="right")
        sizes = np.bincount(stratum, minlength=len(self.sizes))
        return replace(self, members=of_unit[self.members], sizes=sizes, singles=self.members)

    def _names(self, names: Sequence[object]) -> Sequence[str]:
        """(units,) of these names of rows that of each unit."""
        if isinstance(names, Texts) and not names.array.null_count:
            if np.array_equal(self.members, np.arange(len(names))):
                return names  # type: ignore[return-value]  # none is missing
            if len(names) == self.units:
                order = np.empty_like(self.members)
                order[self.members] = np.arange(len(names))
                return names.taken(order)  # type: ignore[return-value]  # none is missing
            return names.taken(np.unique(self.members, return_index=True)[1])  # type: ignore[return-value]
        first = np.unique(self.members, return_index=True)[1].tolist()
        return [name if isinstance(name, str) else repr(name) for name in (names[i] for i in first)]

    @cached_property
    def units(self) -> int:
        return int(self.sizes.sum())

    @cached_property
    def repeats(self) -> int:
        """How many seeds there are; 1 where outputs of an example are averaged."""
        return int(self.repeat.max(initial=0)) + 1

    def kept(self, keep: Kept) -> Design:
        """The design of the rows that are kept; units of which none is left are gone."""
        if keep.all():
            return self
        left, members = _renumbered(self.members[keep])
        stratum = np.repeat(np.arange(len(self.sizes)), self.sizes)[left]
        sizes = np.bincount(stratum, minlength=len(self.sizes))
        singles = None if self.singles is None else self.singles[keep]
        example = None if self.example is None else _renumbered(self.example[keep])[1]
        return replace(
            self, members=members, sizes=sizes[sizes > 0], repeat=self.repeat[keep], singles=singles, example=example
        )

    def count(self, keep: Kept | None = None) -> int:
        """How many examples or clusters there are, among the rows that are kept."""
        singles = self.members if self.singles is None else self.singles
        return int(np.count_nonzero(np.bincount(singles if keep is None else singles[keep])))

    @cached_property
    def of_examples(self) -> Codes:
        """(examples,) the unit of each example."""
        if self.example is None:
            return self.members
        of_example = np.empty(int(self.example.max(initial=-1)) + 1, dtype=np.int64)
        of_example[self.example] = self.members
        return of_example

    def complete(self, scored: Kept) -> Kept:
        """(examples,) those of which every output was scored; `scored` (n,)."""
        if self.example is None:
            return scored
        whole = np.ones(int(self.example.max(initial=-1)) + 1, dtype=np.bool_)
        whole[self.example[~scored]] = False
        return whole

    def rows_of(self, examples: Kept) -> Kept:
        """(n,) the rows of these examples."""
        return examples if self.example is None else examples[self.example]

    def averaged(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """(examples, s) means of the values (n, s) of each example's outputs; NaN where one has none."""
        if self.example is None:
            return values
        counts = np.bincount(self.example)
        return np.stack([np.bincount(self.example, column) / counts for column in values.T], axis=1)

    @cached_property
    def description(self) -> str:
        """What is drawn, in words: `400 examples`, `42 clusters by thread`, `16384 buckets of 100000 examples`."""
        single = f"{self.count() if self.singles is not None else self.units} {self.label}"
        return single if self.singles is None else f"{self.units} buckets of {single}"


def _values(column: Any) -> Sequence[object]:
    """A column of a table, as text where it is text."""
    whole = arrow.whole(column)
    return Texts(whole) if str(whole.type) in ("string", "large_string") else whole.to_pylist()


def codes(values: Sequence[object]) -> Codes:
    """Numbers for names in order of first appearance."""
    if isinstance(values, Texts) and not values.array.null_count:
        return arrow.codes(values.array)
    known: dict[str, int] = {}
    return np.array([known.setdefault(repr(value), len(known)) for value in values], dtype=np.int64)


def _renumbered(numbers: Codes) -> tuple[Codes, Codes]:
    """(the numbers that occur, from the smallest, and each as its place among them): `np.unique` without sorting.

    >>> [part.tolist() for part in _renumbered(np.array([5, 2, 5]))]
    [[2, 5], [1, 0, 1]]
    """
    occurs = np.bincount(numbers) > 0
    place = np.cumsum(occurs) - 1
    return np.flatnonzero(occurs), place[numbers]


def _by_stratum(members: Codes, strata: Sequence[object]) -> tuple[Codes, Codes]:
    """(members numbered stratum by stratum, units of each stratum)."""
    stratum = codes(strata)
    of_unit = np.full(members.max() + 1, -1, dtype=np.int64)
    of_unit[members] = stratum
    torn = np.flatnonzero(of_unit[members] != stratum)
    if len(torn):
        raise HarnessError(
            f"the cluster of row {torn[0] + 1} lies in two strata ({strata[torn[0]]!r} is one); "
            "expected every cluster within one stratum"
        )
    return _in_strata(members, of_unit)


def _in_strata(members: Codes, of_unit: Codes) -> tuple[Codes, Codes]:
    """The same, given the stratum of each unit (units,)."""
    order = np.argsort(of_unit, kind="stable")
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return place[members], np.bincount(of_unit)


def _merged(of_unit: Codes) -> Codes:
    """The stratum of each unit (units,), those of too few units merged into one; where that has too few still, with the
    smallest of the others.

    >>> _merged(np.repeat([0, 1, 2], [5, 2, 3])).tolist(), _merged(np.repeat([0, 1, 2], [5, 1, 4])).tolist()
    ([0, 0, 0, 0, 0, 1, 1, 1, 1, 1], [0, 0, 0, 0, 0, 1, 1, 1, 1, 1])
    """
    sizes = np.bincount(of_unit)
    small = np.flatnonzero(sizes < IN_A_STRATUM)
    if len(small) and sizes[small].sum() < IN_A_STRATUM and len(small) < len(sizes):
        others = np.where(sizes < IN_A_STRATUM, len(of_unit) + 1, sizes)
        small = np.append(small, np.argmin(others))
    merged = np.arange(len(sizes))
    merged[small] = small.min(initial=len(sizes))
    return _renumbered(merged[of_unit])[1]
