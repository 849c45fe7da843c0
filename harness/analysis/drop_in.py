"""`harness.load("bleu").compute(predictions=…, references=…)`: code that was written for the package `evaluate` of
Hugging Face goes on working. Names, options, keys, scale and definition are those of `evaluate`; intervals are added
on request.

ROUGE is the mean over examples: `evaluate` gives the median of a thousand unseeded resamples of it, which is near it.
BERTScore is a list, a number for each example, as there; the intervals are those of their means.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness import __version__
from harness.inputs.choices import LEVEL, METHOD, RESAMPLES, SEED
from harness.inputs.handed_columns import listed
from harness.metrics.bertscore import BertScore
from harness.metrics.bleu import Bleu
from harness.metrics.chrf import Chrf
from harness.metrics.hf_evaluate import EvaluateBleu, EvaluateExactMatch, words_for_tokens
from harness.metrics.rouge import DEFAULT, Rouge
from harness.metrics.squad import ExactMatch, TokenF1
from harness.metrics.ter import Ter
from harness.run import memory
from harness.run.memory import Columns
from harness.stats.options import Options
from harness.types import HarnessError, Metric, RunResult, nearest
from harness.types.shown import counted

Answer = dict[str, Any]
Tokenize = Callable[[str], Iterable[str]]
"""A function of the user's, from a text to its tokens."""


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
    beside: Callable[[], Metric] | None = None
    """A second metric, whose scores are in the answer as well."""
    texts: Callable[[Sequence[Any], Sequence[Any]], tuple[list[Any], list[Any]]] | None = None
    """The texts of predictions and references that are something else."""


class Loaded:
    """A metric with the methods of `evaluate`'s."""

    def __init__(self, name: str) -> None:
        if name not in SHAPES:
            raise HarnessError(
                f"harness.load({name!r}): no such metric{nearest(name, SHAPES)}; expected one of {', '.join(SHAPES)}"
            )
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
        if isinstance(predictions, str) or isinstance(references, str):
            raise HarnessError("predictions or references is a string; expected a list, one item for each example")
        if self._shaped.texts is None:
            predictions = listed(predictions, "predictions", "prediction")
            references = listed(references, "references", "references")
        predictions, references = list(predictions), list(references)
        if len(predictions) != len(references):
            raise HarnessError(
                f"{counted(len(predictions), 'prediction')} and {counted(len(references), 'reference')}; "
                "expected as many"
            )
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
        shaped, metric = self._shaped, self._built(options)
        if predictions is not None or references is not None:
            self.add_batch(
                predictions=[] if predictions is None else predictions,
                references=[] if references is None else references,
            )
        given = self._predictions, self._references
        self._predictions, self._references = [], []
        if not given[0]:
            raise HarnessError("there are no predictions; expected some, here or by add_batch before")
        if options.get("tokenizer") is not None:
            worded = words_for_tokens(options["tokenizer"])
            given = worded(given[0]), worded(given[1])
        columns = Columns(*(given if shaped.texts is None else shaped.texts(*given)))
        metrics = [metric, *([] if shaped.beside is None else [shaped.beside()])]
        resampling = Options(RESAMPLES if confidence else 0, level, METHOD, SEED)
        result = memory.evaluate(columns, {each.name: each for each in metrics}, resampling, self.name)
        answer = shaped.answer(result, metric)
        if confidence:
            keys = shaped.keys or {name: name for name, score in result.scores.items() if score.headline}
            answer["confidence_interval"] = {key: self._bounds(result, name) for key, name in keys.items()}
        return answer

    def _built(self, options: Mapping[str, Any]) -> Metric:
        known = inspect.signature(self._shaped.metric).parameters
        for option in options:
            if option not in known:
                hint = nearest(option, [*known, "predictions", "references"])
                raise HarnessError(f"{self.name} has no option {option!r}{hint}; expected one of {', '.join(known)}")
        return self._shaped.metric(**options)

    def _bounds(self, result: RunResult, name: str) -> tuple[float, float] | None:
        score, scale = result.scores[name], self._shaped.scale
        return None if score.low is None or score.high is None else (score.low / scale, score.high / scale)


def load(name: str) -> Loaded:
    """`evaluate.load` of Hugging Face for bleu, sacrebleu, rouge, chrf, ter, exact_match, squad and bertscore: the same
    `compute`, `add` and `add_batch`, options, keys and numbers, and intervals with `compute(…, confidence=True)`."""
    return Loaded(name)


def _sums(result: RunResult, metric: Metric) -> dict[str, float]:
    return dict(zip(metric.columns, result.statistics[metric.name].rows.sum(0).tolist(), strict=True))


def _values(result: RunResult, *names: str) -> list[Any]:
    return [result.scores[name].estimate for name in names]


def _bleu(tokenizer: Tokenize | None = None, max_order: int = 4, smooth: bool = False) -> Metric:
    return EvaluateBleu("13a" if tokenizer is None else "none", max_order, smooth)


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
    force: bool = False,
    lowercase: bool = False,
    tokenize: str | None = None,
    use_effective_order: bool = False,
) -> Metric:
    """`force` silences a warning there."""
    return Bleu(tokenize or "13a", lowercase, smooth_method, smooth_value, effective_order=use_effective_order)


