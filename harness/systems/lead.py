"""`system=lead`: the first sentences of the source, the baseline that summarisers find hard to beat.

>>> Lead(sentences=1).generate([Example("1", "It rained. We left.", ())])[0].text
'It rained.'
"""

from __future__ import annotations

from collections.abc import Sequence

from harness.inputs.files import digest
from harness.systems.sentences import sentences as split
from harness.types import Example, Output, System, check_least

VERSION = 1


class Lead(System):
    name = "lead"

    def __init__(self, sentences: int = 3) -> None:
        check_least("system.sentences", sentences)
        self.sentences = sentences

    def key(self) -> str:
        return digest(["lead", VERSION, self.sentences])

    def seen(self, example: Example) -> str | None:
        return example.source

    def generate(self, batch: Sequence[Example]) -> list[Output]:
        return [
            Output(None, "the example has no source")
            if example.source is None
            else Output(" ".join(split(example.source)[: self.sentences]))
            for example in batch
        ]
