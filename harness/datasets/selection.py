"""`dataset.filter`, `dataset.sample`, `dataset.shard`: which examples are evaluated, for every data set.

Applied in this order, before the top level's `limit`:

filter  those of which an expression is true: `'dataset.filter="domain == \\"news\\" and len(source) < 500"'`, over
        id, source, references and metadata by name; in Jinja's language, evaluated in its sandbox.
sample  N examples drawn at random: those with the smallest hashes of (seed, id). So the draw depends on the ids alone,
        not on the order of rows, and a sample of 500 is part of that of 1,000. Kept in the data's order.
shard   `2/8`: of every 8 examples that are left the third (0/8 is the first), so that 8 machines share the work.

>>> examples = [Example(str(i), "x" * i, (), {"even": i % 2 == 0}) for i in range(10)]
>>> [example.id for example in Selection("even and len(source) > 1", shard="0/2")(examples)]
['2', '6']
"""

from __future__ import annotations

import hashlib
import heapq
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

import numpy as np

from harness.inputs.templates import Expression, TemplateFault
from harness.types import BLOCK, Example, Examples, HarnessError, check_least


class Selection:
    def __init__(
        self, filter: str | None = None, sample: int | None = None, sample_seed: int = 0, shard: str | None = None
    ) -> None:
        self._passes = _condition(filter) if filter is not None else None
        check_least("dataset.sample", sample)
        self._sample, self._seed = sample, sample_seed
        self._shard = _share(shard) if shard is not None else None

    def __call__(self, examples: Iterable[Example]) -> Iterator[Example]:
        """The chosen examples in their order, holding no more than the sample."""
        if self._passes is not None:
            examples = filter(self._passes, examples)
        if self._sample is not None:
            examples = self._drawn(examples, self._sample)
        if self._shard is not None:
            first, step = self._shard
            examples = islice(examples, first, None, step)
        return iter(examples)

    def blocks(self, parts: Iterable[Examples]) -> Iterator[Examples]:
        """The same choice from columns, whatever the sizes of the parts."""
        if self._passes is not None:
            parts = _passing(parts, self._passes)
        if self._sample is not None:
            parts = self._drawn_parts(parts, self._sample)
        if self._shard is not None:
            parts = _every(parts, *self._shard)
        return (part for part in parts if len(part))

    def _rank(self, id_: str) -> tuple[bytes, str]:
        return hashlib.blake2b(b"%d:" % self._seed + id_.encode(), digest_size=8).digest(), id_

    def _drawn(self, examples: Iterable[Example], size: int) -> Iterator[Example]:
        ranked = ((*self._rank(example.id), i, example) for i, example in enumerate(examples))
        chosen = sorted(heapq.nsmallest(size, ranked), key=lambda drawn: drawn[2])
        return (example for *_, example in chosen)

    def _drawn_parts(self, parts: Iterable[Examples], size: int) -> Iterator[Examples]:
        candidates, most = _Candidates(), 2 * size + BLOCK
        for part in parts:
            candidates.add(part, list(map(self._rank, part.ids)))  # type: ignore[arg-type]  # no id is missing
            if len(candidates.ranks) > most:
                candidates.reduce(size)
        candidates.reduce(size)
        yield from candidates.parts


class _Candidates:
    """Examples that may belong to the sample, in the data's order."""

    def __init__(self) -> None:
        self.parts: list[Examples] = []
        self.ranks: list[tuple[bytes, str]] = []
        self._limit: tuple[bytes, str] | None = None
        """So many are below that nothing above belongs to the sample."""

    def add(self, part: Examples, ranks: list[tuple[bytes, str]]) -> None:
        limit = self._limit
        if limit is not None:
            places = [i for i, rank in enumerate(ranks) if rank < limit]
            part, ranks = part.taken(np.array(places, np.int64)), [ranks[i] for i in places]
        if ranks:
            self.parts.append(part)
            self.ranks += ranks

    def reduce(self, size: int) -> None:
        """Leaves those of the smallest ranks."""
        if len(self.ranks) <= size:
            return
        chosen = heapq.nsmallest(size, range(len(self.ranks)), key=self.ranks.__getitem__)
        self._limit = self.ranks[chosen[-1]]
        chosen.sort()
        self.parts = [Examples.joined(self.parts).taken(np.array(chosen, np.int64))]
        self.ranks = [self.ranks[i] for i in chosen]


def _passing(parts: Iterable[Examples], passes: Callable[[Example], bool]) -> Iterator[Examples]:
    for part in parts:
        places = []
        try:
            for i, example in enumerate(part):
                if passes(example):
                    places.append(i)
        except HarnessError:
            yield part.taken(np.array(places, np.int64))  # what is before an example that cannot be judged
            raise
        yield part if len(places) == len(part) else part.taken(np.array(places, np.int64))


def _every(parts: Iterable[Examples], first: int, step: int) -> Iterator[Examples]:
    """Of all examples that at place `first`, and from there every one after `step` others."""
    before = 0
    for part in parts:
        start = first - before if before <= first else -((before - first) % -step)
        yield part[start::step] if start < len(part) else part[:0]
        before += len(part)


def _share(shard: str) -> tuple[int, int]:
    parts = re.fullmatch(r"(\d{1,18})/(\d{1,18})", shard, re.ASCII)
    if not parts or int(parts[1]) >= int(parts[2]):
        raise HarnessError(
            f"dataset.shard={shard[:60]}; expected i/n with i from 0 to n - 1 and at most 18 digits each, "
            "for instance 0/4"
        )
    return int(parts[1]), int(parts[2])


def _condition(expression: str) -> Callable[[Example], bool]:
    place = f"dataset.filter={expression}"
    try:
        value_of = Expression(expression)
    except TemplateFault as error:
        raise HarnessError(
            f"{place} is not an expression ({error}); expected for instance domain == 'news' and len(source) < 500"
        ) from None

    def passes(example: Example) -> bool:
        fields: dict[str, Any] = {
            "metadata": example.metadata,
            **example.metadata,
            "id": example.id,
            "source": example.source,
            "references": example.references,
            **({} if example.contexts is None else {"contexts": example.contexts}),
        }
        try:
            value = value_of(fields)
        except TemplateFault as error:
            raise HarnessError(f"{place} fails on the example {example.id!r} ({error}); {_has(fields)}") from None
        if not isinstance(value, bool):
            raise HarnessError(
                f"{place} gives {str(value)[:40]!r} for the example {example.id!r}; expected true or false"
            )
        return value

    return passes


def _has(fields: dict[str, Any]) -> str:
    return f"it has: {', '.join(name for name in fields if name != 'metadata')}"
