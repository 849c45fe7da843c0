"""Scores from outputs: metrics are fitted, rows computed, scores estimated and the result made here and nowhere else.

A run, `harness.evaluate`, a training callback, scoring a stored run again and stopping early all come here with the
same records: `Scorer`, the metrics for a data set; `Answers`, what a system gave for its examples; `Subject`, what the
result is of.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from harness.inputs import files
from harness.inputs.plugins import source
from harness.postprocess import Postprocess
from harness.report.terminal.progress import silent
from harness.run.health import health
from harness.stats.estimation import estimate
from harness.stats.options import Options
from harness.store.example_table import examples_table, metadata_name
from harness.store.folder import StoredRows
from harness.types import (
    Array,
    Example,
    HarnessError,
    Lists,
    Metric,
    Output,
    Progress,
    Rows,
    RunResult,
    Signature,
    Statistics,
)

LONGEST = 10_000_000
"""Characters of an output; a megabyte is a novel, and beyond this it is nobody's answer."""


@dataclass(frozen=True)
class Answers:
    """A system's outputs for the rows of a data set, before and after postprocessing."""

    rows: Sequence[Example]
    raw: Sequence[Output]
    processed: Sequence[Output]

    @classmethod
    def of(cls, rows: Sequence[Example], raw: Sequence[Output], postprocess: Postprocess | None = None) -> Answers:
        if postprocess is None:
            return cls(rows, raw, [_bounded(output) for output in raw])
        return cls(rows, raw, [output if output.text is None else _bounded(postprocess(output.text)) for output in raw])

    @property
    def failed(self) -> list[int]:
        return [i for i, output in enumerate(self.processed) if output.error is not None]

    @property
    def finish(self) -> list[str | None]:
        """How each output ended, where the system says so."""
        return [output.info.get("finish") for output in self.raw]


@dataclass(frozen=True)
class Subject:
    """What a result is of: names, the data's key, and its place on disk if it has one."""

    name: str
    dataset: str
    dataset_key: str
    system: str
    cluster: str | None = None
    path: Path | None = None


@dataclass(frozen=True)
class Scorer:
    """The metrics for one data set, each fitted to it and signed: both happen once per run."""

    metrics: Mapping[str, Metric]
    signatures: Mapping[str, Signature]

    @classmethod
    def fit(cls, metrics: Mapping[str, Metric], examples: Sequence[Example], rows: Sequence[Example]) -> Scorer:
        """Fitted to all of the data set's references, those of outputs that fail too; signed for the references that
        the rows are scored against, which may be fewer (`system=human`).

        A signature needs the tokenizer or the model: that one is missing is said here, not after hours of generation.
        """
        _check_references(metrics, examples)
        references = [example.references for example in examples]
        fitted = {name: metric.fit(references) for name, metric in metrics.items()}
        scored = [row.references for row in rows]
        return cls(fitted, {name: metric.signature(scored) for name, metric in fitted.items()})

    def identity(self, name: str) -> list[Any]:
        """What decides a metric's rows beside the texts."""
        metric, definition = self.metrics[name], dict(self.signatures[name].definition)
        return [source(metric), metric.version, (*metric.columns, *metric.lists), definition, metric.context]

    def statistics(
        self, answers: Answers, reusable: Mapping[str, StoredRows], progress: Progress
    ) -> dict[str, Statistics]:
        """Rows of every metric, those in `reusable` (by key) taken from there; NaN for examples that failed."""
        content = _content(answers)
        statistics: dict[str, Statistics] = {}
        for name, metric in self.metrics.items():
            signature, key = self.signatures[name], files.digest([content, self.identity(name)])
            if key in reusable:
                signature = Signature(signature.definition, reusable[key].provenance)
                rows = reusable[key].rows
            else:
                rows = self.rows(name, answers, progress)
            statistics[name] = Statistics.of(metric, rows.values, signature, key, rows.lists)
        return statistics

    def rows(self, name: str, answers: Answers, progress: Progress) -> Rows:
        """One metric's of all n examples; NaN and empty lists for those that failed."""
        metric = self.metrics[name]
        good = [i for i, output in enumerate(answers.processed) if output.text is not None]
        n = len(answers.rows)
        values, lists = np.full((n, len(metric.columns)), np.nan), {each: Lists.of([[]] * n) for each in metric.lists}
        if good:
            with progress(f"scoring {name}", len(good)) as step:
                metric.advance = step.advance
                computed = Rows.of(_statistics(metric, *_columns(answers, good)))
            _check_rows(metric, computed, len(good))
            values[good] = computed.values
            lists = {each: _spread_out(computed.lists[each], good, n) for each in metric.lists}
        return Rows(values, lists)

    def values(self, score: str, answers: Answers) -> Array:
        """(n,) the examples' scores of this name; NaN where an output failed."""
        name, metric = next((name, m) for name, m in self.metrics.items() if score in m.score_names)
        rows = self.rows(name, answers, silent)
        values: Array = metric.score_examples(rows.values)[:, metric.score_names.index(score)]
        return values


