"""`system=copy`: the source itself, or another field of the example.

The floor of a task that keeps much of its source: simplification, correction, style, a pair of close languages. With
`field` it scores what a column holds, for instance a second translator's text against the first one's.

>>> Copy().generate([Example("1", "It rained.", ())])[0].text
'It rained.'
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from harness.inputs.files import digest
from harness.types import Example, HarnessError, Output, System

VERSION = 1


class Copy(System):
    def __init__(self, field: str = "source") -> None:
        self.field, self.name = field, "copy" if field == "source" else field

    def key(self) -> str:
        return digest(["copy", VERSION])

    def seen(self, example: Example) -> Any:
        fields = example.fields()
        if self.field not in fields:
            known = ", ".join(fields)
            raise HarnessError(f"system.field={self.field} is not a field of example {example.id!r}; found: {known}")
        return fields[self.field]

    def generate(self, batch: Sequence[Example]) -> list[Output]:
        return [self._output(self.seen(example)) for example in batch]

    def _output(self, text: Any) -> Output:
        if text is None:
            return Output(None, f"the example has no {self.field}")
        return Output(text) if isinstance(text, str) else Output(None, f"{self.field!r} is {text}; expected a text")
