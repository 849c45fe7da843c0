"""`system=human`: each reference scored against the others of its example, the ceiling that a table should show.

An example with K references has K rows: in row r the output is reference r, and the references are the other K - 1. An
example with one reference has nothing to be scored against and fails.

That is one reference fewer than other systems are scored against, which lowers most scores. So the signature (`nrefs`)
differs and comparisons are refused; docs/systems.md says how to compare fairly.

>>> system = Human()
>>> rows = system.expand([Example("a", None, ("it rained", "rain fell", "rain"))])
>>> for row, output in zip(rows, system.generate(rows)):
...     print(row.repeat, output.text, row.references)
0 it rained ('rain fell', 'rain')
1 rain fell ('it rained', 'rain')
2 rain ('it rained', 'rain fell')
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from harness.inputs.files import digest
from harness.types import Example, Output, System

VERSION = 1


class Human(System):
    name = "human"

    def __init__(self) -> None:
        self._texts: dict[tuple[str, int], str] = {}

    def expand(self, examples: Sequence[Example]) -> list[Example]:
        self.repeats = max((len(example.references) for example in examples), default=1)
        self._texts = {}
        rows = []
        for example in examples:
            texts = example.references
            if len(texts) < 2:
                rows.append(example)
                continue
            for r, text in enumerate(texts):
                rows.append(replace(example, references=texts[:r] + texts[r + 1 :], repeat=r))
                self._texts[example.id, r] = text
        return rows

    def key(self) -> str:
        return digest(["human", VERSION])

    def seen(self, example: Example) -> str | None:
        return self._texts.get((example.id, example.repeat))

    def generate(self, batch: Sequence[Example]) -> list[Output]:
        return [
            Output(
                None,
                f"the example has {len(example.references)} reference; expected 2 or more, to score each "
                "against the others",
            )
            if (text := self.seen(example)) is None
            else Output(text)
            for example in batch
        ]
