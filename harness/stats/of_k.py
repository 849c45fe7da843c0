"""Several outputs of an example beyond their mean: the best of k, and what most of k say.

| score | what it estimates |
| --- | --- |
| `exact_match.pass_4` | the chance that one of four outputs is right, for scores of zeros and ones (Chen et al. 2021) |
| `token_f1.best_of_4` | the best score among four outputs, for other means |
| `exact_match.majority_4` | the score of what most of four outputs say, ties decided by lot; equal outputs are one |

Each is the mean over all ways to choose k of an example's outputs, so that it is unbiased for every k up to their
number, and then the mean over examples, whose interval comes as that of any score: where every output is right or
wrong, as that of a share.

>>> best_of(np.array([[0.0, 0.0, 1.0]]))[:, 0]
array([0.33333333, 0.66666667, 1.        ])
>>> plurality((2, 1)).round(3).tolist()
[[0.667, 0.333], [0.667, 0.333], [1.0, 0.0]]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.stats.design import Design
from harness.stats.tally import Tally
from harness.stats.units import hashes
from harness.types import Array, Batch, Metric, Rows, Signature, Texts

KINDS = ("pass", "best_of", "majority")


class OfK(Metric):
    """The scores of several outputs of an example, made of one headline score of a metric; a row for each example."""

    needs_references = False

    def __init__(self, metric: Metric, headline: str, kinds: Sequence[str], having: Sequence[int]) -> None:
        """`kinds`: `pass`, `best_of` or `majority`; `having`: how many examples have k outputs, for each k from 1."""
        self.metric, self.headline, self.having = metric, headline, having
        most = len(having)
        self.name = f"{headline} of k"
        self.score_names = tuple(f"{headline}.{kind}_{k}" for kind in kinds for k in range(1, most + 1))
        self.columns = tuple(f"{part} {name}" for part in ("sum", "count") for name in self.score_names)
        self.higher_is_better = metric.higher_is_better
        if "pass" in kinds:  # every output is right or wrong
            self.averaged, self.bounds, self.outputs = True, metric.bounds, most

    def statistics(self, batch: Batch) -> Array:
        raise NotImplementedError("made from the rows of another metric")

    def score(self, sums: Array) -> Array:
        total, count = np.split(sums, 2, axis=-1)
        return np.asarray(total / count)

    def extremes(self, batch: Batch) -> None:
        return None

    def caution_of(self, score: str) -> str | None:
        """Scores of other k are of other examples, where some have fewer outputs."""
        k = int(score.rpartition("_")[2])
        fewer = self.having[k - 1] < self.having[0]
        return f"of the {self.having[k - 1]} examples with {k} outputs or more" if fewer else None

    def title_of(self, score: str) -> str:
        kind, _, k = score.rpartition(".")[2].rpartition("_")
        words = {"pass": f"pass@{k}", "best_of": f"best of {k}", "majority": f"majority of {k}"}
        return f"{self.metric.title_of(self.headline)} {words[kind]}"

    def digits_of(self, score: str) -> int:
        return self.metric.digits_of(self.headline)


class Several:
    """Gathers the scores and texts of all outputs, block by block."""

    def __init__(self, metrics: Mapping[str, Metric]) -> None:
        self._metrics = {name: metric for name, metric in metrics.items() if metric.averaged}
        self._values: dict[str, list[Array]] = {name: [] for name in self._metrics}
        self._texts: list[NDArray[np.uint64]] = []

    def add(self, texts: Texts, rows: Mapping[str, Rows]) -> None:
        """The processed outputs of a block, and the rows of each metric."""
        if not self._metrics:
            return
        self._texts.append(hashes(texts, 0))  # type: ignore[arg-type]  # of one that is missing there is no row
        for name, metric in self._metrics.items():
            self._values[name].append(metric.score_examples(rows[name].values)[:, _headlines(metric)])

    def tallies(self, design: Design, signatures: Mapping[str, Signature]) -> list[Tally]:
        """What is resampled for each headline score; `design`: of the outputs."""
        if not self._texts or design.example is None:
            return []
        place, counts = _places(design.example)
        of_examples = design.kept(place == 0)
        shape = (len(counts), int(counts.max()))
        texts = np.zeros(shape, np.uint64)
        texts[design.example, place] = np.concatenate(self._texts)
        made = []
        for name, metric in self._metrics.items():
            columns = np.concatenate(self._values[name])
            for i, headline in enumerate(metric.score_names[j] for j in _headlines(metric)):
                values = np.full(shape, np.nan)
                values[design.example, place] = columns[:, i]
                made.append(_tally(metric, headline, values, texts, (signatures[name], of_examples)))
        return made


def is_of_k(score: str) -> bool:
    """Whether a score is of k outputs of each example, by its name."""
    return score.rpartition(".")[2].rpartition("_")[0] in KINDS


def _headlines(metric: Metric) -> list[int]:
    return [i for i, name in enumerate(metric.score_names) if "." not in name]


def _places(example: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(n,) which output of its example each row is, from 0, in their order; (examples,) how many there are."""
    counts = np.bincount(example)
    order = np.argsort(example, kind="stable")
    place = np.empty_like(example)
    place[order] = np.arange(len(example)) - np.repeat(np.cumsum(counts) - counts, counts)
    return place, counts


