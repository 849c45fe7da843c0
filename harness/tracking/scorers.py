"""Our metrics as scorers of MLflow, for `mlflow.genai.evaluate`.

    from harness.tracking.scorers import Bleu, ChrF, Rouge

    mlflow.genai.evaluate(data=data, scorers=[Bleu(), Rouge("rougeL"), ChrF()])

Each row has the score of its output as feedback. The score of the corpus is no mean of those: a scorer keeps its rows,
and gives it with its bounds as aggregations, `bleu/corpus`, `bleu/low` and `bleu/high`. References are the expectation
`expected_response` (a text, or a list of them) or `references`. A scorer is for one evaluation at a time.

What is computed is computed by `harness.evaluate`, found by its name as plug-ins are: this room imports no metric.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from mlflow.entities import Feedback
from mlflow.genai.scorers import Scorer
from pydantic import PrivateAttr

from harness.inputs import plugins
from harness.tracking.backend import quiet
from harness.types import HarnessError
from harness.types import Score as Estimate
from harness.types.shown import counted

quiet()
Row = tuple[str, list[str], str]
"""(output, references, source)."""
EXPECTED = ("expected_response", "references", "expected_output")


class HarnessScorer(Scorer):  # type: ignore[misc]  # mlflow has no types here
    """One headline score of a metric, by the metric's name and options."""

    metric: str
    """As `metrics=` names it."""
    aggregations: list[Any] | None = None
    options: dict[str, Any] = {}
    resamples: int = 10_000
    level: float = 0.95
    seed: int = 12345
    _rows: list[tuple[float, Row]] = PrivateAttr(default_factory=list)
    """With the value that each was given."""
    _whole: tuple[int, Estimate] | None = PrivateAttr(default=None)
    _lock: Any = PrivateAttr(default_factory=threading.Lock)

    def model_post_init(self, context: Any, /) -> None:
        super().model_post_init(context)
        if self.aggregations is None:
            self.aggregations = [self._aggregation(side) for side in ("corpus", "low", "high")]

    def __call__(self, *, inputs: Any = None, outputs: Any = None, expectations: Any = None) -> Feedback:
        """The score of one output; the row is kept for the corpus."""
        row = (_text(outputs), _references(expectations), _source(inputs))
        with _of_one_row():
            score = self._scored([row], 0)
        value = None if score.estimate is None else score.estimate + 0.0  # an object of its own
        if value is not None:
            with self._lock:
                self._rows.append((value, row))
        return Feedback(name=self.name, value=value, metadata={"signature": score.signature or ""})

    def _scored(self, rows: Sequence[Row], resamples: int) -> Estimate:
        evaluate: Callable[..., Any] = plugins.locate("harness.api.evaluate", "scorer")
        outputs, references, sources = (list(column) for column in zip(*rows, strict=True))
        result = evaluate(
            outputs=outputs, references=references, sources=sources, metrics={self.metric: self.options},
            resamples=resamples, level=self.level, seed=self.seed,
        )  # fmt: skip
        if self.name not in result.scores:
            known = ", ".join(name for name, score in result.scores.items() if score.headline)
            raise HarnessError(f"{self.metric} has no score {self.name!r}; expected one of {known}")
        wanted: Estimate = result.scores[self.name]
        return wanted

    def _aggregation(self, side: str) -> Callable[[list[float]], float]:
        def aggregate(values: list[float]) -> float:
            try:
                score = self._corpus(values)
            finally:
                if side == "high":  # the last: the next evaluation begins anew
                    self.clear()
            value = score.estimate if side == "corpus" else getattr(score, side)
            if value is None:
                raise HarnessError(f"{self.name}/{side} of {counted(len(values), 'row')} has no value")
            return float(value)

        aggregate.__name__ = aggregate.__qualname__ = side
        return aggregate

    def _corpus(self, values: Sequence[float]) -> Estimate:
        """Of the rows that were kept, which are as many as MLflow has values."""
        if len(self._rows) != len(values):
            raise HarnessError(
                f"{self.name} kept {counted(len(self._rows), 'row')} and MLflow has "
                f"{counted(len(values), 'value')}; expected as many: a "
                "scorer is for one evaluation at a time, so make another one"
            )
        if self._whole is None or self._whole[0] != len(values):
            self._whole = len(values), self._scored(self._in_order(values), self.resamples)
        return self._whole[1]

    def _in_order(self, values: Sequence[float]) -> list[Row]:
        """The rows as the data has them, on which bounds depend: rows come from several threads in any order, MLflow's
        values, the very objects that it was given, in that of the data. Sorted where they are other objects, so that
        the same rows give the same numbers."""
        by_value = {id(value): row for value, row in self._rows}
        if all(id(value) in by_value for value in values):
            return [by_value[id(value)] for value in values]
        return sorted(row for _, row in self._rows)

    def clear(self) -> None:
        """Forgets the rows of an evaluation."""
        with self._lock:
            self._rows.clear()
        self._whole = None


