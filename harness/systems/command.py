r"""`system=command 'system.command=[python,translate.py]'`: a system that is any program, in any language.

The program is started once and kept. It reads a line of JSON for each example, {"id", "source", metadata by name} and
`repeat` where `repeats` is more than 1, and writes {"id", "output"} or {"id", "error"}, in any order; an object `info`
and a list `contexts`, what it retrieved, beside the output are kept. With `batch` a line holds a list of examples. Its
standard error goes to stderr.log in the run folder.

Where it ends, says nothing for `timeout` seconds, writes a line that is longer than `answer_mb`, or something that is
not an answer, it is ended and started again, and what it had not answered is asked again one by one: an example that
breaks it alone has failed, and the others have not. A program that breaks five times in a row without an answer ends
the run; earlier batches are kept.

What it will answer cannot be known from its text, so outputs are reused within the run folder only, as long as the
command and those of its arguments that are files are the same. `revision` states that these and it decide the outputs.

>>> import sys
>>> program = "import sys\nfor line in sys.stdin: print(line.replace('source', 'output'))"
>>> system = Command([sys.executable, "-c", program])
>>> system.generate([Example("1", "it rains", ())])[0].text
'it rains'
>>> system.close()
"""

from __future__ import annotations

import json
import logging
import subprocess
import weakref
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

from harness.inputs import files, programs
from harness.types import Example, HarnessError, Output, System

VERSION = 1
MOST = 5
"""Starts in a row without an answer."""
MOST_MB = 1024
LOG = "stderr.log"
GRACE = 10.0
"""Seconds for a program to end after its standard input was closed."""
PATIENCE = 30.0
"""Seconds without any answer yet, after which a warning says what may keep a program from answering."""

log = logging.getLogger(__name__)


class Command(System):
    incidental = ("timeout", "answer_mb")

    def __init__(
        self,
        command: Sequence[str | int | float],
        name: str | None = None,
        timeout: float | None = 600,
        answer_mb: float = programs.ANSWER_MB,
        batch: bool = False,
        batch_size: int = 16,
        repeats: int = 1,
        revision: str | None = None,
    ) -> None:
        """`timeout`: the seconds that may pass without an answer; `answer_mb`: of the longest line that it writes."""
        self.command, self.timeout = programs.parts(command, timeout, "system.command"), timeout
        named = [part for part in self.command[1:] if programs.is_file(part)]
        self.name = name or Path([*named, self.command[0]][0]).stem
        self.batch, self.batch_size, self.repeats, self.revision = batch, batch_size, repeats, revision
        if batch_size < 1 or repeats < 1:
            raise HarnessError("system.batch_size and system.repeats: expected at least 1")
        if not 0 < answer_mb <= MOST_MB:
            raise HarnessError(f"system.answer_mb={answer_mb}; expected more than 0 and at most {MOST_MB}")
        self.answer_mb = answer_mb
        self._running: _Kept | None = None
        self._silent, self._broke = 0, ""
        self._warned = False

    @cached_property
    def _identity(self) -> str:
        return programs.identity(self.command, self.name)

    def key(self) -> str | None:
        together = self.batch_size if self.batch else None
        return None if self.revision is None else files.digest(["command", VERSION, together, self.revision])

    def seen(self, example: Example) -> Any:
        """With the command and the text of its files: another text may be another system."""
        return [super().seen(example), self._identity]

    def plan(self, examples: Sequence[Example]) -> list[list[int]]:
        """No id twice in a batch, so that answers are known by it."""
        batches = []
        for repeat in sorted({example.repeat for example in examples}):
            those = [i for i, example in enumerate(examples) if example.repeat == repeat]
            batches += [[those[i] for i in part] for part in super().plan([examples[i] for i in those])]
        return batches

    def generate(self, batch: Sequence[Example]) -> list[Output]:
        outputs, why = self._ask(batch)
        for example in batch:
            if example.id not in outputs:
                alone, reason = self._ask([example]) if len(batch) > 1 else (outputs, why)
                outputs[example.id] = alone.get(example.id) or Output(None, reason)
        return [outputs[example.id] for example in batch]

    def _ask(self, examples: Sequence[Example]) -> tuple[dict[str, Output], str]:
        """(answers by id, why some are missing)."""
        running = self._running = self._running or self._start()
        asked = [e.fields() | ({"repeat": e.repeat} if self.repeats > 1 else {}) for e in examples]
        for request in [asked] if self.batch else asked:
            running.inbox.put(json.dumps(request, default=str).encode() + b"\n")
        open_ = {example.id for example in examples}
        outputs: dict[str, Output] = {}
        try:
            while open_:
                line = running.next(self.timeout, None if self._warned else self._warn)
                id_, output = _answer(line, f"line {running.lines.number} of its standard output", open_)
                outputs[id_] = output
                open_.remove(id_)
                self._silent, self._warned = 0, True  # one that has answered is slow, not waiting
        except HarnessError as error:
            said = self._stop().splitlines()
            log = f" (all of it in {self.folder / LOG})" if self.folder else ""
            self._broke = f"{error}. The end of its standard error: {said[-1][:500] if said else 'empty'}{log}"
        except BaseException:  # Ctrl-C
            self._stop()
            raise
        return outputs, self._broke

    def _warn(self) -> None:
        self._warned = True
        log.warning(
            "%s has answered nothing for %g seconds; unless it is still loading, it waits for the end of its input, or "
            "keeps its answers back: expected a program that reads line by line and flushes each answer "
            "(jq --unbuffered, sed -u)",
            self.name,
            PATIENCE,
        )

    def _start(self) -> _Kept:
        if self._silent == MOST:
            raise HarnessError(
                f"{self.name}: {self.command[0]} was started {MOST} times without a single answer, the last time: "
                f"{self._broke}; expected a line of JSON for each line that it reads"
            )
        self._silent += 1
        running = _Kept(self.command, self.name, self.folder and self.folder / LOG, self.answer_mb)
        self._end = weakref.finalize(self, running.end)  # also where nobody closes it
        return running

    def _stop(self) -> str:
        self._running = None
        return self._end() or ""

    def close(self) -> None:
        if self._running is not None:
            self._running.finish()
            self._stop()


