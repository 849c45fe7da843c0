"""sacreBLEU's `char`: every character is a token."""

from __future__ import annotations

from functools import cache

from harness.metrics.columns import Table
from harness.metrics.tokenizers.tokenizer_base import Tokenizer, as_is, classes


@cache
def tokenizer_char() -> Tokenizer:
    return Tokenizer("char", Table(classes(alone=slice(None))), as_is)
