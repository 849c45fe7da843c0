"""Words by Unicode's default word boundaries (UAX #29): `can't` and `3,5` stay whole, an ideograph is a word.

>>> word_splitter()("O João não comeu 3,5 maçãs.")
['O', 'João', 'não', 'comeu', '3,5', 'maçãs']
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, lru_cache

from harness.metrics.tokenizers.tokenizer_base import Tokenizer, each, white_space


@cache
def _spaced() -> Callable[[str], str]:
    """A text's words with a space between them."""
    import regex

    boundary, word = regex.compile(r"(?V1w)\b"), regex.compile(r"\w")

    @lru_cache(maxsize=1 << 18)
    def words(piece: str) -> str:
        return " ".join(part for part in boundary.split(piece) if word.search(part))

    return lambda text: " ".join(map(words, text.split()))


def word_splitter() -> Callable[[str], list[str]]:
    """Gives the words of a text."""
    spaced = _spaced()
    return lambda text: spaced(text).split()


@cache
def unicode_words(name: str = "unicode") -> Tokenizer:
    """Words, under the name that a signature gives them."""
    return Tokenizer(name, white_space(), each(_spaced()))
