"""Which words a metric matched, for the examples that are looked at first: kept in the page, as the browser has no
model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from harness.types import Alignment


def compact(alignment: Alignment, output: str, reference: str) -> dict[str, Any]:
    """`{reference, output, matched}`: of each token that the text shows [from, to, match, cosine in percent], places in
    UTF-16 units as browsers count them; a match of -1 is a special token."""
    ours = _tokens(alignment.output_spans, output)
    theirs = _tokens(alignment.reference_spans, reference)
    return {
        "reference": alignment.reference,
        "output": _matched(ours, theirs, alignment.output_matches, alignment.output_similarity),
        "matched": _matched(theirs, ours, alignment.reference_matches, alignment.reference_similarity),
    }


def _tokens(spans: Sequence[tuple[int, int]], text: str) -> list[tuple[int, int] | None]:
    if text.isascii() or max(text, default="") < "\U00010000":
        return [span if span[1] > span[0] else None for span in spans]
    places = np.concatenate([[0], np.cumsum([2 if ord(c) > 0xFFFF else 1 for c in text])]).tolist()
    return [(places[a], places[b]) if b > a else None for a, b in spans]


def _matched(
    tokens: Sequence[tuple[int, int] | None],
    others: Sequence[tuple[int, int] | None],
    matches: Sequence[int],
    similarity: Sequence[float],
) -> list[list[int]]:
    """Only tokens that stand in the text; matches are places in the list of the other side's tokens that do."""
    place = {j: k for k, j in enumerate(j for j, token in enumerate(others) if token is not None)}
    return [
        [*token, place.get(matches[i], -1), round(100 * similarity[i])]
        for i, token in enumerate(tokens)
        if token is not None
    ]
