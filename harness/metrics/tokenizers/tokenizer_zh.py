"""sacreBLEU's `zh`: every Chinese character is a token, the rest as in 13a."""

from __future__ import annotations

from functools import cache

from harness.metrics.columns import ALONE, Table
from harness.metrics.tokenizers.tokenizer_13a import MTEVAL
from harness.metrics.tokenizers.tokenizer_base import Tokenizer, classes, each

CHINESE = [
    (0x3400, 0x4DB5), (0x4E00, 0x9FBB), (0xF900, 0xFA2D), (0xFA30, 0xFA6A), (0xFA70, 0xFAD9), (0x2001, 0x2A6D),
    (0xFF00, 0xFFEF), (0x2E80, 0x2EFF), (0x3000, 0x303F), (0x31C0, 0x31EF), (0x2F00, 0x2FDF), (0x2FF0, 0x2FFF),
    (0x3100, 0x312F), (0x31A0, 0x31BF), (0xFE10, 0xFE1F), (0xFE30, 0xFE4F), (0x3200, 0x33FF),
]  # fmt: skip
"""What sacreBLEU takes for a Chinese character. The range from 2001 to 2A6D is there by a slip (a five-digit code point
written as four digits and one more character): dashes, quotes and arrows are among these 'characters'."""


@cache
def tokenizer_zh() -> Tokenizer:
    points = classes(**MTEVAL)
    for low, high in CHINESE:
        points[low : high + 1] |= ALONE
    return Tokenizer("zh", Table(points), each(str.strip))
