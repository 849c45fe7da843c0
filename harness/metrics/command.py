r"""`metrics=command 'metrics.command.command=[python,judge.py]'`: a metric that is any program.

The program is started once. For each output it reads a line of JSON {"output", "references", "source"} and writes one,
in the same order: {"score": 0.3}, or {"score": null} where there is none; with the option `scores` {"scores": {NAME:
0.3, …}}. It may answer line by line or after the last one. The score of a run is the mean.

A score is defined by the command, by the bytes of those of its arguments that are files, and by the `revision` that the
user states for anything else: a model, a prompt. Stored rows are scored without the program.

>>> import sys
>>> program = "import json, sys\nfor line in sys.stdin: print(json.dumps({'score': len(json.loads(line)['output'])}))"
>>> metric = CommandMetric([sys.executable, "-c", program], name="characters", needs_references=False)
>>> rows = metric.statistics(["ab", "abcd"], [[], []], [None, None])
>>> metric.score_names, metric.score(rows.sum(0)).tolist()
(('characters',), [3.0])
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain, repeat
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread

import numpy as np

from harness import files
from harness.metrics.python import UserMetric, number
from harness.types import Array, HarnessError


class CommandMetric(UserMetric):
    def __init__(
        self,
        command: Sequence[str | int | float],
        name: str = "command",
        scores: Sequence[str] | None = None,
        timeout: float | None = 3600,
        higher_is_better: bool = True,
        needs_references: bool = True,
        revision: str | None = None,
    ) -> None:
        """`timeout`: the seconds that may pass without an answer."""
        super().__init__(name, scores, None, higher_is_better, needs_references, revision)
        self.command, self.timeout = [str(part) for part in command], timeout
        self._several = scores is not None
        if not self.command:
            raise HarnessError(f"{name} has an empty command; expected [PROGRAM, ARGUMENT, …]")
        if timeout is not None and not 0 < timeout < 1e9:
            raise HarnessError(f"{name} has timeout={timeout}; expected seconds, more than 0, or null for no limit")

    def definition(self) -> dict[str, str]:
        if shutil.which(self.command[0]) is None:
            raise _no_program(self.name, self.command[0], "there is none that can be run")
        stated = {"revision": self.revision} if self.revision is not None else {}
        return {"command": files.digest([_identity(part) for part in self.command])[:8], **stated}

    def statistics(
        self, outputs: Sequence[str], references: Sequence[Sequence[str]], sources: Sequence[str | None]
    ) -> Array:
        if not outputs:
            return np.empty((0, len(self.columns)))
        texts = zip(outputs, references, chain(sources, repeat(None)), strict=False)
        program = _Program(self.command, (_line(*one) for one in texts), self.name)
        values = []
        try:
            for i, line in enumerate(program.answers(len(outputs), self.timeout), start=1):
                values.append(self._read(line, f"the answer to line {i}"))
                self.advance(1)
        except HarnessError as error:
            said = program.end()
            raise HarnessError(
                f"{self.name}: {error}. Standard error of {self.command[0]}: {said or 'empty'}"
            ) from None
        finally:  # also after Ctrl-C
            program.end()
        return self.rows_of(values)

    def _read(self, line: bytes, where: str) -> list[float]:
        """The scores that a line of the program's holds."""
        shown = line[:100].decode(errors="replace").strip()
        try:
            answer = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise HarnessError(
                f"{where} is not JSON ({error}): {shown!r}; expected an object a line on standard output, all else on "
                "standard error"
            ) from None
        found = answer if isinstance(answer, dict) else {}
        if "score" in found and (not self._several or found["score"] is None):
            return [number(found["score"], where)] * len(self.score_names)
        scores = found.get("scores")
        if not self._several or not isinstance(scores, Mapping) or not set(self.score_names) <= scores.keys():
            names = ", ".join(f'"{name}": NUMBER' for name in self.score_names)
            expected = f'{{"scores": {{{names}}}}}' if self._several else '{"score": NUMBER}'
            raise HarnessError(f'{where} is {shown!r}; expected {expected}, or {{"score": null}} where there is none')
        return [number(scores[name], f"{where}, {name},") for name in self.score_names]


def _line(output: str, references: Sequence[str], source: str | None) -> bytes:
    return json.dumps({"output": output, "references": list(references), "source": source}).encode() + b"\n"


def _no_program(name: str, program: str, why: object) -> HarnessError:
    return HarnessError(f"{name}: {program!r} cannot be started ({why}); expected a program on the PATH, or its path")


def _identity(part: str) -> list[str] | str:
    """A part of the command; of a file its name and what it holds, wherever it is."""
    try:
        return [Path(part).name, files.file_digest(Path(part))] if Path(part).is_file() else part
    except (OSError, ValueError):  # not to be read, or no name that a file can have
        return part


class _Program:
    """A running program, with a thread that writes to it and one that reads from it, so that neither side waits for the
    other, however long the lines and whatever it reads before it answers."""

    def __init__(self, command: Sequence[str], lines: Iterable[bytes], name: str) -> None:
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115  (open as long as the process; a pipe could fill up)
        pipe = subprocess.PIPE
        try:  # in a session of its own, so that what it starts can be ended with it
            self.process = subprocess.Popen(
                command, stdin=pipe, stdout=pipe, stderr=self.errors, start_new_session=True
            )
        except (OSError, ValueError) as error:
            self.errors.close()
            raise _no_program(name, command[0], error) from error
        self.said = ""
        self.lines: SimpleQueue[bytes | None] = SimpleQueue()
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
            for line in pipe:
                self.lines.put(line)
        self.lines.put(None)

    def answers(self, n: int, timeout: float | None) -> Iterator[bytes]:
        """n lines, and then the program's good end."""
        given = 0
        try:
            while (line := self.lines.get(timeout=timeout)) is not None:
                if line.isspace():
                    continue
                given += 1
                if given > n:
                    raise HarnessError(
                        f"{line[:100].decode(errors='replace')!r} after {n} answers; expected {n}, one a line"
                    )
                yield line
            code = self.process.wait(timeout)
        except (Empty, subprocess.TimeoutExpired):
            what = f"answer to line {given + 1} of {n}" if given < n else f"end after the answer to line {n}"
            raise HarnessError(f"no {what} within timeout={timeout} seconds; expected one") from None
        if code or given < n:
            raise HarnessError(f"the program ended with code {code} after {given} answers; expected code 0 after {n}")

    def end(self) -> str:
        """Ends what still runs; what the program said on standard error, from its end."""
        if self.errors.closed:
            return self.said
        if self.process.returncode is None:
            with suppress(OSError, AttributeError):  # it has just ended; no groups on Windows
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.kill()
            self.process.wait()
        for thread in self.threads:
            thread.join(5)
        self.errors.seek(max(0, self.errors.seek(0, os.SEEK_END) - 2000))
        self.said = self.errors.read().decode(errors="replace").strip()
        self.errors.close()
        return self.said
