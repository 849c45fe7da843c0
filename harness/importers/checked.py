"""What other tools' logs hold, checked: numbers, names, objects and lists, with the place in each message."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from harness.types import HarnessError

SURROGATE = re.compile("[\ud800-\udfff]")
NUMBERS = (bool, int, float)
PLAIN = (str, *NUMBERS)  # not `str | bool | …`, which is made anew at each look: half a second in 100,000 samples


class Choice:
    """Which of the logs' scores are imported."""

    def __init__(self, names: Sequence[str] | None = None) -> None:
        """`names`: these; None: all."""
        self._names = names
        self._seen: dict[str, None] = {}

    def wants(self, score: str) -> bool:
        name = named(score)
        self._seen[name] = None
        return self._names is None or name in self._names

    def keep(self, scores: dict[str, float | None], score: str, value: Any, place: str) -> None:
        """Puts a sample's score among those that are imported, if it is wanted."""
        if not self.wants(score):
            return
        name = named(score)
        if name in scores:
            raise HarnessError(
                f"{place} has two scores that would be called {name!r}, one of them {score!r}; expected names "
                "that differ in more than signs"
            )
        scores[name] = number(value, place, score)

    def check(self) -> None:
        """Every score that was named is in some log."""
        for name in self._names or ():
            if name not in self._seen:
                raise HarnessError(f"no log has the score {name!r}; found: {', '.join(sorted(self._seen)) or 'none'}")


def mapping(value: Any, place: str, name: str) -> Mapping[str, Any]:
    """An object of the log; empty where there is none."""
    if isinstance(value, dict):
        return value
    if value is None:
        return {}
    raise HarnessError(f"{place}: '{name}' is {_shown(value)}; expected an object")


def items(value: Any, place: str, name: str) -> list[Any]:
    """A list of the log; empty where there is none."""
    if isinstance(value, list):
        return value
    if value is None:
        return []
    raise HarnessError(f"{place}: '{name}' is {_shown(value)}; expected a list")


def _shown(value: Any) -> str:
    return f"the {'text' if isinstance(value, str) else 'value'} {str(value)[:40]!r}"


def number(value: Any, place: str, name: str) -> float | None:
    """A stored score; None where there is none. A text is no score."""
    if value is None:
        return None
    try:
        score = float(value) if isinstance(value, NUMBERS) else math.inf
    except OverflowError:  # a whole number of hundreds of digits
        score = math.inf
    if not math.isinf(score):
        return None if math.isnan(score) else score
    kind = "finite number" if isinstance(value, float) else "number"
    raise HarnessError(
        f"{place}: the score {name!r} is {_shown(value)}; expected a {kind} (--scores NAME,… imports the scores "
        "that you name, and no other)"
    )


def plain(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Those that are texts, numbers or flags, and can be stored."""
    return {
        name: value
        for name, value in fields.items()
        if isinstance(value, PLAIN) and storable(name) and (not isinstance(value, str) or storable(value))
    }


def storable(text: str) -> bool:
    """Whether Arrow can hold a text: not half a surrogate pair, and no NUL, which ends one for some readers."""
    return "\0" not in text and (text.isascii() or SURROGATE.search(text) is None)


@cache
def named(text: str) -> str:
    """A name that a score can have.

    >>> named("exact_match,strict-match"), named("pass@1"), named("f1.macro")
    ('exact_match_strict-match', 'pass_1', 'f1_macro')
    """
    return re.sub(r"[^\w-]+", "_", text).strip("_") or "score"
