"""A plain sentence splitter for the extractive systems: after . ! ? and closing quotes, before a capital or a quote."""

from __future__ import annotations

import re

_END = re.compile(r"""(?<=[.!?])(["')\]]*)\s+(?=["'(\[]?[A-Z0-9])""")
_ABBREVIATION = re.compile(r"(?:\b(?:Mr|Mrs|Ms|Dr|Prof|St|No|vs|etc|e\.g|i\.e)|\b[A-Z])\.$")


def sentences(text: str) -> list[str]:
    """Sentences in their order, white space trimmed, none empty.

    >>> sentences('Dr. Orme left. "Why?" asked Ida. Nobody knew.')
    ['Dr. Orme left.', '"Why?" asked Ida.', 'Nobody knew.']
    """
    pieces: list[str] = []
    start = 0
    for match in _END.finditer(text):
        piece = text[start : match.end(1)].strip()
        if _ABBREVIATION.search(piece):
            continue
        pieces.append(piece)
        start = match.end()
    pieces.append(text[start:].strip())
    return [piece for piece in pieces if piece]
