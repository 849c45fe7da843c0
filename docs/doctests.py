"""Examples in docstrings (`>>> …`) as code on the page of the API; without this they would be quotations."""

from __future__ import annotations

from typing import Any

import griffe


def fenced(text: str) -> str:
    """The text with each example in a fence; an example ends with a blank line.

    >>> fenced("One:\\n>>> 1\\n1\\n\\nTwo.").splitlines()
    ['One:', '', '```pycon', '>>> 1', '1', '```', '', 'Two.']
    """
    lines: list[str] = []
    inside = False
    for line in [*text.splitlines(), ""]:
        if not inside and line.startswith(">>> "):
            lines += ["", "```pycon"]
            inside = True
        elif inside and not line.strip():
            lines.append("```")
            inside = False
        lines.append(line)
    return "\n".join(lines[:-1] if not lines[-1] else lines)


class Doctests(griffe.Extension):
    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring:
            obj.docstring.value = fenced(obj.docstring.value)
