"""The secrets that this command has met, and text without them."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote

from harness.masking import patterns
from harness.masking.names import secret_name
from harness.masking.patterns import MASK, SCHEME
from harness.types.admission import replaced

SHORTEST = 4
"""Shorter values are not looked for in text: they would be found everywhere."""
LONGEST = 10_000
"""Characters of an `excerpt`."""
LONGEST_WORD = 1000
"""The last word of a text that was cut may be half a secret; it goes, or this many characters of it."""
_FLAG_IN_TEXT = re.compile(r"(?<![\w-])(--?([A-Za-z][\w.-]{0,200})['\"]?(?:\s*,\s*|\s+)['\"]?)(?!-)[^\s,'\"\]]+")
_met: set[str] = set()


def meet(value: str) -> set[str]:
    """Remembers a secret, also as JSON, URLs and `repr` write it; what of it is to be looked for."""
    if os.path.isabs(value) and os.path.isdir(value):  # a home folder is no secret, and part of many paths
        return set()
    bare = SCHEME.sub("", value)
    forms = {value, bare, json.dumps(bare)[1:-1], repr(bare)[1:-1], quote(bare, safe=""), *value.splitlines()}
    kept = {form.strip() for form in forms if len(form.strip()) >= SHORTEST}
    kept = {form for form in kept if not form.startswith("-----")}  # the first line of every private key
    _met.update(kept)
    return kept


def forget() -> None:
    """Another command begins: what an earlier one in this process has met is not looked for."""
    _met.clear()


def redacted(text: object) -> str:
    """A text without credentials in URLs, without `password=…` and the like, and without secrets that were met."""
    clean = _FLAG_IN_TEXT.sub(lambda flag: flag[1] + MASK if secret_name(flag[2]) else flag[0], replaced(str(text)))
    clean, named = patterns.elsewhere(clean)
    clean = str(without(clean, {value for value in named if len(value) >= SHORTEST}))  # it may stand there twice
    for value in sorted(_met, key=len, reverse=True):
        clean = clean.replace(value, MASK)
    return clean


def excerpt(text: str, longest: int = LONGEST) -> str:
    """The beginning of a text that may be of any length, without secrets: it is cut first, since masking takes time.

    Of a secret that the cut went through, nothing is left.

    >>> excerpt("No room " * 1000, 20)
    'No room No room No …'
    """
    if len(text) <= longest:
        return redacted(text)
    head = redacted(text[:longest])
    before, end = head[:-LONGEST_WORD], head[-LONGEST_WORD:]
    return before + end[: end.rfind(" ") + 1] + "…"


class RedactingStream:
    """A stream for text without secrets, whoever writes to it."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        return int(self._stream.write(redacted(text)))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def without_met(value: Any) -> Any:
    """A copy without anything that was met."""
    return without(value, _met)


def without(value: Any, secrets: Iterable[str]) -> Any:
    """A copy without secrets in any of its texts; `_target_` is code, which no secret is part of."""
    patterns = [
        re.escape(secret) if len(secret) >= 8 else rf"(?<!\w){re.escape(secret)}(?!\w)"
        for secret in sorted(secrets, key=len, reverse=True)
        if len(secret) >= 8 or not secret.isalpha()  # `test`, `basic`, `ollama`: words that a config has anyway
    ]
    return _replaced(value, re.compile("|".join(patterns))) if patterns else value


def _replaced(value: Any, secrets: re.Pattern[str]) -> Any:
    if isinstance(value, Mapping):
        return {k: v if k == "_target_" else _replaced(v, secrets) for k, v in value.items()}
    if isinstance(value, list):
        return [_replaced(v, secrets) for v in value]
    return secrets.sub(MASK, value) if isinstance(value, str) else value
