"""`harness.load("bleu").compute(predictions=…, references=…)`: code that was written for the package `evaluate` of
Hugging Face goes on working. Names, options, keys, scale and definition are those of `evaluate`; intervals are added
on request.

ROUGE is the mean over examples: `evaluate` gives the median of a thousand unseeded resamples of it, which is near it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.inputs.choices import LEVEL, METHOD, RESAMPLES, SEED
from harness.metrics.bleu import Bleu
from harness.metrics.chrf import Chrf
from harness.metrics.hf_evaluate import EvaluateBleu, EvaluateExactMatch
from harness.metrics.rouge import DEFAULT, Rouge
from harness.metrics.ter import Ter
from harness.run import memory
from harness.run.memory import Columns
from harness.stats.options import Options
from harness.types import HarnessError, Metric, RunResult, check_choice, nearest

Answer = dict[str, Any]


@dataclass(frozen=True)
class Shaped:
    """One of `evaluate`'s metrics."""

    metric: Callable[..., Metric]
    """Takes the options of `compute`."""
    answer: Callable[[RunResult, Metric], Answer]
    """What `compute` returns, from the result and the metric."""
    keys: Mapping[str, str]
    """Keys of the answer that are scores, by our names; none: the headline scores under their own."""
    scale: float = 1.0
    """What our score is divided by."""


class Loaded:
    """A metric with the methods of `evaluate`'s."""

    def __init__(self, name: str) -> None:
        check_choice("harness.load", name, tuple(SHAPES))
        self.name = name
        self._shaped = SHAPES[name]
        self._predictions: list[str] = []
        self._references: list[Any] = []

    def __repr__(self) -> str:
        return f"harness.load({self.name!r}): compute{inspect.signature(self._shaped.metric)}"

    def add(self, *, prediction: str, reference: Sequence[str] | str) -> None:
        """One more, for the next `compute`."""
        self._predictions.append(prediction)
        self._references.append(reference)

    def add_batch(self, *, predictions: Sequence[str], references: Sequence[Sequence[str] | str]) -> None:
        """Some more, for the next `compute`."""
        predictions, references = list(predictions), list(references)
        if len(predictions) != len(references):
            raise HarnessError(f"{len(predictions)} predictions and {len(references)} references; expected as many")
        self._predictions += predictions
        self._references += references

    def compute(
        self,
        *,
        predictions: Sequence[str] | None = None,
        references: Sequence[Sequence[str] | str] | None = None,
        confidence: bool = False,
        level: float = LEVEL,
        **options: Any,
    ) -> Answer:
        """The scores of these and of what was added, which is forgotten. `confidence=True` adds `confidence_interval`,
        by key a low and a high bound at `level`; `options` are those of `evaluate`."""
        if predictions is not None or references is not None:
            self.add_batch(predictions=predictions or [], references=references or [])
        columns = Columns(self._predictions, self._references)
        self._predictions, self._references = [], []
        shaped, metric = self._shaped, self._built(options)
        resampling = Options(RESAMPLES if confidence else 0, level, METHOD, SEED)
        result = memory.evaluate(columns, {metric.name: metric}, resampling, self.name)
        answer = shaped.answer(result, metric)
        if confidence:
            keys = shaped.keys or {name: name for name, score in result.scores.items() if score.headline}
            answer["confidence_interval"] = {key: self._bounds(result, name) for key, name in keys.items()}
        return answer

    def _built(self, options: Mapping[str, Any]) -> Metric:
        known = inspect.signature(self._shaped.metric).parameters
        for option in options:
            if option not in known:
                hint = nearest(option, list(known))
                raise HarnessError(f"{self.name} has no option {option!r}{hint}; expected one of {', '.join(known)}")
        return self._shaped.metric(**options)

    def _bounds(self, result: RunResult, name: str) -> tuple[float, float] | None:
        score, scale = result.scores[name], self._shaped.scale
        return None if score.low is None or score.high is None else (score.low / scale, score.high / scale)


def load(name: str) -> Loaded:
    """`evaluate.load` of Hugging Face for bleu, sacrebleu, rouge, chrf, ter and exact_match: the same `compute`, `add`
    and `add_batch`, options, keys and numbers, and intervals with `compute(…, confidence=True)`."""
    return Loaded(name)


def _sums(result: RunResult, metric: Metric) -> dict[str, float]:
    return dict(zip(metric.columns, result.statistics[metric.name].rows.sum(0).tolist(), strict=True))


