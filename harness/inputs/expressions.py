"""Regular expressions of users' own, on texts of others': with a limit of time for each text.

They are those of the package `regex`, which has all of Python's `re` and more (`\\p{L}`), and can stop: `(a+)+$` takes
longer than anyone lives for forty letters of which the last is another.

>>> Expression("answer: (.*)", "the pattern").last("answer: 1\\nanswer: 2")
'2'
>>> Expression("(", "postprocess.extract='('")
Traceback (most recent call last):
harness.types.errors.HarnessError: postprocess.extract='(' is not a regular expression: missing ) at position 1
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.types import HarnessError
from harness.types.shown import counted

SECONDS = 5.0


class TooSlow(Exception):
    """A text for which an expression takes longer than it may; the message names the expression."""


class Expression:
    def __init__(self, pattern: str, place: str, seconds: float = SECONDS) -> None:
        """`place`: the expression where the user wrote it, for messages."""
        import regex

        self.pattern, self.place, self.seconds = pattern, place, seconds
        try:
            self._compiled = regex.compile(pattern)
        except regex.error as error:
            raise HarnessError(f"{place} is not a regular expression: {error}") from None
        except (RecursionError, OverflowError, MemoryError) as error:
            raise HarnessError(
                f"{place[:200]} cannot be used ({type(error).__name__}); expected a simpler expression"
            ) from None

    def first(self, text: str) -> str | None:
        """What the first match holds: its first group, or all of it where it has none."""
        return next(self._answers(text), None)

    def last(self, text: str) -> str | None:
        """What the last match holds."""
        answer = None
        for later in self._answers(text):
            answer = later
        return answer

    def _answers(self, text: str) -> Iterator[str]:
        try:
            for match in self._compiled.finditer(text, timeout=self.seconds):
                yield (match.group(1) if self._compiled.groups else match.group(0)) or ""
        except TimeoutError:
            raise TooSlow(
                f"{self.place} took longer than {self.seconds:g} s for a text of {counted(len(text), 'character')}"
            ) from None
        except MemoryError:  # one that calls itself
            raise TooSlow(
                f"{self.place} took too much memory for a text of {counted(len(text), 'character')}"
            ) from None
