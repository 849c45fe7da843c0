"""ROUGE-1.5.5: every number here was printed by the Perl script for these texts; its options stand beside them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.metrics import rouge155
from harness.metrics.rouge155 import Rules, read_stopwords, scores
from harness.types import HarnessError

TYPES = ("rouge1", "rouge2", "rougeL", "rougeW", "rougeS", "rougeSU")
STOP = frozenset({"the", "a", "on", "and", "by"})
OUTPUT = "The storm closed the harbour on Monday.\nShips waited outside the well-known port, and the ferries stopped."
REFERENCES = [
    "A storm closed the port on Monday.\nThe ferry stopped and 12 ships waiting outside anchored.",
    "Monday: ferries stopping everywhere.\nThe harbours were closing, closed by the storms; ships wait.",
]
# F, precision and recall of each type as Perl ROUGE-1.5.5 prints them with `-d -n 2 -z SPL` and the options here; its file
# of stop words held STOP. Where these words are in its WordNet table, Porter gives the same matches.
# fmt: off
OPTIONS: list[tuple[str, dict[str, Any], str]] = [
    ("-w 1.2 -2 4 -U", {}, "0.51515 0.47222 0.56667 | 0.09678 0.08824 0.10714 | 0.39394 0.36111 0.43333 | 0.27613 0.31236 0.24743 | 0.18519 0.16667 0.20833 | 0.24699 0.22283 0.27703"),
    ("-w 1.2 -2 0 -U", {"skip": 0}, "0.51515 0.47222 0.56667 | 0.09678 0.08824 0.10714 | 0.39394 0.36111 0.43333 | 0.27613 0.31236 0.24743 | 0.09678 0.08824 0.10714 | 0.30645 0.27941 0.33929"),
    ("-w 1.2 -2 20 -U", {"skip": 20}, "0.51515 0.47222 0.56667 | 0.09678 0.08824 0.10714 | 0.39394 0.36111 0.43333 | 0.27613 0.31236 0.24743 | 0.21664 0.18301 0.26540 | 0.24870 0.21176 0.30126"),
    ("-w 1.2 -2 -1 -U", {"skip": -1}, "0.51515 0.47222 0.56667 | 0.09678 0.08824 0.10714 | 0.39394 0.36111 0.43333 | 0.27613 0.31236 0.24743 | 0.21664 0.18301 0.26540 | 0.24870 0.21176 0.30126"),
    ("-w 1.2 -2 4 -U -m", {"stemmer": True}, "0.69697 0.63889 0.76667 | 0.35484 0.32353 0.39286 | 0.45455 0.41667 0.50000 | 0.35342 0.39979 0.31669 | 0.25926 0.23333 0.29167 | 0.33132 0.29891 0.37162"),
    ("-w 1.2 -2 4 -U -s", {"stopwords": STOP}, "0.47826 0.45833 0.50000 | 0.04762 0.04545 0.05000 | 0.43479 0.41667 0.45455 | 0.31290 0.35995 0.27673 | 0.08235 0.07778 0.08750 | 0.16038 0.15179 0.17000"),
    ("-w 1.2 -2 4 -U -m -s", {"stemmer": True, "stopwords": STOP}, "0.73913 0.70833 0.77273 | 0.28572 0.27273 0.30000 | 0.56522 0.54167 0.59091 | 0.41085 0.47263 0.36336 | 0.21176 0.20000 0.22500 | 0.30188 0.28571 0.32000"),
    ("-w 1.2 -2 4 -U -l 9", {"max_words": 9}, "0.50000 0.50000 0.50000 | 0.18750 0.18750 0.18750 | 0.50000 0.50000 0.50000 | 0.35833 0.42607 0.30918 | 0.20000 0.20000 0.20000 | 0.26316 0.26316 0.26316"),
    ("-w 1.2 -2 4 -U -b 50", {"max_bytes": 50}, "0.45714 0.44444 0.47059 | 0.19355 0.18750 0.20000 | 0.34042 0.44444 0.27586 | 0.24619 0.42126 0.17391 | 0.19130 0.18333 0.20000 | 0.26027 0.25000 0.27143"),
    ("-w 1.2 -2 4 -U -f B", {"references": "best"}, "0.64706 0.61111 0.68750 | 0.18750 0.17647 0.20000 | 0.47059 0.44444 0.50000 | 0.33779 0.39688 0.29402 | 0.28572 0.26667 0.30769 | 0.34884 0.32609 0.37500"),
    ("-w 2 -2 4 -U -f B", {"weight": 2.0, "references": "best"}, "0.64706 0.61111 0.68750 | 0.18750 0.17647 0.20000 | 0.47059 0.44444 0.50000 | 0.08331 0.34247 0.04742 | 0.28572 0.26667 0.30769 | 0.34884 0.32609 0.37500"),
    ("-w 1.2 -2 4 -U -p 0.3", {"alpha": 0.3}, "0.53459 0.47222 0.56667 | 0.10067 0.08824 0.10714 | 0.40880 0.36111 0.43333 | 0.26389 0.31236 0.24743 | 0.19380 0.16667 0.20833 | 0.25819 0.22283 0.27703"),
]
# Likewise with `-d -n 2 -w 1.2 -2 4 -U -z SPL`.
TEXTS: list[tuple[str, list[str], str]] = [
    ('', ['some words here'], "0.00000 0.00000 0.00000 | 0.00000 0.00000 0.00000 | 0.00000 0.00000 0.00000 | 0.00000 0.00000 0.00000 | 0.00000 0.00000 0.00000 | 0.00000 0.00000 0.00000"),
    ('storm', ['storm'], "1.00000 1.00000 1.00000 | 0.00000 0.00000 0.00000 | 1.00000 1.00000 1.00000 | 1.00000 1.00000 1.00000 | 0.00000 0.00000 0.00000 | 0.00000 0.00000 0.00000"),
    ('...\n-- !', ['a b'], "0.00000 0.00000 0.00000 | 0.00000 0.00000 0.00000 | 0.00000 0.00000 0.00000 | 0.00000 0.00000 0.00000 | 0.00000 0.00000 0.00000 | 0.00000 0.00000 0.00000"),
    ('the the the cat cat\nthe cat sat\nthe cat', ['the cat the cat the\nthe mat the cat'], "0.84211 0.80000 0.88889 | 0.58824 0.55556 0.62500 | 0.73684 0.70000 0.77778 | 0.54057 0.59940 0.49225 | 0.61539 0.57143 0.66667 | 0.65854 0.61364 0.71053"),
    ('d c b a', ['a b c d'], "1.00000 1.00000 1.00000 | 0.00000 0.00000 0.00000 | 0.25000 0.25000 0.25000 | 0.21556 0.25000 0.18946 | 0.00000 0.00000 0.00000 | 0.22222 0.22222 0.22222"),
    ("Le café naïve, l'ÉTÉ 3.14 — 中文 x", ['le cafe naïve l’été 3,14 中 x'], "0.88889 0.88889 0.88889 | 0.75000 0.75000 0.75000 | 0.88889 0.88889 0.88889 | 0.65837 0.84003 0.54131 | 0.80000 0.80000 0.80000 | 0.81579 0.81579 0.81579"),
    ('\n\n a_b  C-d\t\n\n \nE\r\n', ['a b c\n\nd e', 'e d\nc b a'], "1.00000 1.00000 1.00000 | 0.50000 0.50000 0.50000 | 0.80000 0.80000 0.80000 | 0.65422 0.72191 0.59814 | 0.50000 0.50000 0.50000 | 0.60714 0.60714 0.60714"),
    ('a b c x a b', ['a b c\nx a b\nx c'], "0.85714 1.00000 0.75000 | 0.83334 1.00000 0.71429 | 0.85714 1.00000 0.75000 | 0.67784 0.89090 0.54702 | 0.75000 1.00000 0.60000 | 0.76923 1.00000 0.62500"),
    ('p q r s t u v w', ['p q r s x t\nu v w p q', 's t u v\nw x y z'], "0.74286 0.81250 0.68421 | 0.64517 0.71429 0.58824 | 0.74286 0.81250 0.68421 | 0.54522 0.71789 0.43951 | 0.55652 0.64000 0.49231 | 0.58904 0.67188 0.52439"),
    ('a b a b c a b c d\nb c d', ['a b c d\na b a b\nc d'], "0.90909 0.83333 1.00000 | 0.80000 0.72727 0.88889 | 0.90909 0.83333 1.00000 | 0.67582 0.69985 0.65338 | 0.72500 0.64444 0.82857 | 0.76000 0.67857 0.86364"),
]
# fmt: on


def printed(output: str, references: list[str], rules: Rules) -> str:
    table = scores([output], [references], rules).reshape(-1, 3)
    return " | ".join(" ".join(f"{x:.5f}" for x in triple) for triple in table)


@pytest.mark.parametrize(("options", "rules", "expected"), OPTIONS, ids=[options for options, _, _ in OPTIONS])
def test_options(options: str, rules: dict[str, Any], expected: str) -> None:
    assert printed(OUTPUT, REFERENCES, Rules(TYPES, **rules)) == expected


@pytest.mark.parametrize(("output", "references", "expected"), TEXTS)
def test_texts(output: str, references: list[str], expected: str) -> None:
    assert printed(output, references, Rules(TYPES)) == expected


def test_stems() -> None:
    """Stems from the script's own stemmer; its table of exceptions has none of these words."""
    words = "governmental yellows syzygy geology agreement 1990s relational hopefulness adjustment controller"
    stems = "govern yellow syzygi geologi agreem 1990 relat hope adjust control"
    assert [rouge155._stem(word) for word in words.split()] == stems.split()


