"""Fakes of the seams, for tests of plug-ins and of this package: nothing is generated, downloaded or logged anywhere.

`CannedDataset` holds examples, `CannedSystem` gives outputs known beforehand and counts its calls, `CannedMetric` gives
scores known beforehand, `WordCount` needs no more than outputs, and `MemoryTracker` keeps the runs that it is asked to
log. Each is made in Python, or by a YAML that names it (`_target_: harness.testing.CannedSystem`).

>>> import harness
>>> dataset = CannedDataset([{"id": "a", "source": "one"}, {"id": "b", "source": "one two"}, {"id": "c"}])
>>> system = CannedSystem("{source}, and more", failing=["c"])
>>> outputs = system.generate(list(dataset.examples()))
>>> [output.text or output.error for output in outputs]
['one, and more', 'one two, and more', 'refused']
>>> system.batches[0].ids
('a', 'b', 'c')
>>> texts = [output.text for output in outputs if output.text]
>>> harness.evaluate(texts, [[], []], metrics=[WordCount()], resamples=0).scores["words"].estimate
3.5
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from harness.inputs.files import digest
from harness.inputs.rows import examples_of
from harness.types import Array, Batch, Dataset, Example, HarnessError, Metric, Output, RunResult, System, Tracked

REFUSED = "refused"
"""The error of an example that was told to fail."""


class CannedDataset(Dataset):
    """Examples, or rows as a file would hold them, checked as a file's are.

    >>> list(CannedDataset([{"id": 1, "source": "Hi.", "references": "Hallo.", "domain": "chat"}]).examples())
    [Example(id='1', source='Hi.', references=('Hallo.',), metadata={'domain': 'chat'}, repeat=0)]
    """

    def __init__(
        self, examples: Sequence[Example | Mapping[str, Any]], name: str = "canned", cluster: str | None = None
    ) -> None:
        self.rows = [_row(example) for example in examples]
        self.name, self.cluster = name, cluster
        self.reads = 0
        """How often the examples were asked for."""

    def examples(self) -> Iterator[Example]:
        self.reads += 1
        rows = [(f"{self.name} example {number}", row) for number, row in enumerate(self.rows, start=1)]
        return examples_of(lambda: rows, None, self.cluster)


def _row(example: Example | Mapping[str, Any]) -> dict[str, Any]:
    if isinstance(example, Example):
        return {**example.fields(), "references": list(example.references)}
    return dict(example)


class Call(NamedTuple):
    """What one call of `CannedSystem.generate` was asked for."""

    ids: tuple[str, ...]
    repeats: tuple[int, ...]
    process: int
    """The id of the process that was asked."""

    @property
    def asked(self) -> list[str]:
        """`id` of each output or, of a further one for the same example, `id/repeat`.

        >>> Call(("a", "a"), (0, 1), 42).asked
        ['a', 'a/1']
        """
        return [f"{id_}/{repeat}" if repeat else id_ for id_, repeat in zip(self.ids, self.repeats, strict=True)]


class CannedSystem(System):
    """A system whose outputs are known beforehand, and which remembers what it was asked for.

    `outputs` is a text with the example's fields in braces, a mapping from ids, or a function of the example. Without
    a `revision` its identity is unknown, as of any plug-in without a key. Examples whose ids are in `failing` fail;
    after `raise_after` batches the next one ends the run. Where `calls` names a file, every batch is written there
    too, for tests that have another process (or the command line) make the system: see `read_calls`.

    >>> system = CannedSystem({"a": "yes", "b": "no"}, raise_after=1)
    >>> [output.text for output in system.generate([Example("b", None, ()), Example("a", None, (), repeat=1)])]
    ['no', 'yes']
    >>> system.asked
    ['b', 'a/1']
    >>> system.generate([Example("a", None, ())])
    Traceback (most recent call last):
    harness.types.errors.HarnessError: the system canned was told to stop after 1 batches
    """

    name = "canned"

    def __init__(
        self,
        outputs: str | Mapping[str, str] | Callable[[Example], str] = "{source}",
        failing: Collection[str] = (),
        raise_after: int | None = None,
        revision: str | None = None,
        repeats: int = 1,
        batch_size: int = 64,
        info: Mapping[str, Any] | None = None,
        calls: str | None = None,
        name: str | None = None,
    ) -> None:
        self.outputs, self.failing, self.raise_after, self.revision = outputs, failing, raise_after, revision
        self.repeats, self.batch_size, self.info, self.calls = repeats, batch_size, dict(info or {}), calls
        self.name = name or self.name
        self.batches: list[Call] = []

    @property
    def asked(self) -> list[str]:
        """What all batches were asked for, in order."""
        return [asked for batch in self.batches for asked in batch.asked]

    def key(self) -> str | None:
        if self.revision is None:
            return None
        return digest(["canned", None if callable(self.outputs) else self.outputs, self.revision])

    def generate(self, batch: Sequence[Example]) -> list[Output]:
        self.record(batch)
        if self.raise_after is not None and len(self.batches) > self.raise_after:
            raise HarnessError(f"the system {self.name} was told to stop after {self.raise_after} batches")
        return [self.answer(example) for example in batch]

    def record(self, batch: Sequence[Example]) -> None:
        """Remembers a batch."""
        made = Call(tuple(e.id for e in batch), tuple(e.repeat for e in batch), os.getpid())
        self.batches.append(made)
        if self.calls is not None:
            line = json.dumps(made._asdict()) + "\n"
            file = os.open(self.calls, os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0), 0o644)
            try:
                os.write(file, line.encode())  # at once: processes share the file, and may be killed
            finally:
                os.close(file)

    def answer(self, example: Example) -> Output:
        """The output for one example; a subclass may know better."""
        if example.id in self.failing:
            return Output(None, REFUSED)
        return Output(self._text(example), None, self.info)

    def _text(self, example: Example) -> str:
        if isinstance(self.outputs, str):
            return self.outputs.format_map({**example.fields(), "repeat": example.repeat})
        if callable(self.outputs):
            return self.outputs(example)
        if example.id not in self.outputs:
            raise HarnessError(f"there is no canned output for {example.id!r}; found: {', '.join(self.outputs)}")
        return self.outputs[example.id]


def read_calls(path: str | Path = "calls.txt") -> list[Call]:
    """The batches that systems with `calls=path` were asked for, in order; none where there is no such file."""
    content = Path(path).read_text(encoding="utf-8") if Path(path).exists() else ""
    records = [json.loads(line) for line in content[: content.rfind("\n") + 1].splitlines()]
    return [Call(tuple(record["ids"]), tuple(record["repeats"]), record["process"]) for record in records]


class CannedMetric(Metric):
    """A metric whose value for each example is known beforehand; the score is their mean.

    `scores` maps outputs to values; an output that is not there cannot be scored. Without it an output spells its own
    value. A subclass may override `value`.

    >>> rows = CannedMetric({"good": 1.0, "bad": 0.25}).statistics(Batch(["good", "bad", "odd"], []))
    >>> rows.tolist()
    [[1.0, 1.0], [0.25, 1.0], [nan, nan]]
    >>> CannedMetric().score(CannedMetric().statistics(Batch(["0.5", "1"], [])).sum(0)).tolist()
    [0.75]
    """

    name, columns, score_names = "canned", ("value", "count"), ("canned",)
    averaged = True
    needs_references = False
    scores: Mapping[str, float] | None = None

    def __init__(
        self, scores: Mapping[str, float] | None = None, name: str | None = None, higher_is_better: bool | None = None
    ) -> None:
        if scores is not None:
            self.scores = dict(scores)
        if name is not None:
            self.name, self.score_names = name, (name,)
        if higher_is_better is not None:
            self.higher_is_better = higher_is_better

    def value(self, output: str) -> float:
        """The value of one output, NaN where it has none."""
        return float(output) if self.scores is None else self.scores.get(output, np.nan)

    def statistics(self, batch: Batch) -> Array:
        """Rows (n, 2): the value, and 1."""
        values = np.array([self.value(output) for output in batch.outputs], dtype=np.float64)
        return np.stack([values, np.where(np.isnan(values), np.nan, 1.0)], axis=1)

    def score(self, sums: Array) -> Array:
        """The mean (..., 1) from sums (..., 2)."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return sums[..., :1] / sums[..., 1:]


