"""Which tokens BERTScore matched and MoverScore moved, in a form that people can read.

Special tokens stay in: BERTScore gives them no weight, but as in bert-score a token may find its best match in one of
them.

>>> pieces(" the  dog", [(0, 3), (3, 8), (0, 0)], 1)  # of the text without its leading space
([(1, 4), (6, 9), (0, 0)], ['the', 'dog', None])
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from harness.inputs.pretrained import Pretrained
from harness.metrics.encoder import Encoded
from harness.types import Alignment, Array

Span = tuple[int, int]


def aligned(
    pretrained: Pretrained,
    texts: tuple[str, str],
    encoded: tuple[Encoded, Encoded],
    similar: NDArray[np.float32],
    weights: tuple[Array, Array],
    reference: int,
) -> Alignment:
    """The greedy matches of an output and a reference from `similar` (output tokens, reference tokens)."""
    (ours, mine), (theirs, other) = (_readable(pretrained, *pair) for pair in zip(texts, encoded, strict=True))
    return Alignment(
        reference=reference,
        output_tokens=ours,
        output_spans=mine,
        output_matches=tuple(similar.argmax(1).tolist()),
        output_similarity=tuple(similar.max(1).astype(np.float64).tolist()),
        output_weights=tuple((weights[0] / weights[0].sum()).tolist()),
        reference_tokens=theirs,
        reference_spans=other,
        reference_matches=tuple(similar.argmax(0).tolist()),
        reference_similarity=tuple(similar.max(0).astype(np.float64).tolist()),
        reference_weights=tuple((weights[1] / weights[1].sum()).tolist()),
    )


def moved(
    pretrained: Pretrained,
    texts: tuple[str, str],
    encoded: tuple[Encoded, Encoded],
    shares: Array,
    similar: Array,
    reference: int,
) -> Alignment:
    """What `shares` of all weight, (output tokens, reference tokens), were moved between an output and a reference, and
    how similar the tokens are, likewise."""
    (ours, mine), (theirs, other) = (_readable(pretrained, *pair) for pair in zip(texts, encoded, strict=True))
    halves = [_half(shares, similar), _half(shares.T, similar.T)]
    moves = [(i, j, float(shares[i, j]), float(similar[i, j])) for i, j in np.argwhere(shares > 0).tolist()]
    return Alignment(reference, ours, mine, *halves[0], theirs, other, *halves[1], tuple(moves))


def _half(shares: Array, similar: Array) -> tuple[tuple[int, ...], tuple[float, ...], tuple[float, ...]]:
    """(where most of each token goes, how similar what it goes to is, its weight), of one side."""
    weights = shares.sum(1)
    matches = np.where(weights > 0, shares.argmax(1) if shares.size else -1, -1)
    means = np.divide((shares * similar).sum(1), weights, out=np.zeros_like(weights), where=weights > 0)
    return tuple(matches.tolist()), tuple(means.tolist()), tuple((weights / max(weights.sum(), 1e-300)).tolist())


def _readable(pretrained: Pretrained, text: str, encoded: Encoded) -> tuple[tuple[str, ...], tuple[Span, ...]]:
    """(what each token reads, the characters of the text that it covers)."""
    tokenizer, ids = pretrained.tokenizer, encoded.ids.tolist()
    names = tokenizer.convert_ids_to_tokens(ids)
    spans: list[Span] = [(0, 0)] * len(ids)
    read: list[str | None] = [None] * len(ids)
    if tokenizer.is_fast:  # others do not know where in the text a token stands
        tokenized = tokenizer(
            text.strip(),
            truncation=encoded.cut,
            max_length=len(ids) if encoded.cut else None,
            return_offsets_mapping=True,
            verbose=False,
        )
        if tokenized["input_ids"] == ids:
            spans, read = pieces(text, tokenized["offset_mapping"], len(text) - len(text.lstrip()))
    return tuple(piece or name for piece, name in zip(read, names, strict=True)), tuple(spans)


def pieces(text: str, offsets: Sequence[Span], start: int) -> tuple[list[Span], list[str | None]]:
    """(spans in the text without white space at their ends, the text of each or None where it covers none), of offsets
    from `start` on."""
    spans: list[Span] = []
    read: list[str | None] = []
    for first, last in offsets:
        piece = text[start + first : start + last]
        word = piece.strip()
        place = start + first + len(piece) - len(piece.lstrip())
        spans.append((place, place + len(word)) if word else (0, 0))
        read.append(word or None)
    return spans, read
