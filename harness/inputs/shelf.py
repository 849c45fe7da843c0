"""What is dear to load, kept for the next run of the same process: models, tokenizers, data. Cells of a sweep that
differ in an option of decoding load the same weights once.

Of each kind the last few are kept (`engine.keep_models`), by a key that names everything that decides what is loaded;
an older one is let go before another is loaded, so that memory holds no more than it did.

>>> shelf = Shelf()
>>> shelf.most = 1
>>> [shelf.get("system", key, lambda: object()) is shelf.get("system", key, lambda: object()) for key in ("a", None)]
[True, False]
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

Thing = TypeVar("Thing")


class Shelf:
    """Things by their kind and key."""

    def __init__(self) -> None:
        self.most = 0
        """Of each kind; 0: nothing is kept."""
        self._things: dict[tuple[str, Hashable], Any] = {}

    def get(self, kind: str, key: Hashable | None, make: Callable[[], Thing]) -> Thing:
        """The thing of that key, made where it is not kept; without a key it is made anew."""
        if key is None or not self.most:
            return make()
        if (kind, key) not in self._things:
            self._let_go(kind, self.most - 1)
            self._things[kind, key] = make()
        thing: Thing = self._things.pop((kind, key))
        self._things[kind, key] = thing  # the last one used is the last to go
        return thing

    def resize(self, most: int) -> None:
        self.most = most
        for kind in {kind for kind, _ in self._things}:
            self._let_go(kind, most)

    def _let_go(self, kind: str, left: int) -> None:
        own = [key for key in self._things if key[0] == kind]
        for key in own[: max(len(own) - left, 0)]:
            del self._things[key]
        if len(own) > left:
            gc.collect()  # models have cycles


kept = Shelf()
"""Of this process."""
