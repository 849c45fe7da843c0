"""Evaluation of outputs in memory: columns in, a result out, no files and no tracking."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import chain
from typing import Any

import numpy as np

from harness.inputs import files
from harness.run.answers import Answers
from harness.run.reading import content_of
from harness.run.saving import InMemoryRun
from harness.run.scoring import References, Scorer, Subject, score
from harness.run.sinks import InMemory
from harness.stats.options import Options
from harness.types import (
    PASSAGES,
    ContextFault,
    Contexts,
    Examples,
    HarnessError,
    Metric,
    Outputs,
    RunResult,
    TextLists,
    Texts,
)
from harness.types.shown import counted
from harness.types.texts import starts_of

CLUSTER, STRATUM = "cluster", "stratum"
"""The metadata fields that clusters and strata are kept in."""


@dataclass(frozen=True)
class Columns:
    """Outputs and what belongs to each, one item for each example."""

    outputs: Sequence[str]
    references: Sequence[Sequence[str] | str] | None = None
    sources: Sequence[str | None] | None = None
    ids: Sequence[str | int] | None = None
    clusters: Sequence[Any] | None = None
    strata: Sequence[Any] | None = None
    contexts: Sequence[Any] | None = None
    reference_contexts: Sequence[Any] | None = None
    relevant: Sequence[Any] | None = None

    def check(self) -> None:
        """Refuses columns of different lengths, a string for a list, and an id that occurs twice."""
        for field in fields(self):
            if isinstance(getattr(self, field.name), str):
                raise HarnessError(f"{field.name} is a string; expected a list, one item for each example")
        if self.outputs is None:
            raise HarnessError("outputs is None; expected a list, one item for each example")
        n = len(self.outputs)
        if n == 0:
            raise HarnessError("outputs is empty; expected at least one")
        for name in ("references", "sources", "ids", "clusters", "strata", *PASSAGES):
            column = getattr(self, name)
            if column is not None and len(column) != n:
                raise HarnessError(f"{name} has {counted(len(column), 'item')}; expected {n}, one for each output")
        if self.ids is not None and len(set(map(str, self.ids))) != n:
            raise HarnessError("ids holds the same id twice; expected unique ids")

    def rows(self) -> Examples:
        """The examples. What is right becomes columns at once; what is odd is looked at one by one."""
        n = len(self.outputs)
        ids = numbered(n) if self.ids is None else self._ids(self.ids)
        groups = {CLUSTER: self.clusters, STRATUM: self.strata}
        metadata = {name: list(column) for name, column in groups.items() if column is not None}
        judged = {name: self._passages(name) for name in PASSAGES if name != "contexts"}
        return Examples(ids, self._sources(), self._all_references(), metadata, **judged)

    def answers(self) -> Outputs:
        """With their contexts: another system would have retrieved others."""
        texts = _column(self.outputs) or Texts.of(
            [
                files.text(None if files.absent(text) else text, f"outputs[{i}]", "output")
                for i, text in enumerate(self.outputs)
            ]
        )
        return replace(Outputs.of_texts(texts), contexts=self._passages("contexts"))

    def _ids(self, ids: Sequence[Any]) -> Texts:
        if "" not in ids and (texts := _column(ids)) is not None:
            return texts
        plain = (id.item() if isinstance(id, np.generic) else id for id in ids)
        return Texts.of([files.identifier(id, f"ids[{i}]", "id") for i, id in enumerate(plain)])

    def _passages(self, name: str) -> Any:
        column = getattr(self, name)
        if column is None:
            return None
        of = Contexts.of_grades if name == "relevant" else Contexts.of
        try:
            return of(column)
        except ContextFault:
            pass
        for i, value in enumerate(column):  # which of them it is
            try:
                of([value])
            except ContextFault as fault:
                raise HarnessError(f"{name}[{i}]: {fault.of(name)}") from None
        return None

    def _sources(self) -> Texts:
        if self.sources is None:
            return Texts.nulls(len(self.outputs))
        return _column(self.sources) or Texts.of(
            [
                None if files.absent(source) else files.text(source, f"sources[{i}]", "source")
                for i, source in enumerate(self.sources)
            ]
        )

    def _all_references(self) -> TextLists:
        if self.references is None:
            return TextLists.of([()] * len(self.outputs))
        kinds = set(map(type, self.references))
        if kinds <= {str}:
            texts, lengths = _column(self.references), np.ones(len(self.references), np.int64)
        elif kinds <= {list, tuple}:
            texts = _column(list(chain.from_iterable(self.references)))
            lengths = np.fromiter(map(len, self.references), np.int64, len(self.references))
        else:
            texts = None
        if texts is not None:
            return TextLists(texts, starts_of(lengths))
        return TextLists.of([self._references(i, given) for i, given in enumerate(self.references)])

    def _references(self, i: int, given: Any) -> tuple[str, ...]:
        references = [given] if isinstance(given, str) else [] if files.absent(given) else given
        if isinstance(references, Mapping) or not isinstance(references, Iterable):
            raise HarnessError(
                f"references[{i}] is {type(given).__name__} {given!r}; expected a list of strings, or one"
            )
        return tuple(files.text(text, f"references[{i}]", "reference") for text in references if not files.absent(text))


def numbered(n: int) -> Texts:
    """The numbers from 1 to n, those with as many digits at once.

    >>> list(numbered(11))
    ['1', '2', '3', '4', '5', '6', '7', '8', '9', '10', '11']
    """
    parts, lengths = [b""], [np.empty(0, np.int64)]
    for digits in range(1, len(str(n)) + 1):
        numbers = np.arange(10 ** (digits - 1), min(10**digits, n + 1))
        written = np.empty((len(numbers), digits), np.uint8)
        for place in range(digits):  # by one number at a time: NumPy divides by that many times as fast
            written[:, place] = numbers // 10 ** (digits - 1 - place) % 10 + ord("0")
        parts.append(written.tobytes())
        lengths.append(np.full(len(numbers), digits))
    return Texts.of_bytes(b"".join(parts), starts_of(np.concatenate(lengths)))


def _column(texts: Sequence[Any]) -> Texts | None:
    """As a column; None where one of them is no text that can be stored."""
    if not set(map(type, texts)) <= {str}:
        return None
    try:
        column = Texts.of(texts)
    except UnicodeEncodeError:
        return None
    return column if column.utf8[0].all() else None  # no NUL


def evaluate(columns: Columns, metrics: Mapping[str, Metric], options: Options, name: str = "outputs") -> RunResult:
    """The result of outputs that are in memory."""
    columns.check()
    answers = Answers.of(columns.rows(), columns.answers())
    return evaluate_examples(answers, metrics, options, name, None if columns.clusters is None else CLUSTER)


def evaluate_examples(
    answers: Answers, metrics: Mapping[str, Metric], options: Options, name: str, cluster: str | None
) -> RunResult:
    """The result of examples with their outputs, those that failed among them."""
    subject = Subject(name, "memory", content_of(answers.rows).key, name, cluster)
    references = References(answers.rows.blocks)
    scorer = Scorer.fit(metrics, references, references)
    result = score(subject, answers, scorer, options, InMemory(scorer, answers))
    return replace(result, keep=InMemoryRun(answers, metrics, options, name, cluster))
