"""A metric under the name that a config gives it, so that it can be used several times: `bleu` and, with another
tokenizer, `bleu_char`, whose scores are `bleu_char`, `bleu_char.p1` and so on.

>>> from harness.metrics.bleu import Bleu
>>> metric = dressed("bleu_char", Bleu(tokenize="char"))
>>> metric.score_names[:2], dressed("bleu", Bleu()).score_names[:2]
(('bleu_char', 'bleu_char.p1'), ('bleu', 'bleu.p1'))
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any

from harness.inputs import plugins
from harness.metrics.viewed import View, ViewOptions
from harness.types import Alignment, Array, Batch, HarnessError, Integers, Metric, Rows

DELEGATED = (
    "needs_fields", "groups", "columns", "counted", "reads", "threads", "at_once", "lists", "list_kind", "jackknifed",
    "higher_is_better",
    "needs_references", "needs", "unscored", "averaged", "multiplied", "bounds", "aligns", "context", "fits", "version",
)  # fmt: skip


def dressed(name: str, metric: Metric, view: Mapping[str, Any] | None = None) -> Metric:
    """The metric as a config names and views it. One that has its name as an option keeps that name."""
    where = f"metrics.{name}.view"
    if view is not None:
        if not isinstance(view, Mapping):
            raise HarnessError(f"{where} is {view!r}; expected a mapping with of and against")
        return View(name, metric, ViewOptions(**plugins.checked(ViewOptions, view, where)))
    if name == metric.name or "name" in inspect.signature(type(metric)).parameters:
        return metric
    return Named(name, metric) if type(metric).score_weighted is Metric.score_weighted else NamedWeighted(name, metric)


class Named(Metric):
    def __init__(self, name: str, metric: Metric) -> None:
        self.name, self.inner = name, metric
        for attribute in DELEGATED:
            setattr(self, attribute, getattr(metric, attribute))
        heads = [score.partition(".")[0] for score in metric.score_names]
        if all(head.startswith(metric.name) for head in heads):
            renamed = [name + score.removeprefix(metric.name) for score in metric.score_names]
        else:
            renamed = [f"{name}_{score}" for score in metric.score_names]
        self.score_names = tuple(renamed)
        self._of_score = dict(zip(renamed, metric.score_names, strict=True))

    def fit(self, references: Sequence[Sequence[str]]) -> Named:
        fitted = copy(self)
        fitted.inner = self.inner.fit(references)
        fitted.context = fitted.inner.context
        return fitted

    def statistics(self, batch: Batch) -> Array | Rows:
        self.inner.arrays, self.inner.advance = self.arrays, self.advance
        return self.inner.statistics(batch)

    def score(self, sums: Array) -> Array:
        return self.inner.score(sums)

    def score_examples(self, rows: Array) -> Array:
        return self.inner.score_examples(rows)

    def extremes(self, batch: Batch) -> tuple[Array | Rows, Array | Rows] | None:
        return self.inner.extremes(batch)

    def align(self, outputs: Sequence[str], references: Sequence[Sequence[str]]) -> list[Alignment | None] | None:
        self.inner.arrays = self.arrays
        return self.inner.align(outputs, references)

    def caution_of(self, score: str) -> str | None:
        return self.inner.caution_of(self._of_score[score])

    def doubt(self, sums: Array) -> str | None:
        return self.inner.doubt(sums)

    def unseen(self, rows: Array) -> Array | None:
        return self.inner.unseen(rows)

    def title_of(self, score: str) -> str:
        head, _, part = score.partition(".")
        return f"{head} {part}".rstrip()

    def digits_of(self, score: str) -> int:
        return self.inner.digits_of(self._of_score[score])

    def definition(self) -> dict[str, str]:
        return self.inner.definition()

    def provenance(self) -> dict[str, str]:
        return self.inner.provenance()


class NamedWeighted(Named):
    """Of a metric whose score is no function of a sum."""

    def score_weighted(self, weights: Array, rows: Rows) -> Array:
        return self.inner.score_weighted(weights, rows)

    def score_left_out(self, rows: Rows, units: Integers, count: int) -> Array:
        return self.inner.score_left_out(rows, units, count)
