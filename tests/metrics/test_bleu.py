"""BLEU against sacreBLEU itself, corpus and sentence level, on real and hostile text."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import sacrebleu
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.datasets.embedded import EmbeddedDataset
from harness.metrics.bleu import Bleu
from harness.systems.lead import Lead
from harness.types import HarnessError

OPTIONS: list[dict[str, Any]] = [
    {},
    {"lowercase": True},
    {"tokenize": "intl"},
    {"tokenize": "char"},
    {"tokenize": "zh"},
    {"tokenize": "none", "smooth_method": "none"},
    {"smooth_method": "floor"},
    {"smooth_method": "floor", "smooth_value": 0.5},
    {"smooth_method": "add-k"},
    {"smooth_method": "add-k", "smooth_value": 2.0},
    {"max_order": 2},
    {"max_order": 6, "effective_order": True},
]


def reference(options: dict[str, Any], effective: bool) -> sacrebleu.BLEU:
    renamed = {{"max_order": "max_ngram_order"}.get(k, k): v for k, v in options.items() if k != "effective_order"}
    return sacrebleu.BLEU(**renamed, effective_order=effective or options.get("effective_order", False), force=True)


def check(outputs: list[str], references: list[list[str]], options: dict[str, Any]) -> None:
    """Corpus and sentence scores, precisions and penalty agree to 1e-9."""
    metric = Bleu(**options)
    rows = metric.statistics(outputs, references, [None] * len(outputs))
    most = max(map(len, references))
    streams = [[refs[i] if i < len(refs) else None for refs in references] for i in range(most)]
    corpus = reference(options, False).corpus_score(outputs, streams)  # type: ignore[arg-type]
    found = dict(zip(metric.score_names, metric.score(rows.sum(0)), strict=True))
    assert found["bleu"] == pytest.approx(corpus.score, abs=1e-9)
    assert found["bleu.bp"] == pytest.approx(corpus.bp, abs=1e-9)
    for n, precision in enumerate(corpus.precisions, start=1):
        assert found[f"bleu.p{n}"] == pytest.approx(precision, abs=1e-9)
    assert all(-1e-9 <= found[f"bleu.r{n}"] <= 100 + 1e-9 for n in range(1, metric.order + 1))
    for sentence, output, refs in zip(metric.score_examples(rows), outputs, references, strict=True):
        assert sentence[0] == pytest.approx(reference(options, True).sentence_score(output, refs).score, abs=1e-9)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_embedded_data(options: dict[str, Any]) -> None:
    examples = list(EmbeddedDataset().examples())[:40]
    outputs = [output.text or "" for output in Lead().generate(examples)]
    check(outputs, [list(e.references) for e in examples], options)


AWKWARD = [
    "",
    " ",
    "a",
    "the the the",
    "3,000.5 &quot;x&quot; -",
    "“so” (it) goes…",
    "中文 字",
    "e\u0301 😀 \u200f",
    "a\u2028b\tc",
]
texts = st.one_of(
    st.sampled_from(AWKWARD),
    st.text(max_size=30),
    st.lists(st.sampled_from(["a", "b", "c", ".", ",", "1"])).map(" ".join),
)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.tuples(texts, st.lists(texts, min_size=1, max_size=3)), min_size=1, max_size=5),
    st.sampled_from(OPTIONS),
)
def test_random_and_hostile_text(pairs: list[tuple[str, list[str]]], options: dict[str, Any]) -> None:
    check([output for output, _ in pairs], [refs for _, refs in pairs], options)


def test_signature_is_sacrebleus() -> None:
    outputs, references = ["a b", "c"], [["a b", "x"], ["c", "d"]]
    for options in OPTIONS[:-2]:
        theirs = reference(options, False)
        theirs.corpus_score(outputs, [[r[0] for r in references], [r[1] for r in references]])
        assert str(Bleu(**options).signature(references)) == str(theirs.get_signature())
    assert "nrefs:var" in str(Bleu().signature([["a"], ["a", "b"]]))
    assert "order:2" in str(Bleu(max_order=2).signature(references))


def test_corpus_score_is_not_a_mean_of_sentences() -> None:
    outputs, references = ["the cat sat on the mat", "x"], [["the cat sat on the mat"], ["y z"]]
    metric = Bleu()
    rows = metric.statistics(outputs, references, [None, None])
    mean = metric.score_examples(rows)[:, 0].mean()
    assert metric.score(rows.sum(0))[0] == pytest.approx(
        sacrebleu.corpus_bleu(outputs, [[r[0] for r in references]]).score
    )
    assert not math.isclose(mean, metric.score(rows.sum(0))[0], rel_tol=0.1)


def test_missing_rows_stay_missing() -> None:
    assert np.isnan(Bleu().score(np.full((2, 14), np.nan))).all()


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"tokenize": "13b"}, "metrics.bleu.tokenize=13b; expected one of"),
        ({"smooth_method": "laplace"}, "metrics.bleu.smooth_method=laplace; expected one of exp, floor, add-k, none"),
        ({"max_order": 0}, "metrics.bleu.max_order=0; expected 1 to 9"),
    ],
)
def test_bad_options(options: dict[str, Any], expected: str) -> None:
    with pytest.raises(HarnessError) as raised:
        Bleu(**options).definition()
    assert expected in str(raised.value)
