"""Signals that ask a command to end: Ctrl-C, SIGTERM of a scheduler, SIGHUP of a terminal that was closed.

The first of any kind ends the command in good order, as Ctrl-C does everywhere in Python: what is finished stays, the
programs that it started are ended. Ctrl-C after that, or the same signal again, ends it at once.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

ENDING = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


class Asked(KeyboardInterrupt):
    """A signal asked for the end."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


_heard: list[Asked] = []
"""The signals of this command."""


def exit_code(error: KeyboardInterrupt) -> int:
    """As shells have it: 130 after Ctrl-C, 143 after SIGTERM. Compiled code that is interrupted may forget which."""
    known = error if isinstance(error, Asked) else _heard[0] if _heard else None
    return 128 + int(known.number if known is not None else signal.SIGINT)


@contextmanager
def heeded() -> Iterator[list[Asked]]:
    """Each of the signals raises `Asked` in the main thread, once, and is then in the list. One that is ignored, as by
    nohup, stays so."""
    heard = _heard
    heard.clear()
    if threading.current_thread() is not threading.main_thread():
        yield heard
        return

    def end(number: int, frame: object) -> None:
        for other in handlers:  # what comes while things are put in order must not break that off
            signal.signal(other, signal.SIG_DFL if other in (number, signal.SIGINT) else _nothing)
        heard.append(Asked(number))
        raise heard[0]

    handlers: dict[int, Any] = {}
    try:
        for number in ENDING:
            if number == signal.SIGINT or signal.getsignal(number) != signal.SIG_IGN:
                handlers[number] = signal.signal(number, end)
        yield heard
    finally:
        for number, handler in handlers.items():
            if not (heard and number == signal.SIGINT):  # a second Ctrl-C still ends a command that is slow to end
                signal.signal(number, handler)


def _nothing(number: int, frame: object) -> None:
    """A handler, since programs that are started inherit what is ignored."""
