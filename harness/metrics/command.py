r"""`metrics=command 'metrics.command.command=[python,judge.py]'`: a metric that is any program.

The program is started once. For each output it reads a line of JSON {"output", "references", "source"} and writes one,
in the same order: {"score": 0.3}, or {"score": null} where there is none; with the option `scores` {"scores": {NAME:
0.3, …}}. It may answer line by line or after the last one. The score of a run is the mean.

A score is defined by the command, by the bytes of those of its arguments that are files, and by the `revision` that the
user states for anything else: a model, a prompt. Stored rows are scored without the program.

>>> import sys
>>> program = "import json, sys\nfor line in sys.stdin: print(json.dumps({'score': len(json.loads(line)['output'])}))"
>>> metric = CommandMetric([sys.executable, "-c", program], name="characters", needs_references=False)
>>> rows = metric.statistics(Batch(["ab", "abcd"], []))
>>> metric.score_names, metric.score(rows.sum(0)).tolist()
(('characters',), [3.0])
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from queue import Empty

import numpy as np

from harness.inputs import programs
from harness.inputs.programs import Program
from harness.metrics.python import USER, UserMetric, number
from harness.types import Array, Batch, HarnessError
from harness.types.shown import counted


class CommandMetric(UserMetric):
    plain = (*USER, "timeout")

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
        self.command, self.timeout = programs.parts(command, timeout, name), timeout
        self._several = scores is not None

    def definition(self) -> dict[str, str]:
        stated = {"revision": self.revision} if self.revision is not None else {}
        return {"command": programs.identity(self.command, self.name)[:8], **stated}

    def statistics(self, batch: Batch) -> Array:
        if not len(batch):
            return np.empty((0, len(self.columns)))
        texts = zip(batch.outputs, batch.references, batch.sources, strict=True)
        program = Program(self.command, (_line(*example) for example in texts), self.name)
        values = []
        try:
            for i, line in enumerate(_answers(program, len(batch), self.timeout), start=1):
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
        answer, shown = programs.parsed(line, where)
        fields = answer if isinstance(answer, dict) else {}
        if "score" in fields and (not self._several or fields["score"] is None):
            return [number(fields["score"], where)] * len(self.score_names)
        scores = fields.get("scores")
        if not self._several or not isinstance(scores, Mapping) or not set(self.score_names) <= scores.keys():
            names = ", ".join(f'"{name}": NUMBER' for name in self.score_names)
            expected = f'{{"scores": {{{names}}}}}' if self._several else '{"score": NUMBER}'
            raise HarnessError(f'{where} is {shown!r}; expected {expected}, or {{"score": null}} where there is none')
        return [number(scores[name], f"{where}, {name},") for name in self.score_names]


def _line(output: str, references: Sequence[str], source: str | None) -> bytes:
    return json.dumps({"output": output, "references": list(references), "source": source}).encode() + b"\n"


def _answers(program: Program, n: int, timeout: float | None) -> Iterator[bytes]:
    """n lines, and then the program's good end."""
    answers = 0
    try:
        while (line := program.lines.get(timeout=timeout)) is not None:
            if line.isspace():
                continue
            answers += 1
            if answers > n:
                raise HarnessError(
                    f"{line[:100].decode(errors='replace')!r} after {counted(n, 'answer')}; expected {n}, one per line"
                )
            yield line
        code = program.process.wait(timeout)
    except (Empty, subprocess.TimeoutExpired):
        awaited = f"answer to line {answers + 1} of {n}" if answers < n else f"end after the answer to line {n}"
        raise HarnessError(f"no {awaited} within timeout={timeout} seconds; expected one") from None
    if code or answers < n:
        raise HarnessError(
            f"the program ended with code {code} after {counted(answers, 'answer')}; expected code 0 after {n}"
        )