def test_words_of_three_letters_are_not_stemmed() -> None:
    assert scores(["ads adds"], [["ad add"]], Rules(("rouge1",), stemmer=True))[0, 0] == 0.5


def test_f_comes_from_printed_values() -> None:
    """R 3/19 and P 3/6 make 0.24, but the script divides 0.15789 and 0.50000 and prints 0.23999."""
    output, reference = "a b c x y z", "a b c " + " ".join("defghijklmnopqrs")
    f, precision, recall = scores([output], [[reference]], Rules(("rouge1",)))[0]
    assert (round(f, 5), precision, recall) == (0.23999, 3 / 6, 3 / 19)


def test_best_reference_has_the_best_recall() -> None:
    """The second reference has the better F, the first the better recall."""
    rules = Rules(("rouge1",), references="best")
    assert scores(["a b c d e f"], [["a", "a b c d e x"]], rules)[0].round(5).tolist() == [0.28572, 0.16667, 1.0]


def test_bytes_are_counted_per_sentence_by_rouge_l() -> None:
    """4 bytes are `a b` and `c` to ROUGE-1; to ROUGE-L no sentence has 4, so that the reference keeps six words."""
    rules = Rules(("rouge1", "rougeL"), max_bytes=4)
    values = scores(["a b\nc d\ne f"], [["a b\nc d\ne f"]], rules)[0]
    assert values.round(5).tolist() == [1.0, 1.0, 1.0, 0.66667, 1.0, 0.5]


