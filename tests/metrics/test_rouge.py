"""ROUGE against the package rouge-score itself."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rouge_score.rouge_scorer import RougeScorer

from harness.datasets.embedded import EmbeddedDataset
from harness.metrics.rouge import Rouge
from harness.metrics.rouge155 import Rules, scores
from harness.metrics.tokenizers import tokenizer, unicode_words
from harness.systems.lead import Lead
from harness.types import Batch, HarnessError
from tests.metrics.hostile import lines, pairs

TYPES = ["rouge1", "rouge2", "rouge9", "rougeL", "rougeLsum"]


def check(outputs: list[str], references: list[list[str]], stemmer: bool) -> None:
    metric = Rouge(TYPES, stemmer)
    rows = metric.statistics(Batch(outputs, references))
    scorer = RougeScorer(TYPES, use_stemmer=stemmer)
    expected = [scorer.score_multi(refs, output) for output, refs in zip(outputs, references, strict=True)]
    corpus = dict(zip(metric.score_names, metric.score(rows.sum(0)), strict=True))
    for name in TYPES:
        for part, field in (("", "fmeasure"), (".precision", "precision"), (".recall", "recall")):
            column = metric.score_names.index(name + part)
            values = [getattr(scores[name], field) for scores in expected]
            assert metric.score_examples(rows)[:, column].tolist() == pytest.approx(values, abs=1e-12)
            assert corpus[name + part] == pytest.approx(sum(values) / len(values), abs=1e-12)


@pytest.mark.parametrize("stemmer", [False, True])
def test_embedded_data(stemmer: bool) -> None:
    examples = list(EmbeddedDataset().examples())[:40]
    outputs = [(output.text or "").replace(", ", ",\n") for output in Lead(2).generate(examples)]
    check(outputs, [list(e.references) for e in examples], stemmer)


@given(pairs(), st.booleans())
def test_hostile_text(cases: list[tuple[str, list[str]]], stemmer: bool) -> None:
    check([output for output, _ in cases], [refs for _, refs in cases], stemmer)


@given(pairs(lines))
def test_ties_between_sentences(cases: list[tuple[str, list[str]]]) -> None:
    check([output for output, _ in cases], [refs for _, refs in cases], False)


@pytest.mark.parametrize("seed", range(6))
def test_long_sentences(seed: int) -> None:
    """Longer than a block of 62 and a stretch of 256 tokens, where carries and checkpoints come in."""
    rng = np.random.default_rng(seed)

    def text(count: int) -> str:
        return "\n".join(" ".join(rng.choice(list("abcdefgh"), size)) for size in rng.integers(0, 600, count))

    cases = [(text(2), [text(2), text(1)]), (text(1), [text(3)])]
    check([output for output, _ in cases], [refs for _, refs in cases], False)


@pytest.mark.parametrize("size", [61, 62, 63, 124, 125, 255, 256, 257, 511, 512, 513])
def test_sentences_of_the_sizes_of_blocks(size: int) -> None:
    words = [f"w{i % 50}" for i in range(size)]
    other = words[::-1]
    check([" ".join(words) + "\nx", " ".join(other)], [[" ".join(other) + "\ny"], ["a\n" + " ".join(words)]], False)


@pytest.mark.parametrize("name", ["unicode", "char", "13a", "intl", "zh"])
def test_other_tokenizers(name: str) -> None:
    """As RougeScorer with a custom tokenizer that lower-cases."""
    ours = tokenizer(name) if name != "unicode" else unicode_words()

    class Given:
        def tokenize(self, text: str) -> list[str]:
            return ours.spelt([text.lower()])[0]

    outputs = ["O João comeu a maçã.\nE o pão!", "他坐在垫子上。"]
    references = [["A Maçã foi comida pelo João.\nO pão também."], ["猫坐在垫子上。", "他在垫子上"]]
    metric = Rouge(TYPES, tokenizer=name)
    scorer = RougeScorer(TYPES, tokenizer=Given())
    expected = [scorer.score_multi(refs, output) for output, refs in zip(outputs, references, strict=True)]
    rows = metric.statistics(Batch(outputs, references))
    for i, triples in enumerate(expected):
        values = [
            value
            for type_ in TYPES
            for value in (triples[type_].fmeasure, triples[type_].precision, triples[type_].recall)
        ]
        assert rows[i, :-1].tolist() == pytest.approx(values, abs=1e-12)
    assert (rows[1, metric.score_names.index("rouge1")] > 0) == (name != "13a")  # which leaves a Chinese sentence whole
    assert f"tok:{name}" in str(metric.signature(references))


@pytest.mark.parametrize(
    ("text", "warned"),
    [
        ("他坐在垫子上。", True),
        ("Кошка сидит на ковре", True),
        ("A maçã não é do João", False),
        ("the cat", False),
        ("", False),
    ],
)
def test_a_warning_where_most_is_dropped(text: str, warned: bool, caplog: pytest.LogCaptureFixture) -> None:
    Rouge().fit([[text]] * 3)
    assert ["metrics.rouge.tokenizer=unicode" in record.message for record in caplog.records] == [True] * warned
    caplog.clear()
    Rouge(tokenizer="unicode").fit([[text]])
    assert not caplog.records


def test_perl_rules_through_the_metric(tmp_path: Path) -> None:
    (tmp_path / "stop").write_text("the\nof\n")
    outputs, references = ["The cat sat.\nThe end of it."], [["A cat sat down.\nIt is the end."]]
    types = ["rouge1", "rougeL", "rougeLsum", "rougeW", "rougeS", "rougeSU"]
    metric = Rouge(types, compat="rouge155", skip=2, stopwords=str(tmp_path / "stop"), references="best", alpha=0.3)
    rows = metric.statistics(Batch(outputs, references))
    rules = Rules(("rouge1", "rougeL", "rougeL", "rougeW", "rougeS", "rougeSU"), skip=2, references="best", alpha=0.3,
                  stopwords=frozenset({"the", "of"}))  # fmt: skip
    assert rows[0].tolist() == [*scores(outputs, references, rules)[0], 1.0]
    assert metric.score_names[3:9] == (
        "rougeL", "rougeL.precision", "rougeL.recall", "rougeLsum", "rougeLsum.precision", "rougeLsum.recall"
    )  # fmt: skip
    signature = str(metric.signature(references))
    assert "|compat:rouge155|stem:no|stop:" in signature
    assert signature.endswith("|limit:no|skip:2|weight:1.2|alpha:0.3|refs:best|sentences:newline|version:1.5.5")


def test_texts_of_a_megabyte() -> None:
    """rouge-score's table of cells would take 200 GiB here."""
    words = [f"w{i % 997}" for i in range(60_000)]
    rows = Rouge(["rouge1", "rougeL", "rougeLsum"]).statistics(Batch([" ".join(words)], [[" ".join(words[:30_000])]]))
    assert rows[0, [2, 5, 8]].tolist() == [1.0, 1.0, 1.0]
    assert rows[0, [1, 4, 7]] == pytest.approx(0.5)


