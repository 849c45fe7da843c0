"""Placeholder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Generic, TypeVar

B = TypeVar("B", bound=Sequence[Any])


class Kept(Sequence[Any], Generic[B]):
    def __init__(self) -> None:
        self._blocks: list[B] = []
        self._starts = [0]

    def append(self, block: B) -> None:
        self._blocks.append(block)
        self._starts.append(self._starts[-1] + len(block))

    def blocks(self) -> Iterator[B]:
        return iter(self._blocks)

    def __len__(self) -> int:
        return self._starts[-1]

    def __getitem__(self, which: Any) -> Any:
        import bisect

        i = bisect.bisect_right(self._starts, which) - 1
        return self._blocks[i][which - self._starts[i]]
