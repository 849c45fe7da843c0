"""`system=random`: a reference of another example, the score of fluent text that has nothing to do with the source.

Each reference of every other example is as likely as any; which one it is depends on the seed, the id and the repeat.

>>> system = Random()
>>> a, b = system.expand([Example("a", None, ("rain",)), Example("b", None, ("snow",))])
>>> [output.text for output in system.generate([a, b])]
['snow', 'rain']
"""

from __future__ import annotations

from collections.abc import Sequence

from harness.inputs.files import digest
from harness.types import Example, Output, System, check_least

VERSION = 1


class Random(System):
    name = "random"

    def __init__(self, seed: int = 12345, repeats: int = 1) -> None:
        self.seed, self.repeats = seed, repeats
        check_least("system.repeats", repeats)
        self._texts: list[str] = []
        self._own: dict[str, tuple[int, int]] = {}
        """Where an example's own references are in `_texts`: first, number."""

    def expand(self, examples: Sequence[Example]) -> Sequence[Example]:
        self._texts, self._own = [], {}
        for example in examples:
            self._own[example.id] = len(self._texts), len(example.references)
            self._texts += example.references
        return super().expand(examples)

    def key(self) -> str:
        return digest(["random", VERSION])

    def seen(self, example: Example) -> str | None:
        """The text that was drawn: other data may give another one."""
        first, own = self._own[example.id]
        others = len(self._texts) - own
        if not others:
            return None
        drawn = int(digest([self.seed, example.id, example.repeat]), 16) % others
        return self._texts[drawn if drawn < first else drawn + own]

    def generate(self, batch: Sequence[Example]) -> list[Output]:
        return [
            Output(None, "no other example has a reference; expected at least one") if text is None else Output(text)
            for text in map(self.seen, batch)
        ]
