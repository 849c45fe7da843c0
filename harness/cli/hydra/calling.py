"""The command as it was typed, to be shown where it should be typed again."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

from harness import masking
from harness.cli.hydra import secrets

program: list[str] = []
typed: list[str] = []
"""Program, and what came after it."""


def begin(words: list[str]) -> None:
    """Keeps what was typed, and secrets out of what is told."""
    program[:] = ["python", "-m", "harness"] if Path(sys.argv[0]).name == "__main__.py" else ["harness"]
    typed[:] = words
    masking.forget()
    secrets.keep()


def command() -> str:
    """The command as it was typed, quoted for a shell; secrets are masked, as everywhere."""
    words = []
    for word in typed:
        name, equals, value = word.partition("=")
        words.append(f"{name}={masking.masked({name.rpartition('.')[2]: value}).popitem()[1]}" if equals else word)
    return masking.redacted(shlex.join([*program, *words])) if words else "the same command"
