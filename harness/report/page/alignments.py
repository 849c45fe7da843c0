"""Which words a metric matched, for the examples that are looked at first: kept in the page, as the browser has no
model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from harness.types import Alignment


def compact(alignment: Alignment, output: str, reference: str) -> dict[str, Any]:
    """`{reference, output, matched}`: of each token that the text shows [from, to, match, cosine in percent], places in
    UTF-16 units as browsers count them; a match of -1 is a special token. Where weight was moved, of the tokens that
    have any, and `moves` too: [output's token, reference's token, share of all weight in per mille, cosine in percent].
    """
    ours = _tokens(alignment.output_spans, output)
    theirs = _tokens(alignment.reference_spans, reference)
    if alignment.moves:
        ours = [token if weight else None for token, weight in zip(ours, alignment.output_weights, strict=True)]
        theirs = [token if weight else None for token, weight in zip(theirs, alignment.reference_weights, strict=True)]
    halves = {
        "output": _matched(ours, theirs, alignment.output_matches, alignment.output_similarity),
        "matched": _matched(theirs, ours, alignment.reference_matches, alignment.reference_similarity),
    }
    moves = {"moves": _moves(alignment.moves, _places(ours), _places(theirs))} if alignment.moves else {}
    return {"reference": alignment.reference, **halves, **moves}


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
    place = _places(others)
    return [
        [*token, place.get(matches[i], -1), round(100 * similarity[i])]
        for i, token in enumerate(tokens)
        if token is not None
    ]


def _places(tokens: Sequence[tuple[int, int] | None]) -> dict[int, int]:
    """Of each token that stands in the text its place among those that do."""
    return {j: k for k, j in enumerate(j for j, token in enumerate(tokens) if token is not None)}


def _moves(
    moves: Sequence[tuple[int, int, float, float]], ours: dict[int, int], theirs: dict[int, int]
) -> list[list[int]]:
    """The largest first; what is less than half of a thousandth is left out."""
    shown = [
        [ours[i], theirs[j], round(1000 * share), round(100 * cosine)]
        for i, j, share, cosine in moves
        if i in ours and j in theirs and share >= 0.0005
    ]
    return sorted(shown, key=lambda move: (-move[2], move))
