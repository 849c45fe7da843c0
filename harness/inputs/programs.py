r"""Programs of the user's own that read lines on standard input and write lines on standard output.

A leaf, for every room: a metric and a system can both be a program.

>>> program = Program(["tr", "a-z", "A-Z"], [b"it rains\n"], "shout")
>>> program.lines.get(timeout=60), program.lines.get(timeout=60)
(b'IT RAINS\n', None)
>>> program.end()
''
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import tempfile
from collections import deque
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from queue import Empty
from threading import Condition, Thread
from typing import IO, Any

from harness.inputs import files
from harness.types import HarnessError

ANSWER_MB = 16.0
"""Of one line that a program writes."""


class Lines:
    """The lines that a program has written and nobody has read: so many bytes, then the program waits.

    Empty lines are left out, so that one who waits for an answer is not kept waiting by them.
    """

    def __init__(self, answer_mb: float = ANSWER_MB) -> None:
        self.number = 0
        """Of the line that was read last, empty ones counted."""
        self._megabytes, self._longest = answer_mb, int(answer_mb * 2**20)
        self._changed = Condition()
        self._waiting: deque[tuple[int, bytes]] = deque()
        self._bytes, self._ended = 0, False

    def fill(self, pipe: IO[bytes]) -> None:
        """Reads the pipe to its end, to a line that is too long, or until nobody reads any more."""
        number = 0
        while (line := pipe.readline(self._longest + 1)) and not self._ended:
            number += 1
            if line.isspace() and len(line) <= self._longest:
                continue
            with self._changed:
                self._changed.wait_for(lambda: self._bytes <= self._longest or self._ended)
                self._waiting.append((number, line))
                self._bytes += len(line)
                self._changed.notify_all()
            if len(line) > self._longest:
                break
        self.end()

    def ready(self, timeout: float | None) -> bool:
        """Whether within so many seconds there is a line, or the end of them."""
        with self._changed:
            return bool(self._changed.wait_for(lambda: self._waiting or self._ended, timeout))

    def get(self, timeout: float | None = None) -> bytes | None:
        """The next line, None after the last; `Empty` where there is none within so many seconds."""
        with self._changed:
            if not self.ready(timeout):
                raise Empty
            if not self._waiting:
                return None
            self.number, line = self._waiting.popleft()
            self._bytes -= len(line)
            self._changed.notify_all()
        if len(line) > self._longest:
            shown = line[:100].decode(errors="replace")
            raise HarnessError(
                f"line {self.number} of its standard output is longer than {self._megabytes:g} MB: {shown!r}; "
                "expected one object per line"
            )
        return line

    def end(self) -> None:
        """Nothing more is read."""
        with self._changed:
            self._ended = True
            self._changed.notify_all()


class Program:
    """A running program, with a thread that writes to it and one that reads from it, so that neither side waits for the
    other, however long the lines and whatever it reads before it answers."""

    lines: Lines
    """What it writes on standard output."""

    def __init__(
        self,
        command: Sequence[str],
        lines: Iterable[bytes],
        name: str,
        log: Path | None = None,
        answer_mb: float = ANSWER_MB,
    ) -> None:
        """`lines`: for its standard input, which is closed after the last one. `name`: for messages. `log`: where its
        standard error is appended to. `answer_mb`: of the longest line that it may write."""
        self.errors: IO[bytes] = open(log, "ab+") if log else tempfile.TemporaryFile()  # noqa: SIM115  (a pipe could fill up)
        self.before = self.errors.seek(0, os.SEEK_END)
        pipe = subprocess.PIPE
        unbuffered = {**os.environ, "PYTHONUNBUFFERED": "1"}  # else one in Python keeps its answers to itself
        try:  # in a session of its own, so that what it starts can be ended with it
            self.process = subprocess.Popen(
                command, stdin=pipe, stdout=pipe, stderr=self.errors, env=unbuffered, start_new_session=True
            )
        except (OSError, ValueError) as error:
            self.errors.close()
            raise _no_program(name, command[0], error) from error
        self.said = ""
        self.lines = Lines(answer_mb)
        self.threads = [
            Thread(target=self._write, args=(lines,), daemon=True),
            Thread(target=self._read, daemon=True),
        ]
        for thread in self.threads:
            thread.start()

    def _write(self, lines: Iterable[bytes]) -> None:
        assert self.process.stdin is not None
        with suppress(OSError), self.process.stdin as pipe:  # a program may end before it has read all
            for line in lines:
                pipe.write(line)
                pipe.flush()

    def _read(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as pipe:
            self.lines.fill(pipe)

    def end(self) -> str:
        """Ends what still runs; what the program said on standard error, from its end."""
        if self.errors.closed:
            return self.said
        if self.process.returncode is None:
            with suppress(OSError, AttributeError):  # it has just ended; no groups on Windows
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.kill()
            self.process.wait()
        self.lines.end()
        for thread in self.threads:
            thread.join(5)
        self.errors.seek(max(self.before, self.errors.seek(0, os.SEEK_END) - 2000))
        self.said = self.errors.read().decode(errors="replace").strip()
        self.errors.close()
        return self.said


def parsed(line: bytes, where: str) -> tuple[Any, str]:
    """(the JSON of a line that a program wrote, its beginning for messages)."""
    shown = line[:100].decode(errors="replace").strip()
    try:
        return json.loads(line), shown
    except (ValueError, RecursionError) as error:
        raise HarnessError(
            f"{where} is not JSON ({error}): {shown!r}; expected one object per line on standard output, all else "
            "on standard error"
        ) from None


def parts(command: Sequence[str | int | float], timeout: float | None, name: str) -> list[str]:
    """The command as texts, if there is one and the seconds it is given make sense."""
    if not command:
        raise HarnessError(f"{name} has an empty command; expected [PROGRAM, ARGUMENT, …]")
    if timeout is not None and not 0 < timeout < 1e9:
        raise HarnessError(f"{name} has timeout={timeout}; expected seconds, more than 0, or null for no limit")
    return [str(part) for part in command]


def identity(command: Sequence[str], name: str) -> str:
    """Hash of a command that can be started: its parts and, of those that are files, name and content."""
    if shutil.which(command[0]) is None:
        raise _no_program(name, command[0], "there is none that can be run")
    return content(command)


def content(command: Sequence[str]) -> str:
    """The same hash, of a command that may not be here."""
    return files.digest([_part(part) for part in command])


def _no_program(name: str, program: str, why: object) -> HarnessError:
    return HarnessError(f"{name}: {program!r} cannot be started ({why}); expected a program on the PATH, or its path")


def is_file(part: str) -> bool:
    """Whether a part of a command is a file that can be read."""
    try:
        return Path(part).is_file() and os.access(part, os.R_OK)
    except (OSError, ValueError):  # no name that a file can have, such as a program's text after -c
        return False


def _part(part: str) -> list[str] | str:
    """A part of the command; of a file its name and what it holds, wherever it is."""
    return [Path(part).name, files.file_digest(Path(part))] if is_file(part) else part
