"""`engine=local`: threads of this process.

>>> from harness.types.engine import Recipe, unheard
>>> list(Local().map(Recipe("builtins.str", {}, str.upper, threads=True), ["a", "b", "c"], unheard))
[(0, 'A'), (1, 'B'), (2, 'C')]
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from itertools import chain, islice
from typing import Any

from harness.inputs.cores import cores, limited
from harness.types import check_least
from harness.types.engine import Note, Recipe, unheard


class Local:
    in_process = near = True

    def __init__(self, threads: int | None = None, keep_models: int = 0) -> None:
        """`threads`: that are used at most, by models too; null: as many as there are cores. `keep_models`: models and
        data sets that stay loaded for the next run of this process (harness/inputs/shelf.py)."""
        check_least("engine.threads", threads)
        check_least("engine.keep_models", keep_models, 0)
        self.threads, self.keep_models = threads, keep_models
        self._stack = ExitStack()

    def __enter__(self) -> Local:
        self._stack.enter_context(limited(self.threads))
        return self

    def __exit__(self, *exception: object) -> None:
        self._stack.close()

    def about(self) -> Mapping[str, Any]:
        return {"name": "local", "threads": self.threads}

    def begin(self, make: Recipe) -> None:
        """What is of this process is there already."""

    def map(self, make: Recipe, items: Iterable[Any], note: Note = unheard) -> Iterator[tuple[int, Any]]:
        """In order; a few items are worked on at once, on all cores, where the replica allows it."""
        numbered = enumerate(items)
        first = list(islice(numbered, 2))
        if len(first) < 2 or not make.threads:  # nothing to share
            yield from ((number, make.here(item)) for number, item in chain(first, numbered))
            return
        waiting: deque[tuple[int, Future[Any]]] = deque()
        with ThreadPoolExecutor(cores()) as pool:
            for number, item in chain(first, numbered):
                waiting.append((number, pool.submit(make.here, item)))
                if len(waiting) > 2 * cores():
                    done, result = waiting.popleft()
                    yield done, result.result()
            while waiting:
                done, result = waiting.popleft()
                yield done, result.result()
