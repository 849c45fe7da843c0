"""How well a retriever ranks what was judged relevant: the measures of trec_eval, by the names of ir_measures.

The contexts of an output are its ranking, the example's `relevant` are the judgements: ids, or grades by id. Contexts
are ordered as trec_eval orders a run, whatever order they come in: by score, of equal ones the id that comes last in
the order of bytes first, and scores are compared in 32 bits. Contexts without scores, or `order=given`, stand in the
order of their list. An id that was retrieved twice (chunks of one document) counts where it stands first.

A query without a judgement is left out, as trec_eval does; a judged one for which nothing was retrieved counts 0, as
`trec_eval -c` does. The score of a run is the mean over queries.

>>> retrieval = Retrieval(["nDCG@10", "RR", "R@10"])
>>> contexts = Contexts.of([[{"id": "d1", "score": 0.2}, {"id": "d7", "score": 0.9}, {"id": "d3", "score": 0.4}]])
>>> passages = {"contexts": contexts, "relevant": Contexts.of_grades([["d3"]])}
>>> rows = retrieval.statistics(Batch([""], [], passages=passages))
>>> retrieval.score_names, retrieval.score(rows.sum(0)).round(4).tolist()
(('ndcg_10', 'mrr', 'recall_10'), [0.6309, 0.5, 1.0])
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from copy import copy
from dataclasses import replace

import numpy as np

from harness.metrics.means import means
from harness.metrics.measures import Measure, Ranked
from harness.types import Array, Batch, Contexts, HarnessError, Metric, Texts, check_choice

log = logging.getLogger(__name__)
ORDERS = ("score", "given")
STANDARD = ("nDCG@10", "R@10", "P@10", "RR", "AP", "Success@10")


class Retrieval(Metric):
    name = "retrieval"
    reads = needs = ("contexts", "relevant")
    threads = True
    needs_references = False
    unscored = "have no judgement"
    averaged = True
    bounds = (0.0, 1.0)
    plain = ("measures", "order")

    def __init__(self, measures: Sequence[str] = STANDARD, order: str = "score") -> None:
        """`order`: `score`, as trec_eval has it, or `given`, that of the list of contexts."""
        check_choice("metrics.retrieval.order", order, ORDERS)
        if not measures or isinstance(measures, str):
            raise HarnessError(f"metrics.retrieval.measures={measures!r}; expected a list such as [nDCG@10,RR]")
        self.order = order
        self._give([Measure.named(name) for name in measures])

    def _give(self, measures: Sequence[Measure]) -> None:
        self.measures = tuple(dict.fromkeys(measures))
        self.score_names = tuple(measure.score for measure in self.measures)
        self.columns, self.counted = (*self.score_names, "count"), ("count",)

    def of_scores(self, scores: Sequence[str]) -> Retrieval:
        part = copy(self)
        part._give([self.measures[self.score_names.index(score)] for score in scores])
        return part

    def statistics(self, batch: Batch) -> Array:
        """(n, measures + 1); NaN for queries without a judgement."""
        contexts, relevant = batch.contexts, batch.relevant
        _check_ids(batch)
        if self.order == "given":
            contexts = replace(contexts, scores=np.full(len(contexts.scores), np.nan))
        ranking = ranked(contexts, relevant)
        _warn_of_strangers(ranking, batch)
        self.advance(len(batch))
        return self._rows(ranking, relevant)

    def _rows(self, ranking: Ranked, relevant: Contexts) -> Array:
        rows = np.column_stack([*(measure.of(ranking) for measure in self.measures), np.ones(len(relevant))])
        rows[relevant.lengths == 0] = np.nan
        return rows

    def score(self, sums: Array) -> Array:
        return means(sums)

    def extremes(self, batch: Batch) -> tuple[Array, Array]:
        """Nothing retrieved, and everything that was judged, the best first."""
        relevant = batch.relevant
        worst, best = ranked(Contexts.nones(len(batch)), relevant), ranked(relevant, relevant)
        return self._rows(worst, relevant), self._rows(best, relevant)

    def title_of(self, score: str) -> str:
        return self.measures[self.score_names.index(score)].title

    def definition(self) -> dict[str, str]:
        return {"order": "trec_eval" if self.order == "score" else "given", "unjudged": "nonrelevant"}


def ranked(contexts: Contexts, relevant: Contexts) -> Ranked:
    """Where what was judged for each query stands among what was retrieved for it."""
    from harness.inputs.text_sets import cells
    from harness.metrics.kernels.ranks import REPEATED, rank

    ids = Texts.joined([relevant.ids, contexts.ids])
    ranks, depths = np.empty(len(relevant.ids), np.int64), np.empty(len(contexts), np.int64)
    most = int((relevant.lengths + contexts.lengths).max(initial=1))
    room = np.empty(cells(most), np.uint64), np.empty((3, most), np.int64), np.empty(most, np.float32)
    rank(*ids.utf8, relevant.starts, contexts.starts, contexts.scores, ranks, depths, *room)
    query = np.repeat(np.arange(len(relevant)), relevant.lengths)
    once = ranks != REPEATED
    return Ranked(query[once], relevant.scores[once], ranks[once], depths)


def _check_ids(batch: Batch) -> None:
    """Refuses contexts that no judgement can be of."""
    contexts, relevant = batch.contexts, batch.relevant
    if not contexts.ids.array.null_count:
        return
    nameless = ~contexts.ids.present & np.repeat(relevant.lengths > 0, contexts.lengths)
    if nameless.any():
        first = int(nameless.argmax())
        row = int(np.searchsorted(contexts.starts, first, "right")) - 1
        text = (contexts.texts[first] or "")[:40]
        raise HarnessError(
            f"retrieval: context {first - int(contexts.starts[row]) + 1} of {batch.place(row)} ({text!r}) has no id, "
            f"as {int(nameless.sum())} of {len(nameless)} contexts; expected ids such as 'relevant' names "
            f'({relevant.ids[int(relevant.starts[row])]!r}): {{"id": …, "text": …}}'
        )


def _warn_of_strangers(ranking: Ranked, batch: Batch) -> None:
    """Says that ids may be of another kind than the judgements'."""
    answered = np.flatnonzero((ranking.depths > 0) & (batch.relevant.lengths > 0))
    if not len(answered) or ranking.ranks.any():
        return
    row = int(answered[0])
    retrieved, judged = (column.ids[int(column.starts[row])] for column in (batch.contexts, batch.relevant))
    log.warning(
        "retrieval: of %d retrieved ids and %d judged ones not one is both (%s: %r was retrieved, %r judged); expected "
        "ids of the same documents",
        int(ranking.depths.sum()), len(ranking.ranks), batch.place(row), retrieved, judged,
    )  # fmt: skip
