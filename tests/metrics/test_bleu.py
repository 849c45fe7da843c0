"""BLEU against sacreBLEU itself, corpus and sentence level, on real and hostile text."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import sacrebleu
from hypothesis import example, given
from hypothesis import strategies as st
from nltk.translate.bleu_score import corpus_bleu

from harness.datasets.embedded import EmbeddedDataset
from harness.metrics.bleu import Bleu
from harness.systems.lead import Lead
from harness.types import Batch, HarnessError
from tests.metrics.hostile import LONG, pairs

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
    rows = metric.statistics(Batch(outputs, references))
    most = max(map(len, references))
    streams = [[refs[i] if i < len(refs) else None for refs in references] for i in range(most)]
    corpus = reference(options, False).corpus_score(outputs, streams)  # type: ignore[arg-type]
    scores = dict(zip(metric.score_names, metric.score(rows.sum(0)), strict=True))
    assert scores["bleu"] == pytest.approx(corpus.score, abs=1e-9)
    assert scores["bleu.bp"] == pytest.approx(corpus.bp, abs=1e-9)
    for n, precision in enumerate(corpus.precisions, start=1):
        assert scores[f"bleu.p{n}"] == pytest.approx(precision, abs=1e-9)
    assert all(-1e-9 <= scores[f"bleu.r{n}"] <= 100 + 1e-9 for n in range(1, metric.order + 1))
    for sentence, output, refs in zip(metric.score_examples(rows), outputs, references, strict=True):
        assert sentence[0] == pytest.approx(reference(options, True).sentence_score(output, refs).score, abs=1e-9)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_embedded_data(options: dict[str, Any]) -> None:
    examples = list(EmbeddedDataset().examples())[:40]
    outputs = [output.text or "" for output in Lead().generate(examples)]
    check(outputs, [list(e.references) for e in examples], options)


ANY = st.fixed_dictionaries(
    {
        "tokenize": st.sampled_from(["13a", "intl", "char", "zh", "none"]),
        "lowercase": st.booleans(),
        "max_order": st.integers(1, 9),
        "effective_order": st.booleans(),
    }
)
SMOOTHING = st.one_of(
    st.fixed_dictionaries({"smooth_method": st.sampled_from(["exp", "none", "floor", "add-k"])}),
    st.fixed_dictionaries(
        {"smooth_method": st.sampled_from(["floor", "add-k"]), "smooth_value": st.sampled_from([0.0, 0.01, 0.5, 3.0])}
    ),
)


@given(pairs(most=5), st.builds(lambda a, b: a | b, ANY, SMOOTHING))
@example([(".0", ["0"])], {})  # found by make fuzz: a point at the very beginning of a chunk
def test_hostile_text(cases: list[tuple[str, list[str]]], options: dict[str, Any]) -> None:
    check([output for output, _ in cases], [refs for _, refs in cases], options)


def test_lines_of_100_000_characters() -> None:
    check(LONG, [[LONG[0], text[:50_000]] for text in LONG], {})


def test_chunks_and_cores_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    outputs = [f"the cat number {i} sat. " * (i % 5) for i in range(60)]
    references = [[f"a cat number {i % 7} sat on it."] * (1 + i % 3) for i in range(60)]
    whole, done = Bleu(), []
    expected = whole.statistics(Batch(outputs, references))
    monkeypatch.setattr("harness.metrics.columns.EXAMPLES", 7)
    monkeypatch.setattr("harness.metrics.columns.cores", lambda: 5)
    whole.advance = done.append
    assert whole.statistics(Batch(outputs, references)).tolist() == expected.tolist()
    assert sum(done) == 60
    assert len(done) == 9


@pytest.mark.parametrize(
    "weights", [(0.5, 0.5), (1.0, 0.0, 0.0, 0.0), (0.1, 0.2, 0.3, 0.4), (0.0, 1.0), (0.2,) * 5, (0.5,) * 4]
)
def test_weights_are_nltks(weights: tuple[float, ...]) -> None:
    outputs = ["the cat sat on the mat today", "a dog ran very fast through the park"]
    references = [["the cat sat on a mat today", "on the mat sat the cat"], ["the dog ran very fast through a park"]]
    metric = Bleu(tokenize="none", smooth_method="none", max_order=len(weights), weights=weights)
    rows = metric.statistics(Batch(outputs, references))
    theirs = corpus_bleu([[r.split() for r in refs] for refs in references], [o.split() for o in outputs], weights)
    assert metric.score(rows.sum(0))[0] == pytest.approx(100 * theirs, abs=1e-9)
    assert "weights:" in str(metric.signature(references))


def test_weights_under_effective_order() -> None:
    """A text of two words has no 3-grams; the weights of the first two orders share what is left."""
    metric = Bleu(tokenize="none", max_order=3, weights=(0.25, 0.25, 0.5))
    equal = Bleu(tokenize="none", max_order=3)
    outputs, references = ["a b"], [["a b"]]
    rows = metric.statistics(Batch(outputs, references))
    assert metric.score_examples(rows)[0, 0] == pytest.approx(equal.score_examples(rows)[0, 0])
    pairs_only = Bleu(tokenize="none", max_order=2, weights=(0, 1))
    assert pairs_only.score_examples(pairs_only.statistics(Batch(["a"], [["a"]])))[0, 0] == 0


def test_lengths() -> None:
    metric = Bleu(tokenize="none")
    rows = metric.statistics(Batch(["a b c", "d"], [["a b", "a b c d e"], ["d e f"]]))
    scores = dict(zip(metric.score_names, metric.score(rows.sum(0)), strict=True))
    theirs = sacrebleu.BLEU(tokenize="none").corpus_score(["a b c", "d"], [["a b", "d e f"], ["a b c d e", None]])
    assert (scores["bleu.sys_len"], scores["bleu.ref_len"]) == (theirs.sys_len, theirs.ref_len)
    assert scores["bleu.ratio"] == pytest.approx(theirs.ratio)


def test_signature_is_sacrebleus() -> None:
    outputs, references = ["a b", "c"], [["a b", "x"], ["c", "d"]]
    for options in OPTIONS[:-2]:
        theirs = reference(options, False)
        theirs.corpus_score(outputs, [[r[0] for r in references], [r[1] for r in references]])
        assert str(Bleu(**options).signature(references)) == str(theirs.get_signature())
    assert "nrefs:var" in str(Bleu().signature([["a"], ["a", "b"]]))
    assert "order:2" in str(Bleu(max_order=2).signature(references))
    assert "|tok:words|" in str(Bleu("words").signature(references))  # which sacreBLEU does not have


def test_corpus_score_is_not_a_mean_of_sentences() -> None:
    outputs, references = ["the cat sat on the mat", "x"], [["the cat sat on the mat"], ["y z"]]
    metric = Bleu()
    rows = metric.statistics(Batch(outputs, references))
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
        (
            {"smooth_value": 0.5},
            "metrics.bleu.smooth_value=0.5 with smooth_method=exp, which has none; expected smooth_method=floor or add-k",
        ),
        ({"max_order": 0}, "metrics.bleu.max_order=0; expected 1 to 9"),
        ({"weights": [0.5, 0.5]}, "metrics.bleu.weights=[0.5, 0.5]; expected 4 numbers of 0 or more"),
    ],
)
def test_bad_options(options: dict[str, Any], expected: str) -> None:
    with pytest.raises(HarnessError) as raised:
        Bleu(**options).definition()
    assert expected in str(raised.value)


@pytest.mark.parametrize(
    ("text", "tokenize", "warned"),
    [
        ("他坐在垫子上。", "13a", True),
        ("แมวนั่งบนเสื่อ", "intl", True),
        ("他坐在垫子上。", "zh", False),
        ("他坐在垫子上。", "char", False),
        ("The sign said 出口, the exit.", "13a", False),
        ("고양이가 매트 위에 앉았다", "13a", False),  # has spaces
        ("", "13a", False),
    ],
)
def test_a_warning_where_a_whole_sentence_would_be_one_word(
    text: str, tokenize: str, warned: bool, caplog: pytest.LogCaptureFixture
) -> None:
    Bleu(tokenize=tokenize).fit([[text]] * 3)
    assert ["have no spaces between words" in record.message for record in caplog.records] == [True] * warned
