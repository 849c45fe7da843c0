"""Tokens by the stems of their words."""

from __future__ import annotations

import numpy as np

from harness.inputs.stems import stemmer
from harness.metrics.columns import Tokens


def stemmed(tokens: Tokens, language: str) -> Tokens:
    """The same tokens by their stems."""
    stem, numbers = stemmer(language), dict[str, int]()
    of_word = np.array([numbers.setdefault(stem(word), len(numbers)) for word in tokens.vocabulary()], np.int32)
    return Tokens(of_word[tokens.ids], tokens.starts, len(numbers), lambda: list(numbers))