def test_nothing_to_score() -> None:
    """Perl divides by zero at ROUGE-W of an empty reference; the other values are what it prints."""
    assert not scores(["a b", ""], [[""], [""]], Rules(TYPES)).any()
    assert np.isnan(scores(["a b"], [[]], Rules(TYPES))).all()
    assert scores([], [], Rules(TYPES)).shape == (0, 18)
    best = scores(["a b"], [["", "a b"]], Rules(("rouge1", "rougeL", "rougeS"), references="best"))
    assert best.tolist() == [[1.0] * 9]


def test_progress() -> None:
    seen: list[int] = []
    scores(["a", "b"], [["a"], []], Rules(("rouge1",)), seen.append)
    assert seen == [1, 1]


def test_stop_words(tmp_path: Path) -> None:
    path = tmp_path / "stop.txt"
    path.write_bytes(b"the\r\nof\n\nit's")
    assert read_stopwords(path) == {"the", "of", "", "it's"}
    assert scores(["the cat of"], [["cat"]], Rules(("rouge1",), stopwords=read_stopwords(path)))[0, 0] == 1.0
    with pytest.raises(HarnessError, match="none.txt: No such file.*expected a file of stop words"):
        read_stopwords(tmp_path / "none.txt")
    path.write_bytes(b"the\n\xff")
    with pytest.raises(HarnessError, match="stop.txt is not UTF-8 at byte 4; expected stop words"):
        read_stopwords(path)


def test_long_texts() -> None:
    """A megabyte, and two lines whose table is gone through block by block."""
    text = "\n".join(f"w{i % 977} w{i % 31} w{i % 7}" for i in range(60_000))
    assert scores([text], [[text]], Rules(("rouge1", "rouge9", "rougeSU"))).tolist() == [[1.0] * 9]
    line = " ".join(f"w{i % 977}" for i in range(5000))
    assert scores([line], [[line]], Rules(("rougeL",))).tolist() == [[1.0] * 3]


lines = st.lists(st.lists(st.sampled_from("abcd"), max_size=9).map(" ".join), max_size=4).map("\n".join)
words = st.lists(st.integers(0, 5), max_size=60)
weights = st.sampled_from([0.5, 1.0, 1.2, 2.0])


@given(lines, lines, weights, st.integers(0, 40))
@settings(deadline=None)
def test_blocks_of_the_table(output: str, reference: str, weight: float, cells: int) -> None:
    """A table kept whole and one computed block by block mark the same words."""
    rules = Rules(("rougeL", "rougeW"), weight=weight)
    expected = scores([output], [[reference]], rules)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rouge155, "_CELLS", cells)
        assert scores([output], [[reference]], rules).tolist() == expected.tolist()


@given(words, words, st.integers(1, 70))
@settings(deadline=None)
def test_skip_bigrams(a: list[int], b: list[int], reach: int) -> None:
    def pairs(tokens: list[int]) -> Counter[tuple[int, int]]:
        near = range(1, reach + 1)
        return Counter((x, tokens[i + d]) for i, x in enumerate(tokens) for d in near if i + d < len(tokens))

    assert rouge155._skip_hits(a, b, reach) == (pairs(a) & pairs(b)).total()
    assert rouge155._pairs(len(a), reach) == pairs(a).total()


@given(st.text(max_size=40) | lines, st.lists(st.text(max_size=40) | lines, min_size=1, max_size=3), st.booleans())
@settings(deadline=None)
def test_any_text(output: str, references: list[str], stemmer: bool) -> None:
    rules = Rules((*TYPES, "rouge9"), stemmer, skip=0)
    table = scores([output], [references], rules).reshape(-1, 3)
    unigrams, bigrams, lcs, _, skip, *_ = table.tolist()
    assert ((table >= 0) & (table <= 1)).all()
    assert bigrams == skip  # adjacent words only
    assert lcs[1] <= unigrams[1] and lcs[2] <= unigrams[2]
    single = [scores([output], [[ref]], Rules(("rouge1",), stemmer))[0] for ref in references]
    best = scores([output], [references], Rules(("rouge1",), stemmer, references="best"))[0]
    assert round(best[2], 5) == max(round(row[2], 5) for row in single)
