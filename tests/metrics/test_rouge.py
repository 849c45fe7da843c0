"""ROUGE against the package rouge-score itself."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import version
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from nltk.stem.snowball import SnowballStemmer
from rouge_score.rouge_scorer import RougeScorer

from harness.datasets.embedded import EmbeddedDataset
from harness.inputs.stems import LANGUAGES, stemmer
from harness.metrics.rouge import Rouge
from harness.metrics.rouge155 import Rules, scores
from harness.metrics.tokenizers import tokenizer, unicode_words, word_splitter
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


@pytest.mark.slow
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
    ("text", "words"),
    [
        ("A ação é boa", "50 % of the references' words have letters outside a-z and 0-9, all that the tokenizer keeps: "
                         "it breaks 25 % and drops 25 % (ação: a o, é)"),
        ("他坐在垫子上。", "it breaks 0 % and drops 100 % (他坐在垫子上)"),
        ("Кошка сидит на ковре", "it breaks 0 % and drops 100 % (кошка)"),
        ("L’été, c’est fini", "breaks 20 % and drops 0 % (été: t)"),
        ("ac\u0327a\u0303o e x", "breaks 33 % and drops 0 % (ac\u0327a\u0303o: ac a o)"),
        ("it is " * 60 + "naïve", None),  # below one in a hundred
        ("the “cat” don’t – 😀 _x_", None),  # punctuation is no word
        ("", None),
    ],
)  # fmt: skip
@pytest.mark.parametrize("compat", ["rouge_score", "rouge155"])
def test_a_warning_where_words_are_lost(
    text: str, words: str | None, compat: str, caplog: pytest.LogCaptureFixture
) -> None:
    Rouge(compat=compat).fit([[text]] * 3)
    assert [words is not None and words in record.message for record in caplog.records] == [True] * (words is not None)
    assert all("use metrics.rouge.tokenizer=unicode" in record.message for record in caplog.records)
    caplog.clear()
    Rouge(compat=compat, tokenizer="unicode").fit([[text]])
    assert not caplog.records


def test_no_word_of_portuguese_is_lost() -> None:
    """rouge-score's words of `A ação é boa` are `a a o boa`."""
    batch = Batch(["A ação má"], [["A ação é boa"]])
    recall = {name: Rouge(["rouge1"], tokenizer=name).statistics(batch)[0, 2] for name in ("rouge_score", "unicode")}
    assert recall == {"rouge_score": 0.75, "unicode": 0.5}


# ---------------------------------------------------------------- rouge155's rules on the words of any language


PERL_TYPES = ["rouge1", "rouge2", "rougeL", "rougeW", "rougeS", "rougeSU"]
plain_words = st.lists(
    st.sampled_from(["the", "a", "cat", "Sat", "ON", "x1", "2", "mat", "of"]), max_size=9
).flatmap(lambda words: st.sampled_from([" ", "-", "! ", "; ", ". ", "\n", " \n\n", "\t"]).map(lambda by: by.join(words)))  # fmt: skip
perl_options = st.fixed_dictionaries(
    {},
    optional={
        "skip": st.integers(-1, 3),
        "weight": st.sampled_from([1.0, 2.0]),
        "max_words": st.integers(1, 6),
        "references": st.sampled_from(["average", "best"]),
        "alpha": st.sampled_from([0.0, 0.3, 1.0]),
    },
)


@given(pairs(plain_words), perl_options)
def test_unicode_words_of_ascii_text_are_perls(cases: list[tuple[str, list[str]]], options: dict[str, Any]) -> None:
    batch = Batch([output for output, _ in cases], [references for _, references in cases])
    rows = [
        Rouge(PERL_TYPES, compat="rouge155", tokenizer=name, **options).statistics(batch)
        for name in ("rouge_score", "unicode")
    ]
    assert rows[0].tolist() == rows[1].tolist()


@given(pairs())
def test_perls_rules_on_any_words(cases: list[tuple[str, list[str]]]) -> None:
    """Each word by a name in ASCII: the script's own rules give the same."""
    split = word_splitter()

    def named(text: str) -> str:
        lines = [split(line) for line in text.lower().split("\n")]
        return "\n".join(" ".join(f"w{word.encode().hex()}" for word in line) for line in lines)

    batch = Batch([output for output, _ in cases], [references for _, references in cases])
    ascii_batch = Batch([named(text) for text in batch.outputs], [[*map(named, refs)] for refs in batch.references])
    rows = Rouge(PERL_TYPES, compat="rouge155", tokenizer="unicode").statistics(batch)
    assert rows.tolist() == Rouge(PERL_TYPES, compat="rouge155").statistics(ascii_batch).tolist()


