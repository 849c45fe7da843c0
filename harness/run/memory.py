"""Evaluation of outputs in memory: columns in, a result out, no files and no tracking."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.inputs import files
from harness.run.reading import dataset_key
from harness.run.scoring import Answers, Scorer, Subject, score
from harness.stats.options import Options
from harness.types import Example, HarnessError, Metric, Output, RunResult

CLUSTER, STRATUM = "cluster", "stratum"
"""The metadata fields that clusters and strata are kept in."""


@dataclass(frozen=True)
class Columns:
    """Outputs and what belongs to each, one item for each example."""

    outputs: Sequence[str]
    references: Sequence[Sequence[str] | str]
    sources: Sequence[str | None] | None = None
    ids: Sequence[str] | None = None
    clusters: Sequence[Any] | None = None
    strata: Sequence[Any] | None = None

    def check(self) -> None:
        """Refuses columns of different lengths, a string for a list, and an id that occurs twice."""
        if isinstance(self.outputs, str) or isinstance(self.references, str):
            raise HarnessError("outputs or references is a string; expected a list, one item for each example")
        n = len(self.outputs)
        if n == 0:
            raise HarnessError("outputs is empty; expected at least one")
        for name in ("references", "sources", "ids", "clusters", "strata"):
            column = getattr(self, name)
            if column is not None and len(column) != n:
                raise HarnessError(f"{name} has {len(column)} items; expected {n}, one for each output")
        if self.ids is not None and len(set(map(str, self.ids))) != n:
            raise HarnessError("ids holds the same id twice; expected unique ids")

    def examples(self) -> list[Example]:
        n = len(self.outputs)
        ids = [str(i) for i in (self.ids if self.ids is not None else range(1, n + 1))]
        return [Example(ids[i], self._source(i), self._references(i), self._metadata(i)) for i in range(n)]

    def answers(self) -> list[Output]:
        return [Output(files.text(text, f"outputs[{i}]", "output")) for i, text in enumerate(self.outputs)]

    def _metadata(self, i: int) -> dict[str, Any]:
        fields = {CLUSTER: self.clusters, STRATUM: self.strata}
        return {name: column[i] for name, column in fields.items() if column is not None}

    def _source(self, i: int) -> str | None:
        source = None if self.sources is None else self.sources[i]
        return None if source is None else files.text(source, f"sources[{i}]", "source")

    def _references(self, i: int) -> tuple[str, ...]:
        column = self.references[i]
        references = [column] if isinstance(column, str) else [] if column is None else column
        return tuple(files.text(text, f"references[{i}]", "reference") for text in references if text is not None)


def evaluate(columns: Columns, metrics: Mapping[str, Metric], options: Options, name: str = "outputs") -> RunResult:
    """The result of outputs that are in memory."""
    columns.check()
    examples = columns.examples()
    return evaluate_examples(
        Answers.of(examples, columns.answers()), metrics, options, name, None if columns.clusters is None else CLUSTER
    )


def evaluate_examples(
    answers: Answers, metrics: Mapping[str, Metric], options: Options, name: str, cluster: str | None
) -> RunResult:
    """The result of examples with their outputs, those that failed among them."""
    subject = Subject(name, "memory", dataset_key(answers.rows), name, cluster)
    return score(subject, answers, Scorer.fit(metrics, answers.rows, answers.rows), options)
