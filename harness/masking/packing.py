"""Secrets looked for once more before files leave the machine: in what has fields and in plain texts alike."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

from harness.masking import patterns
from harness.masking.names import secret_name
from harness.masking.patterns import MASK
from harness.masking.walk import masked

SHORTEST = 8
"""Values of the environment that are looked for in texts; shorter ones are words."""


def of_environment() -> dict[str, str]:
    """The variables of the environment that are named like secrets, with their values."""
    return {
        name: value
        for name, value in os.environ.items()
        if secret_name(name) and len(value) >= SHORTEST and not os.path.exists(value)
    }


def in_document(document: Any) -> Iterator[str]:
    """The places in JSON that hold a secret."""
    return _changed(document, masked(document), "")


def _changed(before: Any, after: Any, at: str) -> Iterator[str]:
    if isinstance(before, dict) and isinstance(after, dict):
        for name, value in before.items():
            yield from _changed(value, after.get(name), f"{at}.{name}" if at else str(name))
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for i, (value, other) in enumerate(zip(before, after, strict=True)):
            yield from _changed(value, other, f"{at}.{i}")
    elif before != after:
        yield at


def in_text(text: str, held: dict[str, str]) -> bool:
    """Whether a text holds a token of a service, a private key, credentials of a URL or what a variable of the
    environment holds that is named like a secret.

    >>> in_text("The token of the day is ghp_0123456789abcdefghij.", {}), in_text("The password is short.", {})
    (True, False)
    """
    if any(value in text for value in held.values()):
        return True
    clean, _ = patterns.value(text)
    return clean != text and clean.count(MASK) > text.count(MASK)


def in_lines(content: bytes, held: dict[str, str]) -> Iterator[int]:
    """The numbers of lines of JSON that hold a secret."""
    for number, line in enumerate(content.decode("utf-8", "replace").splitlines(), start=1):
        try:
            values = list(_texts(json.loads(line)))
        except (ValueError, RecursionError):
            values = [line]
        if any(in_text(value, held) for value in values):
            yield number


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for inner in value.values():
            yield from _texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)
    elif isinstance(value, str):
        yield value