def test_stop_words_and_limits_of_any_language(tmp_path: Path) -> None:
    (tmp_path / "stop").write_text("é\nà\nl'été\n")
    options = {"types": ["rouge1"], "compat": "rouge155", "tokenizer": "unicode"}
    stopped = Rouge(**options, stopwords=str(tmp_path / "stop")).statistics(Batch(["Ação é À"], [["ação L'ÉTÉ é boa"]]))
    assert stopped[0].tolist() == pytest.approx([2 / 3, 1.0, 0.5, 1.0], abs=1e-5)
    cut = Rouge(**options, max_bytes=4).statistics(Batch(["ação é"], [["açã boa"]]))  # inside the letter ã
    assert cut[0].tolist() == [1.0, 1.0, 1.0, 1.0]


# ---------------------------------------------------------------- stems by language

SENTENCES = {
    "portuguese": ("Os métodos de previsão foram avaliados.", "Um método previsto, avaliado corretamente: previsões."),
    "french": ("Les résumés étaient générés rapidement.", "Le résumé est généré avec rapidité; l'été."),
    "german": ("Die Häuser wurden größer gebaut.", "Das Haus wird größere Bauten haben."),
    "arabic": ("الكتاب في المدرسة", "كتب المدارس والكتابات"),
    "english": ("The players are running quickly.", "A player's runs were quick."),
}


@pytest.mark.parametrize("language", SENTENCES)
@pytest.mark.parametrize("compat", ["rouge_score", "rouge155"])
def test_stems_are_those_of_nltk(language: str, compat: str) -> None:
    """The same as without a stemmer on texts whose words NLTK has stemmed."""
    split, stem = word_splitter(), SnowballStemmer(language).stem
    output, reference = SENTENCES[language]
    stems = [" ".join(f"w{stem(word).encode().hex()}" for word in split(text.lower())) for text in (output, reference)]
    types = ["rouge1", "rouge2", "rougeL"]
    metric = Rouge(types, stemmer=language, tokenizer="unicode", compat=compat)
    rows = metric.statistics(Batch([output], [[reference]]))
    assert rows.tolist() == Rouge(types, compat=compat).statistics(Batch([stems[0]], [[stems[1]]])).tolist()
    bare = Rouge(types, tokenizer="unicode", compat=compat).statistics(Batch([output], [[reference]]))
    assert rows[0, 0] > bare[0, 0]
    assert f"|stem:snowball-{language}|" in str(metric.signature([[reference]]))


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_needs_no_data(language: str) -> None:
    words = ["straße", "prevenções", "running", "книги", "والمدارس", "naïvement", "é", "x1"]
    stem = stemmer(language)
    assert [stem(word) for word in words] == [SnowballStemmer(language).stem(word) for word in words]
    assert set(SnowballStemmer.languages) == {*LANGUAGES, "porter"}


def test_stems_come_without_the_rest_of_nltk() -> None:
    code = "import sys; from harness.inputs.stems import stemmer; print(stemmer('french')('étaient'), 'nltk' in sys.modules)"
    called = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert called.stdout.split() == [SnowballStemmer("french").stem("étaient"), "False"]


def test_arabic_stems_do_not_depend_on_the_words_before() -> None:
    """NLTK's stemmer of Arabic remembers what it did."""
    words = [
        "".join(letters)
        for letters in product(["", "ال", "وال", "سي"], ["كتب", "درس", "نجهم"], ["", "ون", "ات", "ها", "تم"])
    ]
    used_before = SnowballStemmer("arabic")
    reused = [used_before.stem(word) for word in words * 3][-len(words) :]
    stem = stemmer("arabic")
    assert [stem(word) for word in words] == [SnowballStemmer("arabic").stem(word) for word in words]
    assert reused != [stem(word) for word in words]


# ---------------------------------------------------------------- references pooled, F with beta


@given(pairs(plain_words))
def test_pooled_references_are_those_of_perl(cases: list[tuple[str, list[str]]]) -> None:
    """Precision and recall to the last bit, F but for the script's rounding on the way."""
    batch = Batch([output for output, _ in cases], [references for _, references in cases])
    types = ["rouge1", "rouge2", "rouge4"]
    own = Rouge(types, references="average").statistics(batch)
    perl = Rouge(types, compat="rouge155").statistics(batch)
    for i in range(0, 9, 3):
        assert own[:, i + 1 : i + 3].tolist() == perl[:, i + 1 : i + 3].tolist()
        assert own[:, i] == pytest.approx(perl[:, i], abs=2e-5)


def test_pooled_references_by_hand() -> None:
    """Lin (2004): hits over n-grams of all references; L likewise."""
    batch = Batch(["a b c d", "x"], [["a b x", "c d e f g"], ["x"]])
    rows = Rouge(["rouge1", "rougeL"], references="average").statistics(batch)
    assert rows[0, 1:3].tolist() == rows[0, 4:6].tolist() == [4 / 8, 4 / 8]
    assert rows[1].tolist() == [1.0] * 7
    empty = Rouge(["rouge2"], references="average").statistics(Batch(["", "a b"], [["", ""], ["", "a b"]]))
    assert empty.tolist() == [[0, 0, 0, 1], [2 / 3, 0.5, 1, 1]]


