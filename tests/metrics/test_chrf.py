"""chrF and chrF++ against sacreBLEU itself, corpus and sentence level, on real and hostile text."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sacrebleu
from hypothesis import example, given
from hypothesis import strategies as st

from harness.datasets.embedded import EmbeddedDataset
from harness.metrics.chrf import Chrf, ChrfPlusPlus
from harness.systems.lead import Lead
from harness.types import Batch, HarnessError
from tests.metrics.hostile import LONG, pairs

OPTIONS: list[dict[str, Any]] = [
    {},
    {"word_order": 2},
    {"word_order": 1, "lowercase": True},
    {"whitespace": True},
    {"eps_smoothing": True},
    {"eps_smoothing": True, "word_order": 2, "char_order": 3},
    {"beta": 3, "char_order": 1},
]


def check(outputs: list[str], references: list[list[str]], options: dict[str, Any]) -> None:
    """Corpus and sentence scores agree to 1e-9."""
    metric = Chrf(**options)
    rows = metric.statistics(Batch(outputs, references))
    streams = [[refs[i] if i < len(refs) else None for refs in references] for i in range(max(map(len, references)))]
    theirs = sacrebleu.CHRF(**options)
    corpus = theirs.corpus_score(outputs, streams)  # type: ignore[arg-type]
    assert metric.score(rows.sum(0)).tolist() == pytest.approx([corpus.score], abs=1e-9)
    sentences = [theirs.sentence_score(output, refs).score for output, refs in zip(outputs, references, strict=True)]
    assert metric.score_examples(rows)[:, 0].tolist() == pytest.approx(sentences, abs=1e-9)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_embedded_data(options: dict[str, Any]) -> None:
    examples = list(EmbeddedDataset().examples())[:20]
    outputs = [output.text or "" for output in Lead().generate(examples)]
    check(outputs, [list(example.references) for example in examples], options)


ANY = st.fixed_dictionaries(
    {
        "char_order": st.integers(1, 8),
        "word_order": st.integers(0, 3),
        "beta": st.integers(1, 3),
        "lowercase": st.booleans(),
        "whitespace": st.booleans(),
        "eps_smoothing": st.booleans(),
    }
)


@given(pairs(), ANY)
@example([(":Ā", [":"]), ("Ā:", ["Ā"])], {"word_order": 1})
def test_hostile_text(cases: list[tuple[str, list[str]]], options: dict[str, Any]) -> None:
    check([output for output, _ in cases], [refs for _, refs in cases], options)


@pytest.mark.slow
def test_lines_of_100_000_characters() -> None:
    check(LONG, [[LONG[0], text[:50_000]] for text in LONG], {"word_order": 2})


def test_signature_is_sacrebleus() -> None:
    references = [["a b", "x"], ["c", "d"]]
    for options in OPTIONS[:-1]:
        theirs = sacrebleu.CHRF(**options)
        theirs.corpus_score(["a", "b"], [["a b", "c"], ["x", "d"]])
        assert str(Chrf(**options).signature(references)) == str(theirs.get_signature())
    assert "beta:3" in str(Chrf(beta=3).signature(references))  # which sacreBLEU leaves out


def test_plus_plus_has_words() -> None:
    assert ChrfPlusPlus().columns == Chrf(word_order=2).columns
    assert ChrfPlusPlus().score_names == ("chrfpp",)


def test_missing_rows_stay_missing() -> None:
    assert np.isnan(Chrf().score(np.full((2, 18), np.nan))).all()


def test_bad_options() -> None:
    with pytest.raises(HarnessError, match="metrics.chrfpp.char_order=0; expected 1 to 100"):
        ChrfPlusPlus(char_order=0)