def score(
    subject: Subject,
    answers: Answers,
    scorer: Scorer,
    options: Options,
    reusable: Mapping[str, StoredRows] | None = None,
    progress: Progress = silent,
) -> RunResult:
    """The result of an evaluation: every score with its interval, the examples with their scores, what is odd."""
    statistics = scorer.statistics(answers, reusable or {}, progress)
    with progress("resampling", options.resamples) as step:
        scores = estimate(
            list(statistics.values()), answers.rows, answers.failed, subject.cluster, options, step.advance
        )
    finish = answers.finish
    table = examples_table(answers.rows, answers.raw, answers.processed, statistics, finish)
    return RunResult(
        name=subject.name,
        dataset=subject.dataset,
        dataset_key=subject.dataset_key,
        system=subject.system,
        scores=scores,
        statistics=statistics,
        load=lambda: table,
        failed=len(answers.failed),
        cluster=metadata_name(subject.cluster, scores) if subject.cluster else None,
        strata=metadata_name(options.strata, scores) if options.strata else None,
        path=subject.path,
        health=health(answers.rows, answers.processed, finish),
    )


def _bounded(output: Output) -> Output:
    """An output that is too long to be scored has failed."""
    if output.text is None or len(output.text) <= LONGEST:
        return output
    return Output(None, f"the output has {len(output.text):,} characters; expected at most {LONGEST:,}", output.info)


def _statistics(
    metric: Metric, outputs: list[str], references: list[tuple[str, ...]], sources: list[str | None]
) -> Array | Rows:
    try:
        return metric.statistics(outputs, references, sources)
    except MemoryError:
        longest = max((len(text) for texts in (outputs, *references) for text in texts), default=0)
        raise HarnessError(
            f"there is not enough memory for {metric.name}; the longest output or reference has {longest:,} "
            "characters; expected shorter texts, or more memory"
        ) from None


def _check_references(metrics: Mapping[str, Metric], examples: Sequence[Example]) -> None:
    needing = [name for name, metric in metrics.items() if metric.needs_references]
    without = [example.id for example in examples if not example.references]
    if needing and without:
        raise HarnessError(
            f"{len(without)} of {len(examples)} examples have no references ({files.some(without)}); "
            f"expected at least one each, since {needing[0]} needs them"
        )


def _check_rows(metric: Metric, rows: Rows, n: int) -> None:
    """Refuses what a metric's author got wrong."""
    name, shape = metric.name, rows.values.shape
    if not metric.columns:
        raise HarnessError(f"{name} has no columns; expected at least one, whose NaN says what cannot be scored")
    if shape != (n, len(metric.columns)):
        raise HarnessError(f"{name} gave statistics of shape {shape}; expected ({n}, {len(metric.columns)})")
    if set(rows.lists) != set(metric.lists):
        given, expected = (", ".join(lists) or "none" for lists in (rows.lists, metric.lists))
        raise HarnessError(f"{name} gave the lists {given}; expected {expected}, as its `lists` says")
    clash = set(metric.lists) & set(metric.columns)
    if clash:
        raise HarnessError(f"{name} has a list and a column {sorted(clash)[0]!r}; expected distinct names")
    for each, lists in rows.lists.items():
        starts, values = lists.starts, lists.values
        if starts.dtype != np.int64 or values.dtype != np.int64:
            raise HarnessError(f"{name}: the list {each} has {values.dtype} values; expected int64")
        if len(lists) != n or starts[0] != 0 or starts[-1] != len(values) or (np.diff(starts) < 0).any():
            raise HarnessError(
                f"{name}: the list {each} has {len(lists)} lists of {len(values)} values; expected {n}, one for each "
                "example, whose starts rise from 0 to the number of values"
            )
    if type(metric).score_weighted is Metric.score_weighted:
        with np.errstate(all="ignore"):
            scores = np.shape(metric.score(np.nansum(rows.values, axis=0)))
        if scores != (len(metric.score_names),):
            raise HarnessError(
                f"{name} gave scores of shape {scores} for sums of shape ({len(metric.columns)},); "
                f"expected ({len(metric.score_names)},), one for each of its score_names"
            )


def _spread_out(lists: Lists, good: Sequence[int], n: int) -> Lists:
    """The same for n examples: empty but for the good ones."""
    sizes = np.zeros(n, dtype=np.int64)
    sizes[good] = np.diff(lists.starts)
    return Lists(lists.values, np.concatenate([[0], np.cumsum(sizes)]))


def _columns(answers: Answers, good: Sequence[int]) -> tuple[list[str], list[tuple[str, ...]], list[str | None]]:
    """(outputs, references, sources) of these rows."""
    texts = [answers.processed[i].text or "" for i in good]
    return texts, [answers.rows[i].references for i in good], [answers.rows[i].source for i in good]


def _content(answers: Answers) -> str:
    """Hash of the texts that rows are computed from."""
    good = [i for i, output in enumerate(answers.processed) if output.text is not None]
    return files.digest([good, len(answers.rows), *_columns(answers, good)])