@pytest.mark.parametrize("beta", [0, 0.5, 1, 2, 9])
def test_f_beta(beta: float) -> None:
    batch = Batch(["a b c d"], [["a b x"]])
    p, r = 2 / 4, 2 / 3
    expected = (1 + beta**2) * p * r / (r + beta**2 * p)
    assert Rouge(["rouge1"], beta=beta).statistics(batch)[0, 0] == pytest.approx(expected, abs=1e-12)
    perl = Rouge(["rouge1"], compat="rouge155", beta=beta)
    alpha = Rouge(["rouge1"], compat="rouge155", alpha=1 / (1 + beta**2))
    assert perl.statistics(batch).tolist() == alpha.statistics(batch).tolist()
    assert perl.definition() == alpha.definition()
    assert perl.statistics(batch)[0, 0] == pytest.approx(expected, abs=1e-5)


def test_the_best_reference_has_the_best_f_beta() -> None:
    """Where precision counts most it is the first reference, where recall does the second."""
    batch = Batch(["a b c d e f"], [["a b c d e x y z v w", "a b c"]])
    rows = {beta: Rouge(["rouge1"], beta=beta).statistics(batch)[0, 1:3].tolist() for beta in (0.3, 3)}
    assert rows == {0.3: [5 / 6, 0.5], 3: [0.5, 1.0]}


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
    options = Rouge(["rouge1"], "french", "words", references="average", beta=2).signature([["a"]])
    assert str(options) == (
        "nrefs:1|tok:unicode|case:lc|stem:snowball-french|refs:average|beta:2|sentences:newline|"
        f"nltk:{version('nltk')}|regex:{version('regex')}|version:0.1.2"
    )
    perl = Rouge(["rougeSU"], compat="rouge155", tokenizer="unicode", beta=2).signature([["a"]])
    assert str(perl) == (
        "nrefs:1|compat:rouge155|tok:unicode|case:lc|stem:no|stop:no|limit:no|skip:4|weight:1.2|alpha:0.2|refs:average|"
        f"sentences:newline|regex:{version('regex')}|version:1.5.5"
    )
    assert Rouge(beta=1).definition() == Rouge(references="best").definition() == Rouge().definition()


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
        ({"compat": "perl"}, "metrics.rouge.compat=perl; expected one of rouge_score, rouge155"),
        (
            {"stemmer": True, "tokenizer": "unicode"},
            "metrics.rouge.stemmer=true with tokenizer=unicode; expected tokenizer=",
        ),
        ({"compat": "rouge155", "tokenizer": "char"}, "metrics.rouge.tokenizer=char with compat=rouge155"),
        ({"compat": "rouge155", "skip": -2}, "metrics.rouge.skip=-2; expected at least -1"),
        ({"compat": "rouge155", "max_words": 0}, "metrics.rouge.max_words=0; expected at least 1"),
        ({"compat": "rouge155", "alpha": 1.5}, "metrics.rouge.alpha=1.5; expected 0 to 1"),
        ({"references": "first"}, "metrics.rouge.references=first; expected one of best, average"),
        ({"beta": -1}, "metrics.rouge.beta=-1; expected at least 0"),
        (
            {"alpha": 0.2},
            "metrics.rouge.alpha=0.2, which rouge-score does not have; expected metrics.rouge.compat=rouge155 with it, or metrics.rouge.beta",
        ),
        (
            {"compat": "rouge155", "alpha": 0.2, "beta": 2},
            "metrics.rouge.alpha=0.2 and beta=2 are both set; expected one of them",
        ),
        (
            {"types": ["rougeSU"], "tokenizer": "unicode"},
            "types has rougeSU, which rouge-score does not have; expected metrics.rouge.compat=rouge155",
        ),
        (
            {"stemmer": "klingon", "tokenizer": "unicode"},
            "metrics.rouge.stemmer=klingon; expected true (Porter's, for English), false, or a language of Snowball's: arabic, danish",
        ),
        ({"stemmer": "french"}, "metrics.rouge.stemmer=french with tokenizer=rouge_score; expected tokenizer=unicode"),
        (
            {"stemmer": True, "compat": "rouge155", "tokenizer": "unicode"},
            "metrics.rouge.stemmer=true with tokenizer=unicode; expected tokenizer=",
        ),
    ],
)
def test_bad_options(options: dict[str, Any], expected: str) -> None:
    with pytest.raises(HarnessError) as raised:
        Rouge(**options)
    assert expected in str(raised.value)