def _sacrebleu_answer(result: RunResult, metric: Metric) -> Answer:
    sums, orders = _sums(result, metric), range(1, 5)
    score, penalty = _values(result, "bleu", "bleu.bp")
    added = metric.smooth_value if metric.smooth_method == "add-k" else 0  # type: ignore[attr-defined]
    return {
        "score": score,
        "counts": [int(sums[f"correct{n}"]) + (added if n > 1 else 0) for n in orders],
        "totals": [int(sums[f"total{n}"]) + (added if n > 1 else 0) for n in orders],
        "precisions": _values(result, *(f"bleu.p{n}" for n in orders)),
        "bp": penalty,
        "sys_len": int(sums["sys_len"]),
        "ref_len": int(sums["ref_len"]),
    }


class _Aggregated(Rouge):
    """ROUGE that knows whether its mean is asked for, or the scores of examples."""

    aggregated = True


def _rouge(
    rouge_types: Sequence[str] | None = None,
    use_aggregator: bool = True,
    use_stemmer: bool = False,
    tokenizer: Tokenize | None = None,
) -> Metric:
    """A tokenizer's tokens are not stemmed, as there."""
    metric = _Aggregated(DEFAULT if rouge_types is None else rouge_types, stemmer=use_stemmer and tokenizer is None)
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


def _squad_texts(predictions: Sequence[Any], references: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """Answers in the order of the questions, by their ids."""
    try:
        answers = {each["id"]: each["prediction_text"] for each in predictions}
        golden = {each["id"]: list(each["answers"]["text"]) for each in references}
    except (KeyError, TypeError):
        raise HarnessError(
            "squad: expected predictions {'id', 'prediction_text'} and references {'id', 'answers': {'text': […]}}"
        ) from None
    if answers.keys() != golden.keys():
        odd = sorted(answers.keys() ^ golden.keys())
        raise HarnessError(f"squad: {odd[0]!r} is not in both predictions and references; expected the same ids")
    return [answers[id_] for id_ in golden], list(golden.values())


def _squad_answer(result: RunResult, metric: Metric) -> Answer:
    exact, overlap = _values(result, "exact_match", "token_f1")
    return {"exact_match": exact, "f1": overlap}


MODELS = {
    "en": "roberta-large",
    "en-sci": "allenai/scibert_scivocab_uncased",
    "zh": "bert-base-chinese",
    "tr": "dbmdz/bert-base-turkish-cased",
}
"""By language what bert-score takes; of any other, multilingual BERT."""


def _bertscore(
    lang: str | None = None,
    model_type: str | None = None,
    num_layers: int | None = None,
    idf: bool = False,
    device: str | None = None,
    rescale_with_baseline: bool = False,
    baseline_path: str | None = None,
    batch_size: int = 64,
    nthreads: int = 4,
    verbose: bool = False,
    use_fast_tokenizer: bool = False,
) -> Metric:
    """The last four change no score, and code that says them goes on working."""
    if lang is None and model_type is None:
        raise HarnessError("bertscore: neither lang nor model_type is given; expected one, such as lang='en'")
    if rescale_with_baseline and baseline_path is None and lang is None:
        raise HarnessError("bertscore: rescale_with_baseline without lang; expected the language of the baseline")
    model = model_type or MODELS.get((lang or "").lower(), "bert-base-multilingual-cased")
    rescale = (baseline_path or lang) if rescale_with_baseline else None
    return BertScore(model, num_layers, idf=idf, rescale=rescale, references="independent", device=device or "auto")


def _bertscore_answer(result: RunResult, metric: Metric) -> Answer:
    rows = result.statistics[metric.name].rows
    places = [metric.columns.index(name) for name in BERTSCORE.values()]
    lists = {key: rows[:, place].tolist() for key, place in zip(BERTSCORE, places, strict=True)}
    return {**lists, "hashcode": f"{result.scores['bertscore'].signature} harness {__version__}"}


BERTSCORE = {"precision": "bertscore.precision", "recall": "bertscore.recall", "f1": "bertscore"}
SHAPES = {
    "bleu": Shaped(_bleu, _bleu_answer, {"bleu": "bleu"}),
    "sacrebleu": Shaped(_sacrebleu, _sacrebleu_answer, {"score": "bleu"}),
    "rouge": Shaped(_rouge, _rouge_answer, {}),
    "chrf": Shaped(_chrf, _chrf_answer, {"score": "chrf"}),
    "ter": Shaped(_ter, _ter_answer, {"score": "ter"}),
    "exact_match": Shaped(EvaluateExactMatch, _match_answer, {"exact_match": "exact_match"}, 100.0),
    "squad": Shaped(
        ExactMatch, _squad_answer, {"exact_match": "exact_match", "f1": "token_f1"}, beside=TokenF1, texts=_squad_texts
    ),
    "bertscore": Shaped(_bertscore, _bertscore_answer, BERTSCORE),
}
"""By `evaluate`'s names."""
