"""ROUGE against the package rouge-score itself."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rouge_score.rouge_scorer import RougeScorer

from harness.datasets.embedded import EmbeddedDataset
from harness.metrics.rouge import Rouge
from harness.systems.lead import Lead
from harness.types import HarnessError

TYPES = ["rouge1", "rouge2", "rouge9", "rougeL", "rougeLsum"]


def check(outputs: list[str], references: list[list[str]], stemmer: bool) -> None:
    metric = Rouge(TYPES, stemmer)
    rows = metric.statistics(outputs, references, [None] * len(outputs))
    scorer = RougeScorer(TYPES, use_stemmer=stemmer)
    expected = [scorer.score_multi(refs, output) for output, refs in zip(outputs, references, strict=True)]
    corpus = dict(zip(metric.score_names, metric.score(rows.sum(0)), strict=True))
    for name in TYPES:
        for part, field in (("", "fmeasure"), (".precision", "precision"), (".recall", "recall")):
            column = metric.score_names.index(name + part)
            values = [getattr(one[name], field) for one in expected]
            assert metric.score_examples(rows)[:, column].tolist() == pytest.approx(values, abs=1e-12)
            assert corpus[name + part] == pytest.approx(sum(values) / len(values), abs=1e-12)


@pytest.mark.parametrize("stemmer", [False, True])
def test_embedded_data(stemmer: bool) -> None:
    examples = list(EmbeddedDataset().examples())[:40]
    outputs = [(output.text or "").replace(", ", ",\n") for output in Lead(2).generate(examples)]
    check(outputs, [list(e.references) for e in examples], stemmer)


texts = st.one_of(
    st.text(max_size=30), st.lists(st.sampled_from(["a", "b", "running", "runs", ".", "\n", "é", "中"])).map(" ".join)
)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(texts, st.lists(texts, min_size=1, max_size=3)), min_size=1, max_size=4), st.booleans())
def test_random_text(pairs: list[tuple[str, list[str]]], stemmer: bool) -> None:
    check([output for output, _ in pairs], [refs for _, refs in pairs], stemmer)


def test_texts_of_a_megabyte() -> None:
    """rouge-score's table of cells would take 200 GiB here."""
    words = [f"w{i % 997}" for i in range(60_000)]
    rows = Rouge(["rouge1", "rougeL", "rougeLsum"]).statistics([" ".join(words)], [[" ".join(words[:30_000])]], [None])
    assert rows[0, [2, 5, 8]].tolist() == [1.0, 1.0, 1.0]
    assert rows[0, [1, 4, 7]] == pytest.approx(0.5)


def test_signature_and_names() -> None:
    metric = Rouge(["rougeL", "rougeL"], stemmer=True)
    assert metric.score_names == ("rougeL", "rougeL.precision", "rougeL.recall")
    assert str(metric.signature([["a"]])) == (
        "nrefs:1|tok:rouge_score|case:lc|stem:porter|refs:best-f|sentences:newline|version:0.1.2"
    )


def test_bad_types() -> None:
    with pytest.raises(HarnessError, match="metrics.rouge.types has 'rouge0'; expected rouge1 to rouge9"):
        Rouge(["rouge0"])
    with pytest.raises(HarnessError, match="metrics.rouge.types is empty"):
        Rouge([])
