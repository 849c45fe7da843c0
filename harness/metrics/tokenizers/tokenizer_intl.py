"""sacreBLEU's `intl`: what mteval-v14's international tokenization does, by Unicode's numbers, punctuation, symbols."""

from __future__ import annotations

from functools import cache

from harness.metrics.columns import Table
from harness.metrics.tokenizers.tokenizer_base import Tokenizer, classes, each


@cache
def tokenizer_intl() -> Tokenizer:
    import regex

    text = "".join(map(chr, (*range(0xD800), *range(0xE000, 0x110000))))
    members = {name: [ord(c) for c in regex.findall(rf"\p{{{name}}}", text)] for name in "NPS"}
    table = Table(classes(digit=members["N"], point=members["P"], alone=members["S"]))
    return Tokenizer("intl", table, each(str.rstrip))
