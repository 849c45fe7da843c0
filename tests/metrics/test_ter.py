"""TER against sacreBLEU itself, corpus and sentence level, on real, random, long and hostile text."""

from __future__ import annotations

import itertools
import tracemalloc
from typing import Any

import numpy as np
import pytest
import sacrebleu
from hypothesis import example, given
from hypothesis import strategies as st
from sacrebleu.metrics.lib_ter import translation_edit_rate

from harness.datasets.embedded import EmbeddedDataset
from harness.metrics import ter
from harness.metrics.ter import Ter
from harness.systems.lead import Lead
from harness.types import Batch
from tests.metrics.hostile import LONG, PIECES

NAMES = ("normalized", "no_punct", "asian_support", "case_sensitive")
OPTIONS: list[dict[str, bool]] = [
    dict(zip(NAMES, on, strict=True)) for on in itertools.product((False, True), repeat=4)
]


def check(outputs: list[str], references: list[list[str]], options: dict[str, bool]) -> None:
    """Corpus and sentence scores and the sums agree to 1e-9."""
    metric = Ter(**options)
    rows = metric.statistics(Batch(outputs, references))
    streams = [[refs[i] if i < len(refs) else None for refs in references] for i in range(max(map(len, references)))]
    corpus = sacrebleu.TER(**options).corpus_score(outputs, streams)  # type: ignore[arg-type]
    assert metric.score(rows.sum(0)).tolist() == pytest.approx([corpus.score], abs=1e-9)
    assert rows.sum(0).tolist() == pytest.approx([corpus.num_edits, corpus.ref_length], abs=1e-9)
    for score, output, refs in zip(metric.score_examples(rows), outputs, references, strict=True):
        assert score[0] == pytest.approx(sacrebleu.TER(**options).sentence_score(output, refs).score, abs=1e-9)


@pytest.mark.parametrize(
    ("output", "references", "options", "expected"),
    [  # by hand from Snover et al. 2006: insertions, deletions, substitutions and shifts over words of reference
        ("a b c d", ["a b c d"], {}, 0.0),
        ("e f g", ["a b c"], {}, 100.0),
        ("d e a b c", ["a b c d e"], {}, 20.0),
        ("a b x d", ["a b c d e"], {}, 40.0),
        ("a b c", ["x"], {}, 300.0),
        # sacreBLEU 2.6.0: the fewest edits, over the mean length of all references
        ("a b c", ["a b c d", "x"], {}, 40.0),
        ("a b c", ["a b c", "a b c d e", "a"], {}, 0.0),
        ("", ["a b"], {}, 100.0),
        ("a b", [""], {}, 100.0),
        ("", [""], {}, 0.0),
        ("a b", ["", "a b"], {}, 0.0),
        (" \u2003a\tb \n", ["a b"], {}, 0.0),
        ("Ärger im Haus", ["ärger IM haus"], {}, 0.0),
        ("Ärger im Haus", ["ärger IM haus"], {"case_sensitive": True}, 100.0),
        ("So &quot;it&quot; goes.", ['so "it" goes .'], {}, 75.0),
        ("So &quot;it&quot; goes.", ['so "it" goes .'], {"normalized": True}, 0.0),
        ("Nein, nie!", ["nein nie"], {}, 100.0),
        ("Nein, nie!", ["nein nie"], {"no_punct": True}, 0.0),
        ("中文。", ["中 文"], {"normalized": True, "no_punct": True}, 100.0),
        ("中文。", ["中 文"], {"normalized": True, "no_punct": True, "asian_support": True}, 0.0),
        ("3,000.5-7 it's", ["3,000.5 - 7 it 's"], {"normalized": True}, 0.0),
        ("it's, or not", ["it's, or not"], {"normalized": True}, 40.0),  # references are tokenized twice, outputs once
    ],
)
def test_goldens(output: str, references: list[str], options: dict[str, bool], expected: float) -> None:
    metric = Ter(**options)
    assert metric.score(metric.statistics(Batch([output], [references]))) == pytest.approx(expected, abs=1e-9)


def test_a_corpus_is_not_a_mean_of_sentences() -> None:
    metric = Ter()
    rows = metric.statistics(Batch(["a b c d", "x"], [["a b c d"], ["y"]]))
    assert metric.score(rows.sum(0)) == pytest.approx(20.0)
    assert metric.score_examples(rows).mean() == pytest.approx(50.0)