class WordCount(CannedMetric):
    """The mean number of words in an output.

    >>> WordCount().statistics(Batch(["a b", ""], [])).tolist()
    [[2.0, 1.0], [0.0, 1.0]]
    """

    name, columns, score_names = "words", ("words", "count"), ("words",)

    def value(self, output: str) -> float:
        return float(len(output.split()))


class MemoryTracker:
    """Keeps the runs that it is asked to log, as long as it lives itself.

    >>> import harness
    >>> tracker = MemoryTracker()
    >>> tracker.log(harness.evaluate(["1"], [[]], metrics=[CannedMetric()], resamples=0), group="sweep").where
    'memory'
    >>> tracker.runs[0].scores["canned"].estimate, tracker.groups
    (1.0, ['sweep'])
    """

    def __init__(
        self,
        experiment: str | None = "harness",
        uri: str | None = None,
        subscores: bool = False,
        parents: bool = True,
        traces: int = 0,
        under: str | None = None,
    ) -> None:
        """It takes the options of MLflow's, so that it can stand in for that."""
        self.experiment, self.uri = experiment or "harness", uri or "memory:"
        self.subscores, self.parents, self.traces, self.under = subscores, parents, traces, under
        self.runs: list[RunResult] = []
        self.groups: list[str | None] = []
        """The group of each run."""

    def log(self, run: RunResult, group: str | None) -> Tracked:
        self.runs.append(run)
        self.groups.append(group)
        return Tracked(f"memory-{len(self.runs)}", self.uri, "memory")