_lock = threading.Lock()
_unsaid: list[int] = []
"""For each row that is being scored: the level of the metrics' log before the first of them."""


@contextmanager
def _of_one_row() -> Iterator[None]:
    """What metrics warn of is said of all rows together: nobody reads a line a row. Rows are scored in several threads:
    the first quietens the log, the last lets it speak."""
    log = logging.getLogger("harness.metrics")
    with _lock:
        _unsaid.append(_unsaid[0] if _unsaid else log.level)
        log.setLevel(logging.ERROR)
    try:
        yield
    finally:
        with _lock:
            before = _unsaid.pop()
            if not _unsaid:
                log.setLevel(before)


def _text(outputs: Any) -> str:
    if isinstance(outputs, str):
        return outputs
    if isinstance(outputs, dict) and len(texts := [value for value in outputs.values() if isinstance(value, str)]) == 1:
        return texts[0]
    raise HarnessError(f"outputs are {type(outputs).__name__}; expected a text, or a mapping with one text in it")


def _references(expectations: Any) -> list[str]:
    for name in EXPECTED:
        value = (expectations or {}).get(name)
        if value is not None:
            return [value] if isinstance(value, str) else [str(text) for text in value]
    raise HarnessError(f"the expectations have none of {', '.join(EXPECTED)}; expected a reference, or a list of them")


def _source(inputs: Any) -> str:
    if isinstance(inputs, dict):
        return str(inputs.get("source") or next(iter(inputs.values()), ""))
    return "" if inputs is None else str(inputs)


# ---------------------------------------------------------------- by name


def _named(metric: str, score: str, options: dict[str, Any]) -> HarnessScorer:
    own = {name: options.pop(name) for name in ("resamples", "level", "seed") if name in options}
    return HarnessScorer(name=score, metric=metric, options=options, **own)


def Bleu(**options: Any) -> HarnessScorer:
    """BLEU; options are those of conf/metrics/bleu.yaml, and `resamples`, `level`, `seed`."""
    return _named("bleu", "bleu", options)


def ChrF(**options: Any) -> HarnessScorer:
    return _named("chrf", "chrf", options)


def ChrFPlusPlus(**options: Any) -> HarnessScorer:
    return _named("chrfpp", "chrfpp", options)


def Ter(**options: Any) -> HarnessScorer:
    return _named("ter", "ter", options)


def Rouge(kind: str = "rougeL", **options: Any) -> HarnessScorer:
    """One of ROUGE's scores: rouge1, rouge2, rougeL, rougeLsum."""
    return _named("rouge", kind, {"types": [kind], **options})


def BertScore(**options: Any) -> HarnessScorer:
    return _named("bertscore", "bertscore", options)


def MoverScore(**options: Any) -> HarnessScorer:
    return _named("moverscore", "moverscore", options)


def ExactMatch(**options: Any) -> HarnessScorer:
    return _named("exact_match", "exact_match", options)


def TokenF1(**options: Any) -> HarnessScorer:
    return _named("token_f1", "token_f1", options)
