"""Tokenizers by name: sacreBLEU's, rouge-score's, and two for ROUGE beyond English.

Where the rules look at single characters, a tokenizer is a `Table` for the compiled kernel and gives the very tokens of
the implementation it is named after. Where only a library has them (MeCab, SentencePiece, Unicode's word boundaries),
the library is called, once for each distinct text.

>>> [t.spelt(["Olá, 3.5 &quot;x&quot;!"]) for t in (tokenizer("13a"), tokenizer("none"))]
[[['Olá', ',', '3.5', '"', 'x', '"', '!']], [['Olá,', '3.5', '&quot;x&quot;!']]]
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.files import file_digest
from harness.metrics.columns import ALONE, DASH, DIGIT, EDGE, POINT, SPACE, Table, Tokens, tokenized
from harness.types import HarnessError

_WHITE = [*range(9, 14), *range(28, 33), 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F,
          0x3000]  # fmt: skip
"""What str.split takes for white space."""
_CHINESE = [
    (0x3400, 0x4DB5), (0x4E00, 0x9FBB), (0xF900, 0xFA2D), (0xFA30, 0xFA6A), (0xFA70, 0xFAD9), (0x2001, 0x2A6D),
    (0xFF00, 0xFFEF), (0x2E80, 0x2EFF), (0x3000, 0x303F), (0x31C0, 0x31EF), (0x2F00, 0x2FDF), (0x2FF0, 0x2FFF),
    (0x3100, 0x312F), (0x31A0, 0x31BF), (0xFE10, 0xFE1F), (0xFE30, 0xFE4F), (0x3200, 0x33FF),
]  # fmt: skip
"""What sacreBLEU's zh takes for a Chinese character. The range from 2001 to 2A6D stands there by a slip (a five-digit
code point written as four digits and one more character): dashes, quotes and arrows are among these 'characters'."""


@dataclass(frozen=True)
class Tokenizer:
    """`prepare` turns texts into the form that the table splits."""

    signature: str
    table: Table
    prepare: Callable[[list[str]], list[str]]

    def __call__(self, texts: list[str]) -> Tokens:
        return tokenized(self.prepare(texts), self.table)

    def spelt(self, texts: list[str]) -> list[list[str]]:
        """The tokens as text."""
        tokens = self(texts)
        words = tokens.vocabulary()
        return [[words[i] for i in tokens.ids[a:b]] for a, b in zip(tokens.starts[:-1], tokens.starts[1:], strict=True)]


def _as_is(texts: list[str]) -> list[str]:
    return texts


def lowered(texts: list[str]) -> list[str]:
    return [text.lower() for text in texts]


# ---------------------------------------------------------------- tables


def _classes(**members: Any) -> NDArray[np.uint8]:
    kinds = {"alone": ALONE, "digit": DIGIT, "point": POINT, "dash": DASH, "edge": EDGE}
    classes = np.zeros(0x110000, np.uint8)
    classes[_WHITE] |= SPACE
    for kind, codes in members.items():
        classes[list(map(ord, codes)) if isinstance(codes, str) else codes] |= kinds[kind]
    return classes


_PUNCTUATION = "".join(
    chr(c) for c in (*range(32, 39), *range(40, 44), 47, *range(58, 65), *range(91, 97), *range(123, 127))
)
"""What 13a makes a token of its own: ASCII punctuation but for ' - . and the comma."""
_DIGITS = "0123456789"


@cache
def white_space() -> Table:
    return Table(_classes())


@cache
def _mteval() -> Table:
    return Table(_classes(alone=_PUNCTUATION, digit=_DIGITS, point=".,", dash="-"), padded=True)


@cache
def _zh() -> Table:
    classes = _classes(alone=_PUNCTUATION, digit=_DIGITS, point=".,", dash="-")
    for low, high in _CHINESE:
        classes[low : high + 1] |= ALONE
    return Table(classes)


@cache
def _intl() -> Table:
    import regex

    text = "".join(map(chr, (*range(0xD800), *range(0xE000, 0x110000))))
    found = {name: [ord(c) for c in regex.findall(rf"\p{{{name}}}", text)] for name in "NPS"}
    return Table(_classes(digit=found["N"], point=found["P"], alone=found["S"]))


@cache
def _char() -> Table:
    return Table(_classes(alone=slice(None)))


