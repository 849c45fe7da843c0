"""sacreBLEU's `13a`: what NIST's mteval-v13a does, as WMT uses it.

>>> tokenizer_13a().spelt(["Olá, 3.5 &quot;x&quot;!"])
[['Olá', ',', '3.5', '"', 'x', '"', '!']]
"""

from __future__ import annotations

from functools import cache

from harness.metrics.columns import Table
from harness.metrics.tokenizers.tokenizer_base import Tokenizer, classes, where

PUNCTUATION = "".join(
    chr(c) for c in (*range(32, 39), *range(40, 44), 47, *range(58, 65), *range(91, 97), *range(123, 127))
)
"""What is a token of its own: ASCII punctuation but for ' - . and the comma."""
MTEVAL = {"alone": PUNCTUATION, "digit": "0123456789", "point": ".,", "dash": "-"}
"""Its classes of characters."""


@cache
def tokenizer_13a() -> Tokenizer:
    return Tokenizer("13a", Table(classes(**MTEVAL), padded=True), where(b"&<\n", _unescaped))


def _unescaped(text: str) -> str:
    """mteval's language-independent part."""
    text = text.rstrip().replace("<skipped>", "").replace("-\n", "").replace("\n", " ")
    return text.replace("&quot;", '"').replace("&amp;", "&").replace("&lt;", "<").replace("&gt;", ">")