def _values(result: RunResult, *names: str) -> list[Any]:
    return [result.scores[name].estimate for name in names]


def _bleu(max_order: int = 4, smooth: bool = False) -> Metric:
    return EvaluateBleu(max_order=max_order, smooth=smooth)


def _bleu_answer(result: RunResult, metric: Metric) -> Answer:
    sums, orders = _sums(result, metric), range(1, metric.order + 1)  # type: ignore[attr-defined]
    bleu, penalty, ratio = _values(result, "bleu", "bleu.bp", "bleu.ratio")
    return {
        "bleu": bleu,
        "precisions": _values(result, *(f"bleu.p{n}" for n in orders)),
        "brevity_penalty": penalty,
        "length_ratio": ratio,
        "translation_length": int(sums["sys_len"]),
        "reference_length": int(sums["ref_len"]),
    }


def _sacrebleu(
    smooth_method: str = "exp",
    smooth_value: float | None = None,
    lowercase: bool = False,
    tokenize: str | None = None,
    use_effective_order: bool = False,
) -> Metric:
    return Bleu(tokenize or "13a", lowercase, smooth_method, smooth_value, effective_order=use_effective_order)


def _sacrebleu_answer(result: RunResult, metric: Metric) -> Answer:
    sums, orders = _sums(result, metric), range(1, 5)
    score, penalty = _values(result, "bleu", "bleu.bp")
    return {
        "score": score,
        "counts": [int(sums[f"correct{n}"]) for n in orders],
        "totals": [int(sums[f"total{n}"]) for n in orders],
        "precisions": _values(result, *(f"bleu.p{n}" for n in orders)),
        "bp": penalty,
        "sys_len": int(sums["sys_len"]),
        "ref_len": int(sums["ref_len"]),
    }


class _Aggregated(Rouge):
    """ROUGE that knows whether its mean is asked for, or the scores of examples."""

    aggregated = True


def _rouge(rouge_types: Sequence[str] | None = None, use_aggregator: bool = True, use_stemmer: bool = False) -> Metric:
    metric = _Aggregated(DEFAULT if rouge_types is None else rouge_types, stemmer=use_stemmer)
    metric.aggregated = use_aggregator
    return metric


def _rouge_answer(result: RunResult, metric: Metric) -> Answer:
    names = [name for name, score in result.scores.items() if score.headline]
    if metric.aggregated:  # type: ignore[attr-defined]
        return dict(zip(names, _values(result, *names), strict=True))
    return {name: result.table.column(name).to_pylist() for name in names}


def _chrf(
    char_order: int = 6,
    word_order: int = 0,
    beta: int = 2,
    lowercase: bool = False,
    whitespace: bool = False,
    eps_smoothing: bool = False,
) -> Metric:
    return Chrf(char_order, word_order, beta, lowercase, whitespace, eps_smoothing)


def _chrf_answer(result: RunResult, metric: Metric) -> Answer:
    orders = {name: getattr(metric, name) for name in ("char_order", "word_order", "beta")}
    return {"score": result.scores["chrf"].estimate, **orders}


def _ter(
    normalized: bool = False,
    ignore_punct: bool = False,
    support_zh_ja_chars: bool = False,
    case_sensitive: bool = False,
) -> Metric:
    return Ter(normalized, ignore_punct, support_zh_ja_chars, case_sensitive)


def _ter_answer(result: RunResult, metric: Metric) -> Answer:
    sums = _sums(result, metric)
    return {"score": result.scores["ter"].estimate, "num_edits": int(sums["edits"]), "ref_length": sums["ref_len"]}


def _match_answer(result: RunResult, metric: Metric) -> Answer:
    (value,) = _values(result, "exact_match")
    return {"exact_match": None if value is None else value / 100}


SHAPES = {
    "bleu": Shaped(_bleu, _bleu_answer, {"bleu": "bleu"}),
    "sacrebleu": Shaped(_sacrebleu, _sacrebleu_answer, {"score": "bleu"}),
    "rouge": Shaped(_rouge, _rouge_answer, {}),
    "chrf": Shaped(_chrf, _chrf_answer, {"score": "chrf"}),
    "ter": Shaped(_ter, _ter_answer, {"score": "ter"}),
    "exact_match": Shaped(EvaluateExactMatch, _match_answer, {"exact_match": "exact_match"}, 100.0),
}
"""By `evaluate`'s names."""