@pytest.mark.slow
@pytest.mark.parametrize("options", [OPTIONS[0], OPTIONS[-1]], ids=str)
def test_embedded_data(options: dict[str, bool]) -> None:
    examples = list(EmbeddedDataset().examples())[:20]
    outputs = [output.text or "" for output in Lead().generate(examples)]
    check(outputs, [list(e.references) for e in examples], options)


SPACES = "\t\n\v\f\r\x1c\x1d\x1e\x1f\x20\x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"  # fmt: skip
AWKWARD = [
    "",
    " ",
    SPACES,
    f"a{SPACES}b ",
    "\ufeffa \u200bb\u200d c",
    "😀 👩‍👩‍👧 e\u0301",
    "\ud83d\ude00 😀 \ud800",  # no text, but what a careless decoder makes
    "中文，字。ひらがな カタカナ ㍻",
    "「so」 “it” 'goes'",
    "it's 's end's",
    "1,000.5 5-3 .5 a.b,c 3.",
    "&quot;x&quot; &amp;lt; &amp;amp;quot; &#39;",
    "x\n-y\nz -",
    "İSTANBUL ẞ ß ŉ",
    "the the the the",
]
texts = st.one_of(
    st.sampled_from(AWKWARD),
    st.text(max_size=20),
    st.lists(st.sampled_from([*"abcAB.,!'1", "&amp;", "中", *SPACES]), max_size=12).map(" ".join),
    st.lists(st.sampled_from("abcd"), max_size=12).map(" ".join),
    st.lists(st.sampled_from(PIECES), max_size=15).map("".join),
    st.lists(st.sampled_from(PIECES), max_size=12).map(" ".join),
)
pairs_of_texts = st.lists(st.tuples(texts, st.lists(texts, min_size=1, max_size=3)), min_size=1, max_size=4)


@given(pairs_of_texts, st.sampled_from(OPTIONS))
def test_random_and_hostile_text(pairs: list[tuple[str, list[str]]], options: dict[str, bool]) -> None:
    check([output for output, _ in pairs], [refs for _, refs in pairs], options)


def test_signature_is_sacrebleus() -> None:
    for options in OPTIONS:
        theirs = sacrebleu.TER(**options)
        theirs.corpus_score(["a", "b"], [["a", "b"], ["c", "d"]])
        assert str(Ter(**options).signature([["a", "c"], ["b", "d"]])) == str(theirs.get_signature())
        theirs.corpus_score(["a", "b"], [["a", "b"], ["c", None]])  # type: ignore[list-item]
        assert str(Ter(**options).signature([["a", "c"], ["b"]])) == str(theirs.get_signature())


def test_missing_rows_stay_missing() -> None:
    assert np.isnan(Ter().score(np.full((2, 2), np.nan))).all()
    assert Ter().score(np.array([[np.nan, np.nan], [1.0, 4.0]]))[1].tolist() == [25.0]
    assert Ter().statistics(Batch([], [])).shape == (0, 2)
    assert not Ter.higher_is_better


# ---------------------------------------------------------------- the search for shifts


def edits(*pairs: tuple[list[str], list[str]]) -> list[tuple[int, int]]:
    rows = Ter().statistics(Batch([" ".join(a) for a, _ in pairs], [[" ".join(b)] for _, b in pairs]))
    return [(int(a), int(b)) for a, b in rows]


def moved(words: list[str], moves: list[tuple[int, int, int]]) -> list[str]:
    """The words with runs of them somewhere else."""
    for start, length, target in moves:
        run = words[start : start + length]
        words = words[:start] + words[start + length :]
        words = words[:target] + run + words[target:]
    return words


few = st.integers(1, 4).flatmap(lambda n: st.lists(st.sampled_from("abcd"[:n]), max_size=40))
many = st.lists(st.integers(0, 30).map(str), max_size=60)
moves = st.lists(st.tuples(st.integers(0, 60), st.integers(1, 12), st.integers(0, 60)), max_size=4)


@given(few, few)
@example(list("aab"), list("bbaab"))
@example(list("abab" * 9), list("ba" * 20))
@example(["a"], list("a" * 40))
def test_random_shifts_of_few_words(output: list[str], reference: list[str]) -> None:
    assert edits((output, reference)) == [translation_edit_rate(output, reference)]


