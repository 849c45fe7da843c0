"""Tokens against the implementations they are named after."""

from __future__ import annotations

from pathlib import Path

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st
from rouge_score.tokenize import tokenize as rouge_tokenize
from sacrebleu.metrics.bleu import _get_tokenizer
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.tokenizers.tokenizer_zh import TokenizerZh

from harness.metrics import columns
from harness.metrics.tokenizers import Tokenizer, ascii_words, chrf_words, tokenizer, unicode_words, word_splitter
from harness.metrics.tokenizers.tokenizer_base import WHITE as SPLIT_AT
from harness.metrics.tokenizers.tokenizer_base import once
from harness.metrics.tokenizers.tokenizer_zh import CHINESE
from harness.types import HarnessError, Texts
from tests.metrics.hostile import LONG, PIECES, WHITE, texts

TABLES = ["none", "13a", "intl", "char", "zh"]
NAMED = [*TABLES, "ja-mecab", "ko-mecab"]
theirs = {name: _get_tokenizer(name)() for name in NAMED}  # type: ignore[no-untyped-call]


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMED)
def test_one_character_beside_others(name: str) -> None:
    """Every piece beside every other, with and without digits around."""
    pieces = PIECES if name in TABLES else PIECES[::7]
    cases = [a + b for a in pieces for b in pieces] + [f"1{a}2{b}" for a in pieces for b in pieces[::3]]
    assert tokenizer(name).spelt(cases) == [theirs[name](case.rstrip()).split() for case in cases]
    for case in pieces:  # at the very beginning
        assert tokenizer(name).spelt([case, "x"])[0] == theirs[name](case.rstrip()).split()


@pytest.mark.slow
@pytest.mark.parametrize("name", TABLES)
def test_every_code_point(name: str) -> None:
    points = [chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000]
    cases = [f"a{''.join(points[i : i + 64])}5" for i in range(0, len(points), 64)]
    cases += [f"5{c}6 x{c}y {c}" for c in points[:0x3100]]
    assert tokenizer(name).spelt(cases) == [theirs[name](case.rstrip()).split() for case in cases]


@given(st.lists(texts, min_size=1, max_size=5), st.sampled_from(NAMED))
def test_hostile_text(cases: list[str], name: str) -> None:
    cases = [case.replace("\0", "") for case in cases] if "mecab" in name else cases  # MeCab stops reading at a NUL
    assert tokenizer(name).spelt(cases) == [theirs[name](case.rstrip()).split() for case in cases]


@pytest.mark.parametrize("name", TABLES)
def test_lines_of_100_000_characters(name: str) -> None:
    assert tokenizer(name).spelt(LONG) == [theirs[name](case.rstrip()).split() for case in LONG]


def spelt(table: columns.Table, cases: list[str]) -> list[list[str]]:
    return Tokenizer("", table, lambda x: x).spelt(cases)


def test_words_of_rouge_score() -> None:
    points = [chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000]
    cases = [f"A{c}b" for c in points[:0x3000]] + ["".join(points[i : i + 64]) for i in range(0, len(points), 64)]
    assert spelt(ascii_words(), cases) == [rouge_tokenize(case, None) for case in cases]


@given(st.lists(texts, min_size=1, max_size=5))
def test_words_of_rouge_score_and_chrf_in_hostile_text(cases: list[str]) -> None:
    assert spelt(ascii_words(), cases) == [rouge_tokenize(case, None) for case in cases]
    assert spelt(chrf_words(), cases) == [CHRF()._remove_punctuation(case) for case in cases]


def test_classes_of_characters() -> None:
    assert [chr(c) for c in SPLIT_AT] == WHITE
    chinese = {c for low, high in CHINESE for c in range(low, high + 1)}
    assert chinese == {c for c in range(0x110000) if TokenizerZh._is_chinese_char(chr(c))}


@pytest.mark.parametrize(
    ("text", "words"),
    [  # Unicode's default word boundaries, UAX #29
        ("A maçã não é do João.", ["A", "maçã", "não", "é", "do", "João"]),
        ("can't stop 3,5 U.S.A. x-y", ["can't", "stop", "3,5", "U.S.A", "x", "y"]),
        ("你好，世界", ["你", "好", "世", "界"]),
        ("e\u0301te नमस्ते שלום", ["e\u0301te", "नमस्ते", "שלום"]),
        ("… — !", []),
    ],
)
def test_unicode_words(text: str, words: list[str]) -> None:
    assert unicode_words().spelt([text]) == tokenizer("words").spelt([text]) == [words]
    assert word_splitter()(text) == words


@pytest.fixture(scope="module")
def sentencepiece_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    import sentencepiece

    folder = tmp_path_factory.mktemp("model")
    (folder / "text").write_text(
        "\n".join(f"the cat number {i} sat on the mat and ran {i % 7} times" for i in range(300))
    )
    sentencepiece.SentencePieceTrainer.train(
        input=str(folder / "text"), model_prefix=str(folder / "small"), vocab_size=60, minloglevel=2
    )
    return folder / "small.model"


def test_a_sentencepiece_model_of_ones_own(sentencepiece_model: Path) -> None:
    import sentencepiece

    model = sentencepiece.SentencePieceProcessor(model_file=str(sentencepiece_model))
    cases = ["the cat sat", "a mat ran 7 times  ", ""]
    own = tokenizer(str(sentencepiece_model))
    assert own.spelt(cases) == [" ".join(model.encode(case.rstrip(), out_type=str)).split() for case in cases]
    assert regex.fullmatch(r"spm-[0-9a-f]{8}", own.signature)


def test_sacrebleus_spm_where_its_model_is(
    sentencepiece_model: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A file where sacreBLEU keeps its models is taken without a network."""
    from sacrebleu.tokenizers import tokenizer_spm

    monkeypatch.setattr(tokenizer_spm, "SACREBLEU_DIR", str(tmp_path))
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "sacrebleu_tokenizer_spm.model").write_bytes(sentencepiece_model.read_bytes())
    tokenizer.cache_clear()
    own, reference = tokenizer("flores101"), tokenizer_spm.Flores101Tokenizer()  # type: ignore[no-untyped-call]
    assert own.signature == "flores101"
    assert own.spelt(["the cat sat "]) == [reference("the cat sat").split()]
    tokenizer.cache_clear()


def test_what_cannot_be_had(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(HarnessError, match="x.model does not exist; expected a SentencePiece model"):
        tokenizer(str(tmp_path / "x.model"))
    with pytest.raises(HarnessError, match="metrics.rouge.tokenizer=13b; expected one of 13a, char"):
        tokenizer("13b", "metrics.rouge.tokenizer")


def test_each_distinct_text_once() -> None:
    calls: list[str] = []
    prepare = once(lambda text: calls.append(text) or text.upper())  # type: ignore[func-returns-value]
    assert list(prepare(Texts.of(["a", "b", "a"]))) == ["A", "B", "A"]
    assert calls == ["a", "b"]
