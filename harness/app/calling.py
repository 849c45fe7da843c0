"""The command as it was typed, to be shown where it should be typed again; and Ctrl-C."""

from __future__ import annotations

import shlex
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from harness import masking
from harness.app import secrets

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


@contextmanager
def interruptible() -> Iterator[None]:
    """The first Ctrl-C ends the command in good order, the second at once."""

    def interrupt(number: int, frame: object) -> None:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        if signal.getsignal(signal.SIGINT) is interrupt:
            signal.signal(signal.SIGINT, before)