@given(many, moves, st.lists(st.tuples(st.integers(0, 60), st.sampled_from(["x", "1", "2"])), max_size=5))
def test_random_shifts_of_long_runs(reference: list[str], shifts: list[tuple[int, int, int]], new: list[Any]) -> None:
    """Runs of more than ten words too, and words that are wrong."""
    output = moved(reference, shifts)
    for place, word in new:
        output[place : place + 1] = [word]
    assert edits((output, reference)) == [translation_edit_rate(output, reference)]


def numbers(n: int, step: int, modulus: int) -> list[str]:
    return [str(i * step % modulus) for i in range(n)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("output", "reference"),
    [
        # the longest reference whose rows are whole numbers, and the shortest whose rows are not
        (moved(numbers(62, 7, 61), [(0, 5, 30), (40, 3, 8)]), numbers(62, 7, 61)),
        (moved(numbers(64, 7, 61), [(0, 5, 30), (40, 3, 8)]), numbers(63, 7, 61)),
        (numbers(70, 1, 67), numbers(70, 2, 67)),  # away from the diagonal: the beam decides
        (numbers(30, 1, 89), numbers(95, 2, 89)),
        (moved(numbers(130, 1, 130), [(0, 10, 60), (70, 10, 5)]), numbers(130, 1, 130)),  # too far, or just not
        (moved(numbers(70, 1, 70), [(0, 30, 35)]), numbers(70, 1, 70)),  # a thousand tried before the first shift
        (numbers(50, 1, 3), numbers(45, 2, 3)),  # and after it
        (list("ab" * 70), list("ba" * 60)),
        (list("a" * 150), list("ab" * 60)),
        (numbers(2, 1, 9), numbers(101, 1, 9)),  # the reference more than fifty times as long: a wider beam
        (numbers(2, 1, 9), numbers(100, 1, 9)),
        (numbers(3, 1, 700), numbers(700, 1, 700)),
        (numbers(200, 3, 7), numbers(2, 1, 7)),
    ],
)
def test_the_limits_of_the_search(output: list[str], reference: list[str]) -> None:
    assert edits((output, reference)) == [translation_edit_rate(output, reference)]


def test_very_long_texts_take_memory_by_the_word() -> None:
    """Rows of 20,000 cells each would take 1.6 GB; those of the beam take 4 MB."""
    words = numbers(20_000, 1, 20_000)
    swapped = [words[i + 1 - 2 * (i % 2)] for i in range(len(words))]
    tracemalloc.start()
    try:
        assert edits((words, words), (words[-1:], words), (words, words[-1:])) == [
            (0, 20_000),
            (19_999, 20_000),
            (19_999, 1),
        ]
        assert edits((swapped[:2_000], words[:2_000]))[0][1] == 2_000
        assert tracemalloc.get_traced_memory()[1] < 60_000_000
    finally:
        tracemalloc.stop()


def test_lines_of_a_hundred_thousand_characters() -> None:
    rows = Ter().statistics(Batch([*LONG, *LONG], [[text] for text in [*LONG, *LONG[::-1]]]))
    sizes = [len(text.split()) for text in LONG]
    assert rows[: len(LONG)].tolist() == [[0, size] for size in sizes]
    assert rows[len(LONG) :, 1].tolist() == sizes[::-1]
    assert (rows[:, 0] >= np.abs(rows[:, 1] - [*sizes, *sizes])).all()


def test_chunks_make_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every example by itself, a few together and all at once; and the bar moves by as many."""
    outputs = [*AWKWARD, *(" ".join(numbers(9, i, 13)) for i in range(60))]
    references = [[outputs[-i], *outputs[i : i + i % 3]] for i in range(len(outputs))]
    rows = [Ter(**OPTIONS[-1]).statistics(Batch(outputs, references)).tolist()]
    for characters in (1, 500):
        done: list[int] = []
        monkeypatch.setattr(ter, "_CHARACTERS", characters)
        metric = Ter(**OPTIONS[-1])
        metric.advance = done.append  # type: ignore[method-assign, assignment]
        rows.append(metric.statistics(Batch(outputs, references)).tolist())
        assert sum(done) == len(outputs) and len(done) > 5
    assert rows[0] == rows[1] == rows[2]


def test_an_example_without_references_is_an_error() -> None:
    with pytest.raises(ValueError, match="an example without references"):
        Ter().statistics(Batch(["a"], [[]]))
