"""The worked examples of the documents that the project started from, with the exact values, as a user would compute them.

Tokens there are words without punctuation: `tokenize=words` for BLEU, what ROUGE does anyway.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import harness
from harness.metrics.bertscore import BertScore
from harness.metrics.encoder import Encoded
from harness.types import Batch
from tests.conftest import Called, write_jsonl

GATO = "o gato está no tapete"
RELEASE = ("The project manager approved the software release.", "The manager approved the release of the software.")
SORTS = ("Sorts a list of numbers in ascending order.", "Sorts numbers in increasing order.")
CAT = ("The cat sat on the mat.", "The cat sat on mat.")
FOX = ("The quick brown fox jumps over the lazy dog.", "The brown fox jumps over the dog.")
PLAYER = ("The player is running quickly.", "The player runs fast.")
PRODUCT = "A empresa anunciou um novo produto inovador."
BLEU_2 = {"tokenize": "words", "max_order": 2}


def scores(metric: str, options: dict[str, Any], reference: str, output: str) -> dict[str, float]:
    computed = harness.evaluate([output], [[reference]], metrics=[{metric: options}], resamples=0).scores
    return {name: score.estimate for name, score in computed.items() if score.estimate is not None}


def check(metric: str, options: dict[str, Any], texts: tuple[str, str], expected: dict[str, float]) -> None:
    computed = scores(metric, options, *texts)
    assert {name: computed[name] for name in expected} == pytest.approx(expected, rel=2e-6)


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ((GATO, "gato no tapete"), {"bleu.p1": 100, "bleu.p2": 50, "bleu.r1": 60, "bleu.r2": 25}),
        ((GATO, "gato no tapete"), {"bleu.bp": math.exp(1 - 5 / 3), "bleu": 36.3041}),
        ((GATO, "o gato está no tapete e"), {"bleu.bp": 1, "bleu.sys_len": 6, "bleu.ref_len": 5}),
        (RELEASE, {"bleu.p1": 75, "bleu.p2": 300 / 7, "bleu": 56.6947, "bleu.sys_len": 8, "bleu.ref_len": 7}),
        (RELEASE, {"bleu.bp": 1}),
        (SORTS, {"bleu.p1": 80, "bleu.p2": 25, "bleu.bp": 0.548812, "bleu": 24.5436}),
    ],
)
def test_bleu_2(texts: tuple[str, str], expected: dict[str, float]) -> None:
    check("bleu", BLEU_2, texts, expected)


def test_bleu_2_in_lower_case() -> None:
    """The documents lower-case by hand; here it makes no difference."""
    for texts in (RELEASE, SORTS, (GATO, "gato no tapete")):
        assert scores("bleu", {**BLEU_2, "lowercase": True}, *texts) == scores("bleu", BLEU_2, *texts)


def test_bleu_of_a_text_with_itself_is_the_highest() -> None:
    check("bleu", {"tokenize": "words"}, (GATO, GATO), {"bleu": 100, "bleu.bp": 1})


def test_a_word_repeated_is_clipped() -> None:
    """The French notes: a word counts as often as the reference has it, whatever the output repeats."""
    check("bleu", {"tokenize": "words", "max_order": 1}, (CAT[0], "the the the the the the"), {"bleu.p1": 100 / 6})
    lower = {"tokenize": "words", "max_order": 1, "lowercase": True}
    check("bleu", lower, (CAT[0], "the the the the the the"), {"bleu.p1": 200 / 6})
    repeated = {"rouge1.recall": 2 / 6, "rouge1.precision": 2 / 6, "rouge1": 2 / 6}
    check("rouge", {}, (CAT[0], "the the the the the the"), repeated)


def test_precision_and_coverage() -> None:
    """Two words that are all right against a sentence that covers more. BLEU is not "high" for the first, as the table
    has it: its precision is, and the brevity penalty outweighs it."""
    short, covering = "Novo produto.", "A empresa disse que tinha um produto."
    options = {**BLEU_2, "lowercase": True}
    check("bleu", options, (PRODUCT, short), {"bleu.p1": 100, "bleu.p2": 100, "bleu.bp": math.exp(1 - 7 / 2)})
    check("bleu", options, (PRODUCT, covering), {"bleu.p1": 400 / 7, "bleu.bp": 1})
    assert scores("bleu", options, PRODUCT, short)["bleu"] < scores("bleu", options, PRODUCT, covering)["bleu"]
    check("rouge", {}, (PRODUCT, short), {"rouge1.recall": 2 / 7, "rouge1.precision": 1})
    check("rouge", {}, (PRODUCT, covering), {"rouge1.recall": 4 / 7, "rouge1.precision": 4 / 7})


@pytest.mark.parametrize(
    ("options", "texts", "expected"),
    [
        ({}, CAT, {"rouge1.recall": 5 / 6, "rouge2.recall": 3 / 5}),
        ({}, FOX, {"rougeL.recall": 7 / 9, "rougeL.precision": 1, "rougeL": 0.875}),
        ({"beta": 2}, FOX, {"rougeL": 35 / 43}),  # 5 PR / (R + 4 P)
        ({}, PLAYER, {"rouge1.recall": 2 / 5}),
        ({"stemmer": True}, PLAYER, {"rouge1.recall": 3 / 5}),
        ({"tokenizer": "unicode", "stemmer": "english"}, PLAYER, {"rouge1.recall": 3 / 5}),
        ({"tokenizer": "unicode"}, (GATO, "gato no tapete"), {"rouge1.recall": 3 / 5, "rouge2.recall": 1 / 4}),
    ],
)
def test_rouge(options: dict[str, Any], texts: tuple[str, str], expected: dict[str, float]) -> None:
    check("rouge", options, texts, expected)


def test_rouge_n_over_all_references() -> None:
    """The formula's two sums: matches over n-grams, of all references."""
    references = [[CAT[0], "A cat sat."]]
    options = {"references": "average"}
    computed = harness.evaluate([CAT[1]], references, metrics=[{"rouge": options}], resamples=0).scores
    assert computed["rouge1.recall"].estimate == pytest.approx((5 + 2) / (6 + 3))
    assert computed["rouge2.recall"].estimate == pytest.approx((3 + 1) / (5 + 2))


