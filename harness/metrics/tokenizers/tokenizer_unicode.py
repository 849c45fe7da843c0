"""Words by Unicode's default word boundaries (UAX #29): `can't` and `3,5` stay whole, an ideograph is a word."""

from __future__ import annotations

from functools import cache, lru_cache

from harness.metrics.tokenizers.tokenizer_base import Tokenizer, each, white_space


@cache
def unicode_words() -> Tokenizer:
    import regex

    boundary, word = regex.compile(r"(?V1w)\b"), regex.compile(r"\w")

    @lru_cache(maxsize=1 << 18)
    def words(piece: str) -> str:
        return " ".join(part for part in boundary.split(piece) if word.search(part))

    return Tokenizer("unicode", white_space(), each(lambda text: " ".join(map(words, text.split()))))
