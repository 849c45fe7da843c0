"""Measures of a ranking: their names, and what trec_eval makes of the ranks of judged documents.

A measure is named as ir_measures names it (`nDCG@10`, `AP(rel=2)`, `RR`), or as ranx does (`ndcg@10`, `map-l2`,
`hit_rate@5`). What its score is called follows from that: `ndcg_10`, `map_rel2`, `success_5`.

A grade of `rel` (1 where nothing is said) or more is relevant. A document that nobody judged is not. nDCG takes the
grade as the gain, and none from a negative one, divided by log2(rank + 1).

>>> [Measure.named(name).score for name in ("nDCG@10", "RR", "AP(rel=2)", "precision@10-l2", "hit_rate@5")]
['ndcg_10', 'mrr', 'map_rel2', 'precision_10_rel2', 'success_5']
>>> ranked = Ranked(np.array([0, 0, 0]), np.array([2.0, 1.0, 1.0]), np.array([3, 1, 0]), np.array([5]))
>>> [round(float(Measure.named(name).of(ranked)[0]), 4) for name in ("nDCG@10", "RR", "AP", "R@10", "P@10", "Rprec")]
[0.6388, 1.0, 0.5556, 0.6667, 0.2, 0.6667]
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from harness.types import Array, HarnessError, Integers, nearest

NAMES = {
    "ndcg": "ndcg", "ndcg_cut": "ndcg",
    "p": "precision", "precision": "precision",
    "r": "recall", "recall": "recall",
    "rr": "mrr", "mrr": "mrr", "recip_rank": "mrr",
    "ap": "map", "map": "map", "map_cut": "map",
    "success": "success", "hit_rate": "success",
    "rprec": "rprec", "r-precision": "rprec",
    "judged": "judged",
}  # fmt: skip
"""By what ir_measures, ranx and trec_eval call it, in small letters."""
TITLES = {
    "ndcg": "nDCG", "precision": "P", "recall": "Recall", "mrr": "MRR", "map": "MAP", "success": "Success",
    "rprec": "R-precision", "judged": "Judged",
}  # fmt: skip
NAME = re.compile(r"(?P<name>[A-Za-z][A-Za-z_-]*?)(\(rel=(?P<rel>\d+)\))?([@_](?P<cutoff>\d+))?(-l(?P<level>\d+))?")
EXPECTED = "nDCG@10, P@10, R@100, RR, AP, Success@10, Rprec or Judged@10, with (rel=2) for another least grade"


@dataclass(frozen=True)
class Ranked:
    """Judged documents and where they stand."""

    query: Integers
    """(j,) which query each was judged for, from 0, one after the other."""
    grades: Array
    """(j,)"""
    ranks: Integers
    """(j,) from 1; 0 where it was not found."""
    depths: Integers
    """(n,) how many documents were found for each query."""

    def count(self, chosen: NDArray[np.bool_] | Array) -> Array:
        """(n,) of each query how many of its documents are chosen (j,), or the sum of their weights."""
        return np.bincount(self.query, chosen, minlength=len(self.depths)).astype(np.float64)

    def among_first(self, least: float, cutoff: int | None) -> NDArray[np.bool_]:
        """(j,) those of at least this grade among the first documents."""
        chosen = (self.ranks > 0) & (self.grades >= least)
        return chosen if cutoff is None else chosen & (self.ranks <= cutoff)


@dataclass(frozen=True)
class Measure:
    kind: str
    cutoff: int | None = None
    """How many documents are looked at; None: all."""
    rel: int | None = None
    """The least grade of a relevant document, where the name says so."""

    @classmethod
    def named(cls, name: str) -> Measure:
        """The measure of this name."""
        parts = NAME.fullmatch(name.strip())
        kind = NAMES.get(parts["name"].lower()) if parts else None
        if parts is None or kind is None:
            hint = nearest(parts["name"].lower(), NAMES) if parts else ""
            raise HarnessError(
                f"metrics.retrieval.measures has {name!r}, which is not known{hint}; expected {EXPECTED}"
            )
        cutoff, rel = (
            None if part is None else int(part) for part in (parts["cutoff"], parts["rel"] or parts["level"])
        )
        if cutoff == 0:
            raise HarnessError(f"metrics.retrieval.measures has {name!r}, which looks at none; expected @1 or more")
        if rel is not None and kind in ("ndcg", "judged"):
            raise HarnessError(
                f"metrics.retrieval.measures has {name!r}; expected no least grade for {TITLES[kind]}, which looks at "
                "all grades"
            )
        if cutoff is not None and kind == "rprec":
            raise HarnessError(
                f"metrics.retrieval.measures has {name!r}; expected Rprec, which looks at as many documents as are "
                "relevant"
            )
        return cls(kind, cutoff, rel)

    @cached_property
    def score(self) -> str:
        """What its score is called."""
        cutoff = "" if self.cutoff is None else f"_{self.cutoff}"
        return self.kind + cutoff + ("" if self.rel is None else f"_rel{self.rel}")

    @property
    def title(self) -> str:
        """As papers print it."""
        title = TITLES[self.kind] + ("" if self.cutoff is None else f"@{self.cutoff}")
        return title if self.rel is None else f"{title} (grade {self.rel} and above)"

    def of(self, ranked: Ranked) -> Array:
        """(n,) of each query, 0 to 1."""
        return MEASURES[self.kind](ranked, self.cutoff, 1 if self.rel is None else self.rel)


Of = Callable[[Ranked, int | None, float], Array]
"""(where documents stand, how many are looked at, the least grade of a relevant one) -> (n,) of each query."""


def _ratio(above: Array, below: Array | Integers) -> Array:
    """0 where both are 0."""
    return np.divide(above, below, out=np.zeros(len(above)), where=below > 0)


def _in_order(query: Integers, key: Array | Integers) -> tuple[Array | Integers, Integers]:
    """(the keys, query by query from the smallest on, which one each is of its query, from 1); queries are in order."""
    least, span = key.min(initial=0), key.max(initial=0) - key.min(initial=0) + 1
    if span < 2**31 and (key == np.floor(key)).all():  # whole numbers are sorted together with their query
        before = query * int(span) - int(least)
        key = np.sort(before + key.astype(np.int64)) - before
    else:
        key = key[np.lexsort((key, query))]
    counts = np.bincount(query)
    return key, np.arange(1, len(query) + 1) - (np.cumsum(counts) - counts)[query]


def _discounts(most: int) -> Array:
    """(most + 1,) what the gain at each rank is divided by; at rank 0 there is none."""
    ranks: Array = np.arange(1.0, most + 2)
    ranks[0] = 2
    return np.log2(ranks)


def _ndcg(ranked: Ranked, cutoff: int | None, rel: float) -> Array:
    gains = np.maximum(ranked.grades, 0)
    discounts = _discounts(max(len(gains), int(ranked.ranks.max(initial=0))))
    gained = ranked.count(np.where(ranked.among_first(-np.inf, cutoff), gains, 0) / discounts[ranked.ranks])
    falling, places = _in_order(ranked.query, -gains)
    ideal = np.where(places <= (cutoff or np.inf), -falling, 0) / discounts[places]
    return _ratio(gained, ranked.count(ideal))


def _precision(ranked: Ranked, cutoff: int | None, rel: float) -> Array:
    looked_at = ranked.depths if cutoff is None else np.full(len(ranked.depths), cutoff)
    return _ratio(ranked.count(ranked.among_first(rel, cutoff)), looked_at)


def _recall(ranked: Ranked, cutoff: int | None, rel: float) -> Array:
    return _ratio(ranked.count(ranked.among_first(rel, cutoff)), ranked.count(ranked.grades >= rel))


def _reciprocal(ranked: Ranked, cutoff: int | None, rel: float) -> Array:
    hits, last = ranked.among_first(rel, cutoff), ranked.ranks.max(initial=0) + 1
    starts, reciprocal = np.flatnonzero(np.diff(ranked.query, prepend=-1)), np.zeros(len(ranked.depths))
    if len(starts):
        best = np.minimum.reduceat(np.where(hits, ranked.ranks, last), starts)
        reciprocal[ranked.query[starts]] = np.where(best < last, 1 / best, 0)
    return reciprocal


def _average_precision(ranked: Ranked, cutoff: int | None, rel: float) -> Array:
    hits, last = ranked.among_first(rel, cutoff), ranked.ranks.max(initial=0) + 1
    ranks, numbers = _in_order(ranked.query, np.where(hits, ranked.ranks, last))
    precision = np.where(ranks < last, numbers / ranks, 0)
    return _ratio(ranked.count(precision), ranked.count(ranked.grades >= rel))


def _success(ranked: Ranked, cutoff: int | None, rel: float) -> Array:
    return (ranked.count(ranked.among_first(rel, cutoff)) > 0).astype(np.float64)


def _r_precision(ranked: Ranked, cutoff: int | None, rel: float) -> Array:
    relevant = ranked.count(ranked.grades >= rel)
    return _ratio(ranked.count(ranked.among_first(rel, None) & (ranked.ranks <= relevant[ranked.query])), relevant)


def _judged(ranked: Ranked, cutoff: int | None, rel: float) -> Array:
    looked_at = ranked.depths if cutoff is None else np.minimum(ranked.depths, cutoff)
    return _ratio(ranked.count(ranked.among_first(-np.inf, cutoff)), looked_at)


MEASURES: dict[str, Of] = {
    "ndcg": _ndcg,
    "precision": _precision,
    "recall": _recall,
    "mrr": _reciprocal,
    "map": _average_precision,
    "success": _success,
    "rprec": _r_precision,
    "judged": _judged,
}