class _Kept(programs.Program):
    """A program that is asked again and again."""

    def __init__(self, command: Sequence[str], name: str, log: Path | None, answer_mb: float) -> None:
        self.inbox: SimpleQueue[bytes | None] = SimpleQueue()
        super().__init__(command, iter(self.inbox.get, None), name, log, answer_mb)

    def next(self, timeout: float | None, silent: Callable[[], None] | None = None) -> bytes:
        """The next line that it writes; `silent` is called where there is none for a while."""
        left = timeout
        if silent is not None and (timeout is None or timeout > PATIENCE):
            if not self.lines.ready(PATIENCE):
                silent()
            left = None if timeout is None else timeout - PATIENCE
        try:
            line = self.lines.get(left)
        except Empty:
            raise HarnessError(f"no answer within timeout={timeout} seconds (does it flush each line?)") from None
        if line is not None:
            return line
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(GRACE)
        code = self.process.returncode
        raise HarnessError("it closed its standard output" if code is None else f"it ended with code {code}")

    def finish(self) -> None:
        """Closes its standard input and lets it end by itself."""
        self.inbox.put(None)
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(GRACE)

    def end(self) -> str:
        self.inbox.put(None)
        return super().end()


def _answer(line: bytes, where: str, asked: Collection[str]) -> tuple[str, Output]:
    """(id, output) of a line that the program wrote."""
    fields, shown = programs.parsed(line, where)
    id_ = str(fields.get("id")) if isinstance(fields, dict) else ""
    if id_ not in asked:
        raise HarnessError(
            f'{where} is {shown!r}; expected {{"id": …, "output": …}} with the id of an example that it has read and '
            f"not answered yet: {files.some(sorted(asked))}"
        )
    text, error, info = fields.get("output"), fields.get("error"), fields.get("info")
    info, contexts = info if isinstance(info, dict) else {}, fields.get("contexts")
    if isinstance(text, str) and error is None:
        return id_, Output(text, None, info, contexts)
    if error is None:
        error = f'the answer is {shown!r}; expected a text as "output", or an "error"'
    return id_, Output(None, str(error), contexts=contexts)