@cache
def ascii_words() -> Table:
    """rouge-score's: lower-case, then runs of a-z and 0-9."""
    classes = np.full(0x110000, SPACE, np.uint8)
    classes[[*range(48, 58), *range(97, 123)]] = 0
    return Table(classes, fold=True)


@cache
def chrf_words() -> Table:
    return Table(_classes(edge="!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"), edges=True)


@cache
def unicode_words() -> Tokenizer:
    """Words by Unicode's default word boundaries (UAX #29): `can't` and `3,5` stay whole, an ideograph is a word."""
    import regex

    boundary, word = regex.compile(r"(?V1w)\b"), regex.compile(r"\w")

    @lru_cache(maxsize=1 << 18)
    def words(piece: str) -> str:
        return " ".join(part for part in boundary.split(piece) if word.search(part))

    def prepare(texts: list[str]) -> list[str]:
        return [" ".join(map(words, text.split())) for text in texts]

    return Tokenizer("unicode", white_space(), prepare)


# ---------------------------------------------------------------- by name


def _for_13a(texts: list[str]) -> list[str]:
    return [_unescaped(t.rstrip()) if "&" in t or "<" in t or "\n" in t else t for t in texts]


def _unescaped(text: str) -> str:
    """mteval's language-independent part."""
    text = text.replace("<skipped>", "").replace("-\n", "").replace("\n", " ")
    return text.replace("&quot;", '"').replace("&amp;", "&").replace("&lt;", "<").replace("&gt;", ">")


def _no_end(texts: list[str]) -> list[str]:
    return [text.rstrip() for text in texts]


def _no_ends(texts: list[str]) -> list[str]:
    return [text.strip() for text in texts]


_TABLES: dict[str, tuple[Callable[[], Table], Callable[[list[str]], list[str]]]] = {
    "none": (white_space, _as_is),
    "13a": (_mteval, _for_13a),
    "intl": (_intl, _no_end),
    "char": (_char, _as_is),
    "zh": (_zh, _no_ends),
}


@lru_cache(maxsize=64)
def tokenizer(name: str, option: str = "metrics.bleu.tokenize") -> Tokenizer:
    """sacreBLEU's tokenizer of that name, or the SentencePiece model of that path; `option` is named in messages."""
    if name in _TABLES:
        table, prepare = _TABLES[name]
        return Tokenizer(name, table(), prepare)
    if name.endswith(".model"):
        return Tokenizer(f"spm-{file_digest(_existing(Path(name), option))[:8]}", white_space(), _once(_pieces(name)))
    return _library(name, option)


def _existing(path: Path, option: str) -> Path:
    if not path.is_file():
        raise HarnessError(f"{option}={path} does not exist; expected a SentencePiece model, or a tokenizer's name")
    return path


def _library(name: str, option: str) -> Tokenizer:
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.tokenizers import tokenizer_spm as spm
    from sacrebleu.utils import SACREBLEU_DIR

    if name not in BLEU.TOKENIZERS:
        raise HarnessError(
            f"{option}={name}; expected one of {', '.join(sorted(BLEU.TOKENIZERS))}, or a SentencePiece model's path"
        )
    try:
        theirs = BLEU(tokenize=name).tokenizer
    except (ImportError, RuntimeError, OSError, AssertionError) as error:
        where = (
            Path(SACREBLEU_DIR) / "models" / spm.SPM_MODELS[name]["url"].rpartition("/")[2]
            if name in spm.SPM_MODELS
            else None
        )
        wanted = f" (expected its model at {where}, or online)" if where else ""
        raise HarnessError(f"{option}={name} cannot be had: {' '.join(str(error).split())}{wanted}") from error
    return Tokenizer(str(theirs.signature()), white_space(), _once(lambda text: str(theirs(text.rstrip()))))


def _pieces(path: str) -> Callable[[str], str]:
    try:
        import sentencepiece
    except ImportError:
        raise HarnessError(f"{path} needs the package sentencepiece, which is not installed") from None
    model = sentencepiece.SentencePieceProcessor(model_file=path)
    return lambda text: " ".join(model.encode(text.rstrip(), out_type=str))


def _once(tokenize: Callable[[str], str]) -> Callable[[list[str]], list[str]]:
    """`tokenize` on each distinct text; these libraries are not made for several threads."""
    lock = threading.Lock()

    def prepare(texts: list[str]) -> list[str]:
        with lock:
            found = {text: tokenize(text) for text in dict.fromkeys(texts)}
        return [found[text] for text in texts]

    return prepare