def _tally(
    metric: Metric, headline: str, values: Array, texts: NDArray[np.uint64], known: tuple[Signature, Design]
) -> Tally:
    """Of values and texts (examples, outputs), NaN where one failed."""
    zeros_and_ones = metric.bounds is not None and np.isin(values[~np.isnan(values)], metric.bounds).all()
    parts = {"pass" if zeros_and_ones else "best_of": best_of(values if metric.higher_is_better else -values)}
    if not metric.higher_is_better:
        parts = {kind: -part for kind, part in parts.items()}
    if _repeated(texts, values):
        parts["majority"] = majority(values, texts)
    of_k = np.concatenate(list(parts.values())).T
    known_k = ~np.isnan(of_k)
    outputs = np.count_nonzero(~np.isnan(values), axis=1)
    having = [int((outputs >= k).sum()) for k in range(1, values.shape[1] + 1)]
    tally = Tally(OfK(metric, headline, list(parts), having), *known)
    tally.add(Rows(np.hstack([np.where(known_k, of_k, 0.0), known_k.astype(np.float64)])))
    return tally


def best_of(values: Array) -> Array:
    """(outputs, examples): for each k the mean of the highest of k outputs over all ways to choose them, from values
    (examples, outputs), NaN where one failed; NaN where fewer than k are there."""
    most = values.shape[1]
    ranked = np.sort(values, axis=1)  # NaN last
    counts = np.count_nonzero(~np.isnan(values), axis=1)
    result = np.full((most, len(values)), np.nan)
    for count in np.unique(counts[counts > 0]).tolist():
        some = counts == count
        weights = np.array([[comb(j, k - 1) / comb(count, k) for j in range(count)] for k in range(1, count + 1)])
        result[:count, some] = weights @ ranked[some, :count].T
    return result


def majority(values: Array, texts: NDArray[np.uint64]) -> Array:
    """(outputs, examples): for each k the mean score of what most of k outputs say, over all ways to choose them."""
    result = np.full(values.shape[::-1], np.nan)
    for i, (scores, said) in enumerate(zip(values, texts, strict=True)):
        there = ~np.isnan(scores)
        if there.any():
            _, which, counts = np.unique(said[there], return_inverse=True, return_counts=True)
            means = np.bincount(which, scores[there]) / counts
            order = np.argsort(-counts, kind="stable")
            result[: int(there.sum()), i] = plurality(tuple(counts[order].tolist())) @ means[order]
    return result


def _repeated(texts: NDArray[np.uint64], values: Array) -> bool:
    """Whether some example has two outputs that are equal; else a majority is an output by lot."""
    marked = np.where(np.isnan(values), np.arange(texts.shape[1], dtype=np.uint64), texts)
    ordered = np.sort(marked, axis=1)
    return bool((ordered[:, 1:] == ordered[:, :-1]).any())


@cache
def plurality(counts: tuple[int, ...]) -> Any:
    """(k, groups): for each k the chance that a group of equal outputs is the largest among k that are drawn without
    replacement, ties decided by lot; `counts`: how many outputs each group has."""
    total = sum(counts)
    chances = np.zeros((total, len(counts)))
    of_count: dict[int, Array] = {}
    for group, count in enumerate(counts):
        if count not in of_count:
            of_count[count] = _wins(count, [*counts[:group], *counts[group + 1 :]], total)
        chances[:, group] = of_count[count]
    return chances


def _wins(count: int, others: Sequence[int], total: int) -> Array:
    """(k,) the chance that a group of so many outputs is the largest among k."""
    ways = [0.0] * (total + 1)
    for top in range(1, count + 1):  # as many of the k are of this group
        drawn = {(0, 0): 1}  # (outputs of the others, groups as large as this one) -> ways to draw them
        for other in others:
            more: dict[tuple[int, int], int] = {}
            for (size, ties), number in drawn.items():
                for taken in range(min(other, top) + 1):
                    key = size + taken, ties + (taken == top)
                    more[key] = more.get(key, 0) + number * comb(other, taken)
            drawn = more
        for (size, ties), number in drawn.items():
            ways[top + size] += comb(count, top) * number / (ties + 1)
    return np.array([ways[k] / comb(total, k) for k in range(1, total + 1)])