def test_rouge_s_leaves_gaps() -> None:
    """Any pair of words in their order, with any number of words between them."""
    options = {"types": ["rougeS", "rougeW"], "compat": "rouge155", "tokenizer": "unicode", "skip": -1}
    check("rouge", options, (GATO, "gato no tapete"), {"rougeS.recall": 3 / 10, "rougeS.precision": 1})
    assert (
        scores("rouge", options, GATO, "o gato está")["rougeW"]
        > scores("rouge", options, GATO, "o está tapete")["rougeW"]
    )


def unit(*vector: float) -> np.ndarray:
    return np.array(vector) / np.linalg.norm(vector)


def matched(output: np.ndarray, reference: np.ndarray) -> list[float]:
    """F1, precision and recall of two texts with these token vectors."""
    texts = [
        Encoded(np.arange(len(v), dtype=np.int32), np.zeros(len(v), np.bool_), v.astype(np.float32), False)
        for v in (output, reference)
    ]
    return BertScore()._match(*texts)[0].tolist()


def test_bertscore_cosine() -> None:
    triple = matched(unit(0.2, 0.3, 0.5)[None], unit(0.1, 0.4, 0.6)[None])
    assert triple == pytest.approx([0.980444] * 3, abs=1e-6)


def test_bertscore_of_three_similarities() -> None:
    """Three tokens a side whose best matches are 0.6, 0.8 and 1.0: precision, recall and F1 are 0.8."""
    output = np.eye(6)[:3]
    reference = np.array([[s if j == i else math.sqrt(1 - s * s) if j == i + 3 else 0 for j in range(6)]
                          for i, s in enumerate((0.6, 0.8, 1.0))])  # fmt: skip
    assert matched(output, reference) == pytest.approx([0.8, 0.8, 0.8], abs=1e-6)


