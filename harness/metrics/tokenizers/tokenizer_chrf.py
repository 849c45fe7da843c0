"""The words of chrF++: split at white space, with punctuation at the edge of a word a token of its own."""

from __future__ import annotations

from functools import cache

from harness.metrics.columns import Table
from harness.metrics.tokenizers.tokenizer_base import classes


@cache
def chrf_words() -> Table:
    return Table(classes(edge="!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"), edges=True)
