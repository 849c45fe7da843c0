"""Tokenizers by name: sacreBLEU's, rouge-score's, and words of any language; one file per family.

Where the rules look at single characters, a tokenizer is a `Table` for the compiled kernel and gives the very tokens of
the implementation it is named after. Where only a library has them (MeCab, SentencePiece, Unicode's word boundaries),
the library is called, once for each distinct text.

>>> [t.spelt(["Olá, 3.5 &quot;x&quot;!"]) for t in (tokenizer("13a"), tokenizer("none"))]
[[['Olá', ',', '3.5', '"', 'x', '"', '!']], [['Olá,', '3.5', '&quot;x&quot;!']]]
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from harness.metrics.tokenizers.tokenizer_13a import tokenizer_13a
from harness.metrics.tokenizers.tokenizer_base import Tokenizer, lowered, lowered_ascii, white_space
from harness.metrics.tokenizers.tokenizer_char import tokenizer_char
from harness.metrics.tokenizers.tokenizer_chrf import chrf_words
from harness.metrics.tokenizers.tokenizer_intl import tokenizer_intl
from harness.metrics.tokenizers.tokenizer_none import tokenizer_none
from harness.metrics.tokenizers.tokenizer_rouge import ascii_words
from harness.metrics.tokenizers.tokenizer_sacrebleu import tokenizer_sacrebleu
from harness.metrics.tokenizers.tokenizer_spm import tokenizer_spm
from harness.metrics.tokenizers.tokenizer_squad import squad_words
from harness.metrics.tokenizers.tokenizer_tercom import tercom
from harness.metrics.tokenizers.tokenizer_unicode import unicode_words, word_splitter
from harness.metrics.tokenizers.tokenizer_zh import tokenizer_zh

__all__ = [
    "Tokenizer",
    "ascii_words",
    "chrf_words",
    "lowered",
    "lowered_ascii",
    "squad_words",
    "tercom",
    "tokenizer",
    "unicode_words",
    "white_space",
    "word_splitter",
]

OWN: dict[str, Callable[[], Tokenizer]] = {
    "none": tokenizer_none,
    "13a": tokenizer_13a,
    "intl": tokenizer_intl,
    "char": tokenizer_char,
    "zh": tokenizer_zh,
    "words": lambda: unicode_words("words"),
}


@lru_cache(maxsize=64)
def tokenizer(name: str, option: str = "metrics.bleu.tokenize") -> Tokenizer:
    """sacreBLEU's tokenizer of that name, `words` (no punctuation), or the SentencePiece model of that path; messages
    name `option`."""
    if name in OWN:
        return OWN[name]()
    return tokenizer_spm(name, option) if name.endswith(".model") else tokenizer_sacrebleu(name, option)
