"""What commands tell: lines, one JSON document, warnings and tracebacks, without secrets and control characters; and
standard output that remembers its error. Commands print through here or through `harness.report.terminal` only."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, redirect_stdout
from pathlib import Path
from traceback import format_exception
from typing import Any, TextIO

from harness.inputs.visible import visible


class Output:
    """Standard output that remembers its error, so that it can be told from those of files."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.error: OSError | None = None

    def write(self, text: str) -> int:
        try:
            return self._stream.write(text)
        except OSError as error:
            self.error = error
            raise

    def flush(self) -> None:
        try:
            self._stream.flush()
        except OSError as error:
            self.error = error
            raise

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def guarded() -> Iterator[None]:
    """A command's prints go to standard output; where that cannot be written, one message says so and the exit code
    is 1. A reader of a pipe that went away is not an error."""
    output = Output(sys.stdout)
    try:
        with redirect_stdout(output):
            try:
                yield
            finally:
                output.flush()
                if output.error is not None:  # argparse ignores it
                    raise output.error
    except BrokenPipeError:
        _discard()
    except OSError as error:
        if error is not output.error:
            raise
        _discard()
        complain(f"standard output cannot be written ({error.strerror or error})")
        sys.exit(1)


def _discard() -> None:
    """What is left to write goes nowhere, else Python tries again when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextmanager
def reserved(wanted: bool) -> Iterator[None]:
    """Keeps standard output for the JSON document: what a function of the user's own prints goes to standard error."""
    with redirect_stdout(sys.stderr) if wanted else nullcontext():
        yield


def print_json(**fields: Any) -> None:
    import json

    print(json.dumps({"schema": 1, **fields}, indent=2))  # JSON escapes what is not ASCII


def write_text(path: str | Path, text: str, mode: str = "w") -> None:
    """What a command was asked to leave in a file."""
    from harness.types import HarnessError

    try:
        with open(path, mode, encoding="utf-8", newline="\n") as file:
            file.write(text)
    except OSError as error:
        raise HarnessError(f"{path}: {error.strerror or error}; expected a file that can be written") from None


def tell(text: str) -> None:
    """On standard output, at once."""
    print(_shown(text), flush=True)


def complain(message: object) -> str:
    """`harness: MESSAGE` on standard error; returns the message as it stands there."""
    shown = _shown(str(message))
    print(f"harness: {shown}", file=sys.stderr)
    return shown


def show_warnings() -> None:
    """Warnings of all loggers go to standard error, a line each, and so do tracebacks, without secrets."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Formatter("harness: %(message)s"))
    handler.addFilter(_Once())
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    show_tracebacks()


def show_tracebacks() -> None:
    """Of errors that nobody expected, or with --debug."""
    sys.excepthook = lambda *error: print(_shown("".join(format_exception(*error))), end="", file=sys.stderr)


class _Once(logging.Filter):
    """What was told before: cells of a sweep warn of the same data in the same words."""

    def __init__(self) -> None:
        super().__init__()
        self._told: set[str] = set()

    def filter(self, record: logging.LogRecord) -> bool:
        message = record.getMessage()
        new = message not in self._told or record.exc_info is not None
        self._told.add(message)
        return new


class _Formatter(logging.Formatter):
    """Lines of a log, tracebacks included."""

    def format(self, record: logging.LogRecord) -> str:
        return _shown(super().format(record))


def _shown(text: str) -> str:
    from harness.masking import redacted

    return visible(redacted(text))
