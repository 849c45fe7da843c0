"""A prompt: a Jinja template over the example's fields.

The fields are `id`, `source` and every field of the metadata, by name; the references are not among them.

>>> Prompt("Translate: {{ source }}")(Example("1", "der Hund", ()))
'Translate: der Hund'
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

from harness.types import Example, HarnessError


class Prompt:
    def __init__(self, template: str) -> None:
        self.template = template

    def __call__(self, example: Example) -> str:
        """What the system is asked about the example."""
        import jinja2

        try:
            return str(self._compiled.render(**example.metadata, id=example.id, source=example.source))
        except jinja2.UndefinedError as error:
            fields = ", ".join(["id", "source", *example.metadata])
            raise HarnessError(f"system.prompt: {error} in example {example.id!r}; expected one of: {fields}") from None

    @cached_property
    def _compiled(self) -> Any:
        import jinja2

        environment = jinja2.Environment(undefined=jinja2.StrictUndefined, keep_trailing_newline=True)
        try:
            return environment.from_string(self.template)
        except jinja2.TemplateSyntaxError as error:
            raise HarnessError(f"system.prompt is not a Jinja template: {error}") from None
