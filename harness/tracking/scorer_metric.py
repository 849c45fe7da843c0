"""`metrics=mlflow metrics.mlflow.scorer=judges.py:polite`: a scorer or a judge of MLflow as a metric.

The scorer (`mlflow.genai.scorers`, or a function with `@scorer`) is asked about each output, with the source as
`inputs`, the references as `expectations`, and what it says is a number: numbers and truth values as they are, `yes` as
1 and `no` as 0. The score of a run is the mean, with intervals and tests as any. What the scorer cannot say of an
output, or raises, is missing, counted and said; never 0.

It stands here and not with the other metrics because this is the only room that imports mlflow.
"""

from __future__ import annotations

import inspect
import logging
import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from harness.inputs import files, functions
from harness.tracking.backend import quiet
from harness.types import Array, Batch, HarnessError, Metric

log = logging.getLogger(__name__)
WORDS = {"yes": 1.0, "no": 0.0, "true": 1.0, "false": 0.0, "pass": 1.0, "fail": 0.0}


class MlflowScorer(Metric):
    plain = ("name", "higher_is_better", "needs_references", "revision")
    averaged = True

    def __init__(
        self,
        scorer: str,
        name: str | None = None,
        higher_is_better: bool = True,
        needs_references: bool = True,
        revision: str | None = None,
    ) -> None:
        """`revision`: of what the file itself does not hold, such as a judge's model; another one is another score."""
        self.scorer, self.revision = scorer, revision
        self.name = name or scorer.rpartition(":")[2]
        self.score_names, self.columns = (self.name,), (self.name, "count")
        self.higher_is_better, self.needs_references = higher_is_better, needs_references

    @classmethod
    def stored(cls, options: Mapping[str, Any], columns: Sequence[str]) -> Metric | None:
        """The mean of the stored values, without the scorer."""
        named = {option: options[option] for option in cls.plain if option in options}
        return cls(scorer="", **{**named, "name": str(options.get("name") or columns[0])})

    @cached_property
    def _loaded(self) -> tuple[Any, str]:
        """(the scorer, a hash of the file it is in)."""
        from mlflow.genai.scorers import Scorer

        quiet()
        loaded, code = functions.load(self.scorer)
        scorer: Any = loaded() if inspect.isclass(loaded) else loaded
        if not isinstance(scorer, Scorer):
            raise HarnessError(
                f"{self.scorer} is {functions.kind(scorer)}; expected a scorer of MLflow: an object of "
                "mlflow.genai.scorers, or a function with @scorer"
            )
        return scorer, code

    def definition(self) -> dict[str, str]:
        stated = {"revision": self.revision} if self.revision is not None else {}
        return {"scorer": self.scorer.rpartition(":")[2], "code": files.digest(self._loaded[1])[:8], **stated}

    def provenance(self) -> dict[str, str]:
        import mlflow

        return {"mlflow": mlflow.__version__}

    def statistics(self, batch: Batch) -> Array:
        rows = np.full((len(batch), 2), np.nan)
        reasons: list[str] = []
        references = batch.references if len(batch.references) else [[]] * len(batch)
        sources = batch.sources if len(batch.sources) else [None] * len(batch)
        for i, (output, texts, source) in enumerate(zip(batch.outputs, references, sources, strict=True)):
            value = self._asked(output, list(texts), source, reasons)
            if not math.isnan(value):
                rows[i] = value, 1.0
            self.advance(1)
        if reasons:
            log.warning("%s gave no score for %d of %d outputs; they are left out (the first: %s)",
                        self.name, len(reasons), len(batch), reasons[0])  # fmt: skip
        return rows

    def _asked(self, output: str, references: list[str], source: str | None, reasons: list[str]) -> float:
        """What the scorer says of one output; NaN, with a reason, where that is no number."""
        expectations: dict[str, Any] = {}
        if references:
            expectations = {"expected_response": references[0], "references": references}
        try:
            said = self._loaded[0].run(inputs={"source": source}, outputs=output, expectations=expectations)
        except HarnessError:
            raise
        except Exception as error:
            reasons.append(f"{type(error).__name__}: {error}"[:200])
            return math.nan
        value = _number(said)
        if math.isnan(value):
            reasons.append(f"it said {functions.kind(said)}"[:200])
        return value

    def score(self, sums: Array) -> Array:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(sums[..., :1] / sums[..., 1:])

    def extremes(self, batch: Batch) -> None:
        return None  # nobody knows how a scorer ranks outputs


def _number(said: Any) -> float:
    """A scorer's answer as a number; NaN where it is none.

    >>> [_number(answer) for answer in (0.5, True, "Yes", "no", "maybe", None)]
    [0.5, 1.0, 1.0, 0.0, nan, nan]
    """
    if isinstance(said, list) and len(said) == 1:
        said = said[0]
    if getattr(said, "error", None) is not None:
        return math.nan
    said = getattr(said, "value", said)
    if isinstance(said, bool | int | float) and math.isfinite(said):
        return float(said)
    return WORDS.get(said.strip().lower(), math.nan) if isinstance(said, str) else math.nan
