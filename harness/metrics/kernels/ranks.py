"""Where judged documents stand in rankings."""
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import numpy as np

from harness.compiled import compiled
from harness.inputs.text_sets import NOTHING, cells, is_after, place

REPEATED = -1
"""The rank of an id that was judged before."""


@compiled
def rank(data, starts, judged, retrieved, scores, ranks, depths, table, spare, values):
    """ranks (j,): of each judged document among those retrieved for its query, from 1; 0 where it is not among them,
    REPEATED where it was judged before. depths (n,): how many different documents were retrieved.

    Text i is `data[starts[i]:starts[i + 1]]`: first the j judged ids, of query q those from `judged[q]`, then the m
    retrieved ones, of query q those from `retrieved[q]`, with `scores` (m,). The highest score is first; of equal
    ones, in the 32 bits that trec_eval has for them, the id that comes last in the order of bytes. Where a document of
    a query has no score (NaN), all are in the order given. One that was retrieved twice stands where it is best.

    `table`, `spare` (3, most) and `values` (most,) are room for the documents of the longest query, judged and
    retrieved together.
    """
    texts, document, entry_of = spare[0], spare[1], spare[2]
    # document: of each entry, its place among the documents retrieved, or -1; entry_of: of each document retrieved
    for q in range(len(depths)):
        size = cells(judged[q + 1] - judged[q] + retrieved[q + 1] - retrieved[q])
        for cell in range(size):
            table[cell] = NOTHING
        entries = 0
        for j in range(judged[q], judged[q + 1]):
            ranks[j] = REPEATED
            if place(data, starts, j, table, size, texts, entries) == entries:
                ranks[j] = 0
                document[entries] = -1
                entries += 1
        scored = True
        for i in range(retrieved[q], retrieved[q + 1]):
            scored = scored and not np.isnan(scores[i])
        depth = 0
        for i in range(retrieved[q], retrieved[q + 1]):
            entry = place(data, starts, len(ranks) + i, table, size, texts, entries)
            if entry == entries:
                document[entry] = -1
                entries += 1
            if document[entry] < 0:
                document[entry] = depth
                entry_of[depth] = entry
                values[depth] = scores[i]
                depth += 1
            elif scored and np.float32(scores[i]) > values[document[entry]]:
                values[document[entry]] = scores[i]
        depths[q] = depth
        entry = -1  # the first entries are those of judged ids, in their order
        for j in range(judged[q], judged[q + 1]):
            if ranks[j] == REPEATED:
                continue
            entry += 1
            own = document[entry]
            if own < 0:
                continue
            if not scored:
                ranks[j] = own + 1
                continue
            above, level = 1, 0
            for d in range(depth):
                above += values[d] > values[own]
                level += values[d] == values[own]
            if level > 1:
                for d in range(depth):
                    if d != own and values[d] == values[own]:
                        above += is_after(data, starts, texts[entry_of[d]], texts[entry])
            ranks[j] = above