def test_signature_and_names() -> None:
    metric = Rouge(["rougeL", "rougeL"], stemmer=True)
    assert metric.score_names == ("rougeL", "rougeL.precision", "rougeL.recall")
    assert str(metric.signature([["a"]])) == (
        f"nrefs:1|tok:rouge_score|case:lc|stem:porter|refs:best-f|sentences:newline|nltk:{version('nltk')}|version:0.1.2"
    )
    assert str(Rouge().signature([["a"]])).endswith("|sentences:newline|version:0.1.2")


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"types": ["rouge0"]}, "metrics.rouge.types has 'rouge0'; expected rouge1 to rouge9"),
        ({"types": []}, "metrics.rouge.types is empty"),
        (
            {"types": ["rougeW"]},
            "types has rougeW, which rouge-score does not have; expected metrics.rouge.compat=rouge155",
        ),
        ({"skip": 4}, "metrics.rouge.skip=4, which rouge-score does not have; expected metrics.rouge.compat=rouge155"),
        ({"compat": "perl"}, "metrics.rouge.compat=perl; expected rouge_score or rouge155"),
        (
            {"stemmer": True, "tokenizer": "unicode"},
            "metrics.rouge.stemmer=true with tokenizer=unicode; expected tokenizer=",
        ),
        ({"compat": "rouge155", "tokenizer": "char"}, "metrics.rouge.tokenizer=char with compat=rouge155"),
        ({"compat": "rouge155", "skip": -2}, "metrics.rouge.skip=-2; expected at least -1"),
        ({"compat": "rouge155", "max_words": 0}, "metrics.rouge.max_words=0; expected at least 1"),
        ({"compat": "rouge155", "alpha": 1.5}, "metrics.rouge.alpha=1.5; expected 0 to 1"),
        ({"compat": "rouge155", "references": "first"}, "metrics.rouge.references=first; expected average or best"),
    ],
)
def test_bad_options(options: dict[str, Any], expected: str) -> None:
    with pytest.raises(HarnessError) as raised:
        Rouge(**options)
    assert expected in str(raised.value)
