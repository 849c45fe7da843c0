"""Columns of text give the rows that lists of Python strings give, to the last bit, and no string is made on the way."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from nltk.stem.porter import PorterStemmer

from harness.inputs import arrow
from harness.metrics import columns
from harness.metrics.bleu import Bleu
from harness.metrics.chrf import Chrf, ChrfPlusPlus
from harness.metrics.distinct import Distinct
from harness.metrics.nist import Nist
from harness.metrics.rouge import Rouge
from harness.metrics.squad import ExactMatch, TokenF1
from harness.metrics.ter import Ter
from harness.metrics.tokenizers import ascii_words, chrf_words, lowered, tokenizer
from harness.types import Batch, Metric, Rows, TextLists, Texts
from tests.metrics.hostile import PIECES, WHITE, lines, pairs, texts

METRICS: dict[str, Metric] = {
    "bleu": Bleu(),
    "bleu, lower-cased": Bleu(lowercase=True, tokenize="none"),
    "bleu, intl": Bleu(tokenize="intl"),
    "bleu, zh": Bleu(tokenize="zh"),
    "bleu, char": Bleu(tokenize="char"),
    "chrf": Chrf(),
    "chrf, spaces": Chrf(whitespace=True, lowercase=True),
    "chrf++": ChrfPlusPlus(),
    "ter": Ter(),
    "ter, normalized": Ter(normalized=True, asian_support=True),
    "ter, case": Ter(case_sensitive=True),
    "nist": Nist(),
    "rouge": Rouge(),
    "rouge, stemmed": Rouge(stemmer=True),
    "rouge, unicode": Rouge(tokenizer="unicode"),
    "rouge, Perl's": Rouge(compat="rouge155", stemmer=True),
    "distinct": Distinct(),
    "exact match": ExactMatch(),
    "token F1": TokenF1(),
}
COMPILED = ["bleu", "bleu, lower-cased", "bleu, char", "chrf", "chrf++", "ter", "ter, case", "rouge", "rouge, stemmed"]
Cases = list[tuple[str, list[str]]]
storable = texts.map(lambda text: text.encode("utf-8", "replace").decode())


def batch(cases: Cases) -> Batch:
    return Batch([output for output, _ in cases], [references for _, references in cases])


def columned(cases: Cases) -> Batch:
    """As columns cut out of longer ones, so that their bytes and lists do not begin at 0."""
    others: Cases = [("ö before", ["one", "two é"]), ("", [""])]
    whole = batch([*others, *cases, *others])
    return Batch(Texts.of(whole.outputs), TextLists.of(whole.references))[2:-2]  # type: ignore[arg-type]


def as_bytes(rows: Any) -> list[bytes]:
    whole = Rows.of(rows)
    return [
        whole.values.tobytes(),
        *(part.tobytes() for list_ in whole.lists.values() for part in (list_.starts, list_.values)),
    ]


@pytest.mark.parametrize("name", METRICS)
@given(cases=pairs(storable), place=st.integers(0, 4))
@example(cases=[("ΑΣ\x00Σ İ", ["&quot;a&quot; -\n<skipped>"]), ("a\n\nb", ["\n", "b\na"])], place=1)
def test_columns_give_the_rows_of_lists(name: str, cases: Cases, place: int) -> None:
    """Of columns that begin anywhere, and in blocks that end anywhere."""
    plain, columns = batch(cases), columned(cases)
    metric = METRICS[name].fit(plain.references)
    rows = metric.statistics(plain)
    assert as_bytes(metric.statistics(columns)) == as_bytes(rows)
    parts = [part for part in (columns[:place], columns[place:]) if len(part)]
    assert as_bytes(Rows.joined(*(Rows.of(metric.statistics(part)) for part in parts))) == as_bytes(rows)


@pytest.mark.parametrize("name", METRICS)
def test_fitted_to_columns(name: str) -> None:
    references = TextLists.of([["a b", "a"], ["b c"]])
    by_columns, by_lists = METRICS[name].fit(references), METRICS[name].fit(list(references))
    assert by_columns.context == by_lists.context
    assert by_columns.signature(references) == by_lists.signature(list(references))


@pytest.mark.parametrize("name", COMPILED)
def test_no_string_is_made(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    cases = [("The cats &amp; dogs\nran, 3.5 times!", ["The cat ran.\nIt did.", "é Straße"]), ("ΑΣ İ", ["x < y"])]
    expected = as_bytes(METRICS[name].statistics(batch(cases)))
    columns = columned(cases)
    for kind, way in ((Texts, "strings"), (Texts, "__iter__"), (TextLists, "__iter__")):
        monkeypatch.setattr(kind, way, lambda column: pytest.fail(f"strings were made of {type(column).__name__}"))
    assert as_bytes(METRICS[name].statistics(columns)) == expected


@pytest.mark.parametrize("name", METRICS)
def test_half_a_surrogate_pair_in_lists(name: str) -> None:
    """No file holds it, but a Python string can."""
    cases = [("a \ud800 B", ["a \udfff\ud800", "a \ud800 b"]), ("é", ["\ud83d\ude00"])]
    rows = Rows.of(METRICS[name].fit(batch(cases).references).statistics(batch(cases)))
    assert np.isfinite(rows.values).all()


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, metric in METRICS.items() if metric.threads])
def test_several_threads_at_once(name: str) -> None:
    rng = np.random.default_rng(0)
    cases = [(" ".join(rng.choice(PIECES, 12)), [" ".join(rng.choice(PIECES, 12))]) for _ in range(400)]
    metric = METRICS[name].fit([references for _, references in cases])
    blocks = [columned(cases[start : start + 40]) for start in range(0, 400, 40)] * 3
    alone = [as_bytes(metric.statistics(block)) for block in blocks]
    with ThreadPoolExecutor(6) as pool:
        assert [as_bytes(rows) for rows in pool.map(metric.statistics, blocks)] == alone


def test_what_metrics_read() -> None:
    for name, metric in METRICS.items():
        assert metric.reads == (("outputs",) if name == "distinct" else ("outputs", "references"))


# ---------------------------------------------------------------- the ways of a text into a kernel


@given(st.lists(texts | st.text(st.characters()), max_size=6))
@example(["ΑΣ", "Α", "Σ", "ΑΣ\u0301", "", "İ\ud800"])
@example(["Σ" + "".join(map(chr, range(9)))])
def test_lower_case_is_pythons(strings: list[str]) -> None:
    assert arrow.plain(lowered(arrow.column(strings))) == [text.lower() for text in strings]


@pytest.mark.slow
def test_lower_case_of_every_character() -> None:
    every = [f"Α{chr(c)}Σ" for c in range(0x110000)]
    assert arrow.plain(lowered(arrow.column(every))) == [text.lower() for text in every]


@given(st.lists(texts, max_size=6))
def test_13a_prepares_what_has_entities(strings: list[str]) -> None:
    prepare = tokenizer("13a").prepare
    whole = arrow.plain(prepare(arrow.column(strings)))
    assert whole == [arrow.plain(prepare(arrow.column([text])))[0] for text in strings]


@given(st.lists(lines | texts, max_size=6))
@example(["\n\n", "", "a\n", "\nb\n\nc"])
def test_lines(strings: list[str]) -> None:
    split = columns.lines(arrow.column(strings))
    expected = [[line for line in text.split("\n") if line] for text in strings]
    if split is None:
        assert not any("\n" in text for text in strings)
        return
    every = arrow.plain(split[0])
    assert [every[first:last] for first, last in split[1].tolist()] == expected


ENDINGS = [
    "s",
    "es",
    "ies",
    "sses",
    "ed",
    "ied",
    "eed",
    "ing",
    "y",
    "ll",
    "e",
    "at",
    "bl",
    "iz",
    "ational",
    "tional",
    "enci",
    "anci",
    "izer",
    "bli",
    "alli",
    "entli",
    "eli",
    "ousli",
    "ization",
    "ation",
    "ator",
    "alism",
    "iveness",
    "fulness",
    "ousness",
    "aliti",
    "iviti",
    "biliti",
    "fulli",
    "logi",
    "icate",
    "ative",
    "alize",
    "iciti",
    "ical",
    "ful",
    "ness",
    "al",
    "ance",
    "ence",
    "er",
    "ic",
    "able",
    "ible",
    "ant",
    "ement",
    "ment",
    "ent",
    "ion",
    "sion",
    "ou",
    "ism",
    "ate",
    "iti",
    "ous",
    "ive",
    "ize",
]
BODIES = st.text("aeiouybcdlmnstwxz15", max_size=7)


@given(st.lists(st.tuples(BODIES, st.lists(st.sampled_from(ENDINGS), max_size=3)), min_size=1, max_size=30))
def test_stems_are_nltks(parts: list[tuple[str, list[str]]]) -> None:
    words = ["x" + body + "".join(endings) for body, endings in parts]
    words += [word[1:] for word in words if len(word) > 1]
    check_stems(words)


def test_stems_of_words_that_follow_no_rule() -> None:
    check_stems(
        [*sorted(PorterStemmer().pool), "yyyying", "5555", "abc5", "owed", "ties", "died", "y", "generalizations"]
    )


def check_stems(words: list[str]) -> None:
    porter = PorterStemmer()
    tokens = columns.tokenized(words, ascii_words(), stemmed=True)
    vocabulary = tokens.vocabulary()
    stems = [porter.stem(word) if len(word) > 3 else word for word in words]  # rouge-score's rule
    assert [vocabulary[i] for i in tokens.ids] == stems
    assert tokens.size == len(set(stems))


@given(st.lists(st.text(st.characters(max_codepoint=0x17F, exclude_categories=["Cs"]), max_size=20), max_size=20))
def test_equal_words_have_equal_ids(strings: list[str]) -> None:
    """Around eight letters, and with characters of more than eight bits that share the lower eight."""
    words = [word for text in strings for word in "".join(" " if c in WHITE else c for c in text).split()]
    words += [word[:8] for word in words] + [word[:9] for word in words] + ["Ā" + word[1:] for word in words]
    tokens = tokenizer("none")(words)
    assert tokens.ids.tolist() == [list(dict.fromkeys(words)).index(word) for word in words]


WORDS = ["rouge-score", "chrF++", "13a", "none", "intl", "char", "zh"]


@pytest.mark.parametrize("name", WORDS)
@given(strings=st.lists(texts, max_size=6))
@example(strings=[":Ā", ":", "Ā:", "Ā", "Ā."])
def test_a_word_has_one_id(name: str, strings: list[str]) -> None:
    own = {"rouge-score": ascii_words, "chrF++": chrf_words}
    table = own[name]() if name in own else tokenizer(name).table
    vocabulary = columns.tokenized(arrow.column(strings), table).vocabulary()
    assert len(set(vocabulary)) == len(vocabulary)
