"""The worked examples of the documents that the project started from, with the exact values.

Tokens there are lower-cased words without punctuation, so outputs are given in that form where the metric keeps it.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from harness.metrics.bertscore import BertScore
from harness.metrics.bleu import Bleu
from harness.metrics.encoder import Encoded
from harness.metrics.rouge import Rouge
from harness.types import Batch, Metric

GATO = "o gato está no tapete"
RELEASE = ("the project manager approved the software release", "the manager approved the release of the software")
SORTS = ("sorts a list of numbers in ascending order", "sorts numbers in increasing order")
FOX = ("The quick brown fox jumps over the lazy dog.", "The brown fox jumps over the dog.")


def scores(metric: Metric, reference: str, output: str) -> dict[str, float]:
    rows = metric.statistics(Batch([output], [[reference]]))
    return dict(zip(metric.score_names, metric.score(rows.sum(0)).tolist(), strict=True))


@pytest.mark.parametrize(
    ("reference", "output", "expected"),
    [
        (GATO, "gato no tapete", {"bleu.p1": 100, "bleu.p2": 50, "bleu.r1": 60, "bleu.r2": 25}),
        (GATO, "gato no tapete", {"bleu.bp": math.exp(1 - 5 / 3), "bleu": 36.3041}),
        (GATO, "o gato está no tapete e", {"bleu.bp": 1}),
        (*RELEASE, {"bleu.p1": 75, "bleu.p2": 300 / 7, "bleu": 56.6947}),
        (*SORTS, {"bleu.p1": 80, "bleu.p2": 25, "bleu.bp": 0.548812, "bleu": 24.5436}),
    ],
)
def test_bleu_2(reference: str, output: str, expected: dict[str, float]) -> None:
    computed = scores(Bleu(tokenize="none", max_order=2), reference, output)
    assert {name: computed[name] for name in expected} == pytest.approx(expected, rel=2e-6)


@pytest.mark.parametrize(
    ("reference", "output", "stemmer", "expected"),
    [
        ("The cat sat on the mat.", "The cat sat on mat.", False, {"rouge1.recall": 5 / 6, "rouge2.recall": 3 / 5}),
        (*FOX, False, {"rougeL.recall": 7 / 9, "rougeL.precision": 1, "rougeL": 0.875}),
        ("The player is running quickly.", "The player runs fast.", False, {"rouge1.recall": 2 / 5}),
        ("The player is running quickly.", "The player runs fast.", True, {"rouge1.recall": 3 / 5}),
    ],
)
def test_rouge(reference: str, output: str, stemmer: bool, expected: dict[str, float]) -> None:
    computed = scores(Rouge(stemmer=stemmer), reference, output)
    assert {name: computed[name] for name in expected} == pytest.approx(expected, abs=1e-12)


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


def test_mean_over_contexts() -> None:
    """An answer against two retrieved documents, 0.85 and 0.90, equal weights: the score of a run is the mean."""
    rows = np.array([[0.85, 0.85, 0.85, 0.0, 1.0], [0.90, 0.90, 0.90, 0.0, 1.0]])
    assert BertScore().score(rows.sum(0))[0] == pytest.approx(0.875, abs=1e-12)
