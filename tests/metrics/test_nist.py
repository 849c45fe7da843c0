"""NIST against NLTK itself, and by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from nltk.translate.nist_score import corpus_nist

import harness
from harness.inputs import arrow
from harness.metrics import nist
from harness.metrics.nist import Nist
from harness.metrics.tokenizers import lowered_ascii
from harness.types import Batch, HarnessError
from tests.metrics.hostile import texts

words = st.lists(st.sampled_from("abcde"), min_size=5, max_size=12).map(" ".join)


def check(outputs: list[str], references: list[list[str]], order: int) -> None:
    metric = Nist(tokenize="none", max_order=order, lowercase=False)
    rows = metric.statistics(Batch(outputs, references))
    theirs = corpus_nist([[r.split() for r in refs] for refs in references], [o.split() for o in outputs], n=order)
    scores = metric.score(rows.sum(0))
    assert scores[0] == pytest.approx(theirs, abs=1e-9)
    assert scores[1:].sum() == pytest.approx(theirs, abs=1e-9)


@given(st.lists(st.tuples(words, st.lists(words, min_size=1, max_size=3)), min_size=1, max_size=5), st.integers(1, 5))
@example(
    [
        ("a a a a a", ["a a a a a", "a a b c c d d d"]),
        ("a a a a a", ["a a a a b b c d d"]),
        ("a b b c c", ["a a a a a b b", "a a a a b c c c c d d d", "a a b b c d"]),
    ],
    1,
)  # found by make fuzz: two references that give equally much but for the last bit
def test_random_text(cases: list[tuple[str, list[str]]], order: int) -> None:
    check([output for output, _ in cases], [refs for _, refs in cases], order)


@given(st.lists(texts, min_size=1, max_size=4))
def test_hostile_text(cases: list[str]) -> None:
    """NLTK divides by zero where no output has an n-gram of the order; one that has them all stands beside."""
    full = "a b c d e f"
    check([*cases, full], [[case[::-1], case + " a b"] for case in cases] + [[full]], 5)


def test_by_hand() -> None:
    """Six words, `the` twice: log2(6/2) + 2 log2(6/1) over three words; then log2(2/1) and 0 over two pairs."""
    metric = Nist(tokenize="none", max_order=2)
    rows = metric.statistics(Batch(["the cat sat"], [["the cat sat on the mat"]]))
    penalty = math.exp(math.log(0.5) / math.log(1.5) ** 2 * math.log(3 / 6) ** 2)
    expected = [(math.log2(3) + 2 * math.log2(6)) / 3 * penalty, 1 / 2 * penalty]
    assert metric.score(rows.sum(0)).tolist() == pytest.approx([sum(expected), *expected], abs=1e-12)


def test_only_ascii_is_lowered_as_in_mteval() -> None:
    metric = Nist()
    assert metric.score(metric.statistics(Batch(["THE CAT"], [["the cat"]])).sum(0))[0] > 0
    assert metric.score(metric.statistics(Batch(["ДОМ"], [["дом"]])).sum(0))[0] == 0
    assert metric.score(metric.statistics(Batch(["&QUOT;"], [['" a']])).sum(0))[0] == 0  # entities come first


def test_weights_come_from_all_references_and_stay_fixed() -> None:
    outputs, references = ["a b c", "a b", "x y"], [["a b c"], ["a b d"], ["x z"]]
    fitted = Nist(tokenize="none", max_order=2).fit(references)
    whole = fitted.statistics(Batch(outputs, references))
    parts = np.concatenate([fitted.statistics(Batch(outputs[i:i + 1], references[i:i + 1])) for i in range(3)])  # fmt: skip
    assert whole.tolist() == parts.tolist()
    assert fitted.signature(references) == Nist(tokenize="none", max_order=2).fit(references[::-1]).signature(
        references
    )
    assert fitted.context != Nist(tokenize="none", max_order=2).fit(references[:2]).context
    result = harness.evaluate(outputs, references, [{"nist": {"tokenize": "none", "max_order": 2}}], resamples=50)
    assert result.scores["nist"].estimate == pytest.approx(fitted.score(whole.sum(0))[0])
    assert f"info:{fitted.context}" in result.scores["nist"].signature


def test_chunks_of_the_references_make_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor how often the table of n-grams grows meanwhile."""
    references = [[" ".join(f"w{i * j % 23}" for j in range(1, 9 + i % 5))] for i in range(200)]
    outputs = [refs[0][::-1] + refs[0] for refs in references]
    rows = []
    for chunk in (7, 200):
        monkeypatch.setattr(nist, "_CHUNK", chunk)
        metric = Nist(max_order=9).fit(references)
        rows.append(metric.statistics(Batch(outputs, references)).tolist())
    assert rows[0] == rows[1]
    check(outputs, references, 9)


def test_lower_case_is_that_of_ascii() -> None:
    """Of every character, beside others and alone."""
    upper = {c: c + 32 for c in range(ord("A"), ord("Z") + 1)}
    every = [chr(c) for c in range(0x110000)]
    assert arrow.plain(lowered_ascii(arrow.column(every))) == [c.translate(upper) for c in every]
    assert arrow.plain(lowered_ascii(arrow.column(["".join(every)]))) == ["".join(every).translate(upper)]


def test_empty_and_short_outputs() -> None:
    metric = Nist()
    assert metric.score(metric.statistics(Batch([""], [["a b"]])).sum(0))[0] == 0
    assert metric.score(metric.statistics(Batch([""], [[""]])).sum(0))[0] == 0
    assert np.isnan(metric.score(np.full((2, 12), np.nan))).all()


def test_bad_options() -> None:
    with pytest.raises(HarnessError, match="metrics.nist.max_order=0; expected 1 to 9"):
        Nist(max_order=0)


def test_says_that_it_grows_with_the_data() -> None:
    scored = harness.evaluate(["a b c"] * 8, ["a b d"] * 8, ["nist"], resamples=50).scores
    assert scored["nist"].note is not None
    assert scored["nist"].note.endswith("a larger one scores higher: compare on the same data only")