# ---------------------------------------------------------------- an answer and the documents that were retrieved

EXERCISE = {
    "user_input": "Quais são os benefícios do exercício físico?",
    "retrieved_contexts": [
        "O exercício físico regular melhora a saúde cardiovascular e reduz o risco de doenças cardíacas.",
        "A prática de atividades físicas contribui para o controle do peso e o fortalecimento muscular.",
    ],
    "response": "Exercícios físicos fazem bem para o coração e ajudam a controlar o peso.",
    "importance": [1, 3],
}
PARIS = {
    "user_input": "Qual é a capital da França?",
    "retrieved_contexts": ["Paris é a capital e a cidade mais populosa da França."],
    "response": "A capital da França é Paris.",
    "importance": [1],
}
SUPPOSED = """
def supposed(outputs, references, sources):
    similar = {"O exercício": 0.85, "A prática d": 0.90, "Paris é a c": 1.0}
    return [similar[texts[0][:11]] for texts in references]
"""
VIEWS = """
{name}:
  _target_: harness.metrics.python.PythonMetric
  function: supposed.py:supposed
  view: {{of: output, against: contexts, fold: mean, weights: {weights}}}
"""


def answered(folder: Path, cli: Callable[..., Called], metrics: str, *rows: dict[str, Any]) -> dict[str, Any]:
    """The scores of these answers, from a file as a user has it, and the examples' own."""
    write_jsonl(folder / "answers.jsonl", list(rows))
    (folder / "conf").mkdir(exist_ok=True)
    called = cli("run", "--config-dir=conf", "dataset=rag", "dataset.path=answers.jsonl", "system=rag",
                 f"metrics=[{metrics}]", "tracking=none", "stats.resamples=0", "output_dir=out")  # fmt: skip
    assert called.code == 0, called.err
    scores = json.loads((folder / "out" / "scores.json").read_text())["scores"]
    return {name: score["estimate"] for name, score in scores.items()}


def test_mean_over_contexts(tmp_path: Path, cli: Callable[..., Called]) -> None:
    """An answer against two retrieved documents, 0.85 and 0.90, with equal weights and with others."""
    (tmp_path / "conf" / "metrics").mkdir(parents=True)
    (tmp_path / "supposed.py").write_text(SUPPOSED)
    views = {"plain": "null", "weighted": "importance", "ranked": "rank"}
    for name, weights in views.items():
        (tmp_path / "conf" / "metrics" / f"{name}.yaml").write_text(VIEWS.format(name=name, weights=weights))
    scores = answered(tmp_path, cli, "plain,weighted,ranked", EXERCISE)
    assert scores == pytest.approx({"plain": 0.875, "weighted": (0.85 + 3 * 0.90) / 4, "ranked": 2.6 / 3}, abs=1e-12)
    assert harness.load_run(tmp_path / "out").table.to_pydict()["weighted.each"] == [[0.85, 0.90]]


def test_an_answer_and_its_documents(tmp_path: Path, cli: Callable[..., Called]) -> None:
    """By BERTScore itself: each example's faithfulness is the mean over its documents, a run's the mean of those."""
    scores = answered(
        tmp_path, cli, "rag", EXERCISE | {"reference": "Ajuda a controlar o peso."}, PARIS | {"reference": "Paris"}
    )
    by_hand = []
    for row in (EXERCISE, PARIS):
        alone = [BertScore().statistics(Batch([row["response"]], [[text]]))[0] for text in row["retrieved_contexts"]]
        by_hand.append(np.mean(alone, axis=0))
    assert [scores[f"faithfulness{part}"] for part in (".f1", "", ".recall")] == pytest.approx(
        np.mean(by_hand, axis=0)[:3], abs=1e-6
    )
    assert scores["faithfulness"] > scores["context_relevance"] > 0.3
