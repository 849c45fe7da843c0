"""What a system says of its outputs, made fit to be kept: the one gate to the journal and to the shared cache.

Programs, servers and functions say odd things: tokens as text, NaN seconds, half a surrogate in a message. Whatever
enters a journal, and whatever is read from one, goes through here, so that nobody after it meets anything else:

| field | what is kept |
| --- | --- |
| `input_tokens`, `output_tokens` | whole numbers from 0; `"12"` and `12.0` are 12 |
| `seconds`, `cost` | finite numbers from 0; `"0.5"` is 0.5 |
| `finish` | texts |
| any other | JSON with finite numbers of 64 bits, 16 levels deep at most |

What is none of these is left out, with a warning. A text that cannot be stored is a failed example; in errors and
in what is said beside a text, halves of surrogates and NUL become U+FFFD.

>>> gate = Gate("a server")
>>> dict(gate(Output("It rains.", info={"output_tokens": "12", "finish": "stop", "seconds": None})).info)
{'output_tokens': 12, 'finish': 'stop'}
>>> gate(Output("half a \\ud83d")).error
'the output holds a lone surrogate (\\\\ud83d) at position 8'
"""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from numbers import Real
from typing import Any

from harness.types.context_forms import ContextFault, List, listed
from harness.types.nouns import Output
from harness.types.texts import text_fault

log = logging.getLogger(__name__)
MOST = 10**15
"""Tokens, seconds, money: sums of such numbers are finite, and exact in JSON."""
LONGEST_NUMBER, DEEPEST, MOST_WARNINGS = 40, 16, 20
_UNFIT = re.compile("[\0\ud800-\udfff]")


class Gate:
    """Lets outputs through as they can be kept; of what it leaves out it warns once per field."""

    def __init__(self, source: str) -> None:
        """`source`: who says these things, for warnings."""
        self.source = source
        self._warned: set[str] = set()

    def __call__(self, output: Output) -> Output:
        info = self.info(output.info) if output.info else {}
        contexts: List | None = None
        if output.contexts is not None:
            try:
                contexts = listed(output.contexts)
            except ContextFault as fault:
                return Output(None, _words(output.error or f"{fault.of('contexts')}"), info)
        if output.error is not None:
            return Output(None, _words(output.error), info, contexts)
        if not isinstance(output.text, str):
            return Output(None, f"the output is {_shown(output.text)}; expected a text", info, contexts)
        if unfit := text_fault(output.text):
            return Output(None, f"the output holds {unfit}", info, contexts)
        return Output(output.text, None, info, contexts)

    def info(self, info: Any) -> dict[str, Any]:
        """What can be kept of an output's `info`; a field that is null is one that nobody knows."""
        if not isinstance(info, Mapping):
            self._warn("info", info, "fields with values")
            return {}
        kept = {}
        for field, value in info.items():
            if value is None:
                continue
            name = _words(field)
            normalise, expected = FIELDS.get(name, (_json, "JSON with finite numbers"))
            try:
                kept[name] = normalise(value)
            except (TypeError, ValueError, OverflowError):
                self._warn(name, value, expected)
        return kept

    def _warn(self, field: str, value: Any, expected: str) -> None:
        if field not in self._warned and len(self._warned) < MOST_WARNINGS:
            self._warned.add(field)
            log.warning(
                "%s: %r of an output is %s; expected %s. It is left out, here and where it occurs again",
                self.source, field, _shown(value), expected,
            )  # fmt: skip


def replaced(text: str) -> str:
    """A text that can be stored: U+FFFD for what cannot."""
    return _UNFIT.sub("\ufffd", text)


def count(value: Any) -> int:
    """A whole number from 0; ValueError or TypeError where it is none."""
    number = amount(value)
    if number != int(number):
        raise ValueError
    return int(number)


def amount(value: Any) -> float:
    """A finite number from 0; ValueError or TypeError where it is none."""
    if isinstance(value, bool) or not isinstance(value, str | Real | Decimal) or len(str(value)) > LONGEST_NUMBER:
        raise TypeError
    number = float(value)
    if not 0 <= number <= MOST:
        raise ValueError
    return value if isinstance(value, int) else number


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return replaced(value)


def _json(value: Any, levels: int = DEEPEST) -> Any:
    """A value that JSON can hold and that anyone can read again; numbers of NumPy and the like as Python's."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return replaced(value)
    if not levels:
        raise ValueError
    if isinstance(value, Mapping):
        return {_words(name): _json(inner, levels - 1) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_json(inner, levels - 1) for inner in value]
    if hasattr(value, "tolist"):
        return _json(value.tolist(), levels - 1)
    if isinstance(value, int):
        if not -(2**63) <= value < 2**63:
            raise OverflowError
        return int(value)
    if isinstance(value, float) and math.isfinite(value):
        return float(value)
    raise TypeError


def _shown(value: Any) -> str:
    """A value for a message, whatever it is."""
    return f"{type(value).__name__} {_words(value)[:40]!r}"


def _words(value: Any) -> str:
    """What a value says of itself, if it can: a number of thousands of digits cannot."""
    try:
        return replaced(str(value))
    except Exception:
        return "that cannot be shown"


FIELDS: Mapping[str, tuple[Callable[[Any], Any], str]] = {
    "input_tokens": (count, "a whole number from 0"),
    "output_tokens": (count, "a whole number from 0"),
    "seconds": (amount, "a finite number from 0"),
    "cost": (amount, "a finite number from 0"),
    "finish": (_text, "a text"),
}
