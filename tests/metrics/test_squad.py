"""Exact match and token F1 against the definition of SQuAD 1.1's script, written a second time without any haste."""

from __future__ import annotations

import re
import string

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.datasets.embedded import EmbeddedDataset
from harness.metrics.squad import ExactMatch, TokenF1
from harness.systems.lead import Lead
from harness.types import Batch, Metric


def plainly(text: str) -> list[str]:
    """The tokens of a text: lower case, no punctuation, no articles."""
    kept = "".join(character for character in text.lower() if character not in string.punctuation)
    return re.sub(r"\b(a|an|the)\b", " ", kept).split()


def plain_f1(output: str, reference: str) -> float:
    ours, theirs = plainly(output), plainly(reference)
    left, common = list(theirs), 0
    for token in ours:
        if token in left:
            left.remove(token)
            common += 1
    return 2 * common / (len(ours) + len(theirs)) if common else 0.0


def check(outputs: list[str], references: list[list[str]]) -> None:
    matches = [float(any(plainly(o) == plainly(r) for r in refs)) for o, refs in zip(outputs, references, strict=True)]
    f1s = [max(plain_f1(o, r) for r in refs) for o, refs in zip(outputs, references, strict=True)]
    for metric, values in ((ExactMatch(), matches), (TokenF1(), f1s)):
        rows = metric.statistics(Batch(outputs, references))
        assert metric.score_examples(rows)[:, 0].tolist() == pytest.approx([100 * v for v in values], abs=1e-9)
        assert metric.score(rows.sum(0)).tolist() == pytest.approx([100 * sum(values) / len(values)], abs=1e-9)


@pytest.mark.parametrize(
    ("output", "references", "exact", "f1"),
    [  # by hand from the definition; the script, as in Hugging Face's evaluate (metrics/squad), gives the same
        ("Denver Broncos", ["Denver Broncos", "Denver Broncos", "Denver"], 100, 100),
        ("The Denver Broncos!", ["denver broncos"], 100, 100),
        ("Broncos of Denver", ["Denver Broncos"], 0, 80),
        ("Denver", ["Carolina Panthers", "Denver Broncos"], 0, 200 / 3),
        ("the the cat", ["cat cat"], 0, 200 / 3),
        ("b b b", ["b b c"], 0, 200 / 3),
        ("gold", ["silver"], 0, 0),
        ("", ["gold"], 0, 0),
        ("", [""], 100, 0),  # 2.0 would give F1 100
        ("The.", ["a, an"], 100, 0),
        ("1990s-style", ["1990sstyle"], 100, 100),  # punctuation goes without leaving a space
        ("theatre", ["atre"], 0, 0),  # articles are whole words
        ("a_b", ["ab"], 100, 100),  # the underscore is punctuation, and goes before the articles are looked for
        ("a-b", ["b"], 0, 0),
        ("“gold”", ["gold"], 0, 0),  # ASCII punctuation only
        ("l'an 2000", ["lan 2000"], 100, 100),
        ("\u3000gold\u2028 medal\x1f", ["gold medal"], 100, 100),
        ("ÉCOLE", ["école"], 100, 100),
        ("aé the", ["aé"], 100, 100),
    ],
)
def test_goldens(output: str, references: list[str], exact: float, f1: float) -> None:
    for metric, expected in ((ExactMatch(), exact), (TokenF1(), f1)):
        rows = metric.statistics(Batch([output], [references]))
        assert metric.score(rows.sum(0)) == pytest.approx(expected, abs=1e-9)
    check([output], [references])


def test_a_run_is_the_mean_over_examples() -> None:
    outputs, references = ["x", "a b c d", "q r"], [["x"], ["b c"], ["r s", "q"]]
    for metric, expected in ((ExactMatch(), 100 / 3), (TokenF1(), (100 + 80 + 200 / 3) / 3)):
        assert metric.score(metric.statistics(Batch(outputs, references)).sum(0)) == pytest.approx(expected)


def test_embedded_data() -> None:
    examples = list(EmbeddedDataset().examples())[:40]
    check([output.text or "" for output in Lead().generate(examples)], [list(e.references) for e in examples])


texts = st.one_of(
    st.text(max_size=20),
    st.lists(
        st.sampled_from(
            [
                "a",
                "an",
                "The",
                "cat",
                "Cat.",
                "-",
                "_",
                "a.",
                "’",
                "中文",
                "İ",
                "e\u0301",
                "😀",
                "\x1c",
                "\u3000",
                "1,000",
            ]
        )
    ).map(" ".join),
    st.text(alphabet="aAnthe _-.'\n\u00a0", max_size=12),
)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(texts, st.lists(texts, min_size=1, max_size=3)), min_size=1, max_size=5))
def test_random_and_hostile_text(pairs: list[tuple[str, list[str]]]) -> None:
    check([output for output, _ in pairs], [refs for _, refs in pairs])


def test_every_character_beside_an_article() -> None:
    """Some end a word though they are no white space, and stay: “the”."""
    codes = [*range(0x3100), *range(0xA640, 0xA700), *range(0xFE00, 0xFFFE), *range(0x1F300, 0x1F700)]
    check([f"the{chr(code)}A b{chr(code)} {chr(code)}an" for code in codes], [["b"]] * len(codes))
    check([f"the{chr(code)}A b{chr(code)}" for code in codes], [[f"{chr(code)} b{chr(code)}"] for code in codes])


@pytest.mark.parametrize("metric", [ExactMatch(), TokenF1()], ids=lambda metric: metric.name)
def test_signature_and_missing_rows(metric: Metric) -> None:
    assert str(metric.signature([["a", "b"]])) == "nrefs:2|norm:squad1.1|refs:max"
    assert metric.score_names == (metric.name,)
    assert np.isnan(metric.score(np.full((3, 2), np.nan))).all()
    assert np.isnan(metric.score(np.zeros(2))).all()
