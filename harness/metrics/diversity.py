"""How different the outputs of a group are from each other: those of one example, or those of similar queries.

| score | of a group |
| --- | --- |
| `diversity` | 1 - the mean BERTScore F1 of all pairs of its outputs |
| `diversity.similarity` | that mean |
| `diversity.self_bleu` | the mean sentence BLEU of each output against the others (Zhu et al. 2018), 0 to 100 |
| `diversity.distinct1`, `diversity.distinct2` | different words, or pairs of words, over all of them (Li et al. 2016) |

The score of a run is the mean over groups. A group is what one example's repeats are, or the outputs whose examples
have the same `by`, which must be the cluster. One of a single output says nothing and is left out. The row of
each output is its share of its group's scores, so that the rows of a group add up to them and a count of 1.

Two outputs of the same text are alike (1), the empty one too, for which BERTScore has no tokens.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import chain, combinations
from typing import Any

import numpy as np

from harness.inputs.plugins import checked
from harness.metrics.bertscore import BertScore
from harness.metrics.bleu import Bleu
from harness.metrics.distinct import Distinct
from harness.types import Array, Batch, HarnessError, Metric
from harness.types.texts import starts_of

PARTS = ("similarity", "self_bleu", "distinct1", "distinct2")
ORDERS = 2
"""Words, and pairs of them."""


class Diversity(Metric):
    name = "diversity"
    title = "Diversity"
    at_once = True
    needs_references = False
    unscored = "have no other output to be compared with"
    plain = ("by", "tokenize", "lowercase")
    columns = (*PARTS, "count", "count1", "count2")
    score_names = ("diversity", *(f"diversity.{part}" for part in PARTS))

    def __init__(
        self,
        by: str | None = None,
        tokenize: str = "13a",
        lowercase: bool = False,
        bertscore: Mapping[str, Any] | None = None,
    ) -> None:
        """`by`: the field of the examples whose outputs are compared; None: the outputs of one example. `tokenize` and
        `lowercase`: of BLEU and distinct-n. `bertscore`: options of that metric, such as its model."""
        self.by, self.tokenize, self.lowercase = by, tokenize, lowercase
        self.bertscore = checked(BertScore, bertscore or {}, "metrics.diversity.bertscore")
        self.reads = ("outputs", "id") if by is None else ("outputs", "id", by)
        self.needs_fields = () if by is None else (by,)
        self.groups = by
        if self.bertscore.get("idf"):
            raise HarnessError(
                "metrics.diversity.bertscore.idf=true: weights of words are fitted to references, and outputs are "
                "compared with each other; expected idf=false"
            )

    @cached_property
    def _bertscore(self) -> BertScore:
        return BertScore(**self.bertscore)

    @cached_property
    def _bleu(self) -> Bleu:
        return Bleu(self.tokenize, self.lowercase)

    @cached_property
    def _distinct(self) -> Distinct:
        return Distinct((1, ORDERS), self.tokenize, self.lowercase)

    def statistics(self, batch: Batch) -> Array:
        outputs, rows = list(batch.outputs), np.full((len(batch), len(self.columns)), np.nan)
        groups = [group for group in self._groups(batch) if len(group) > 1]
        texts = [[outputs[place] for place in group] for group in groups]
        distinct = self._distinct_of(texts)
        counts = ~np.isnan(distinct)
        once = np.ones(len(groups))
        whole = [self._similarity(texts), self._self_bleu(texts), np.where(counts, distinct, 0.0), once, counts]
        for group, values in zip(groups, np.column_stack(whole), strict=True):
            rows[group] = values / len(group)
        self.advance(len(outputs))
        return rows

    def _groups(self, batch: Batch) -> list[list[int]]:
        """The places of the outputs of each group."""
        ids = list(batch.field("id"))
        if self.by is not None and len(set(ids)) < len(ids):
            repeated = next(id_ for i, id_ in enumerate(ids) if id_ in ids[:i])
            raise HarnessError(
                f"metrics.diversity.by={self.by}, and the example {repeated!r} has several outputs; expected one for "
                "each (system.repeats=1), or by=null to compare the outputs of one example"
            )
        groups: dict[Any, list[int]] = {}
        for place, name in enumerate(ids if self.by is None else batch.field(self.by)):
            groups.setdefault(name if isinstance(name, str) else repr(name), []).append(place)
        if len(groups) == len(ids):
            which = "each example has one output" if self.by is None else f"no two examples have the same {self.by!r}"
            raise HarnessError(
                f"diversity compares outputs with each other, and {which}; expected several for each example "
                "(system.repeats=2 or more), or the field of similar ones (metrics.diversity.by)"
            )
        return list(groups.values())

    def _similarity(self, groups: Sequence[Sequence[str]]) -> Array:
        """(groups,) the mean F1 of all pairs; it is the same whichever of the two is the reference."""
        pairs = [list(combinations(texts, 2)) for texts in groups]
        different = list(dict.fromkeys(pair for some in pairs for pair in some if pair[0] != pair[1]))
        metric, alike = self._bertscore, {}
        if different:
            metric.arrays = self.arrays
            scored = metric.statistics(Batch([a for a, _ in different], [[b] for _, b in different]))[:, 0]
            alike = dict(zip(different, scored.tolist(), strict=True))
        return np.array([np.mean([alike.get(pair, 1.0) for pair in some]) for some in pairs])

    def _self_bleu(self, groups: Sequence[Sequence[str]]) -> Array:
        """(groups,)"""
        others = [[*texts[:i], *texts[i + 1 :]] for texts in groups for i in range(len(texts))]
        rows = self._bleu.statistics(Batch(list(chain.from_iterable(groups)), others))
        return _sums(self._bleu.score_examples(rows)[:, 0], groups) / [len(texts) for texts in groups]

    def _distinct_of(self, groups: Sequence[Sequence[str]]) -> Array:
        """(groups, 2): different words and pairs of words over all of them; NaN where there are none."""
        rows = self._distinct.statistics(Batch(list(chain.from_iterable(groups)), []))
        group = np.repeat(np.arange(len(groups)), [len(texts) for texts in groups])
        scores = np.empty((len(groups), ORDERS))
        for n, name in enumerate(self._distinct.lists):
            ngrams = rows.lists[name]
            held = np.unique(np.column_stack([np.repeat(group, np.diff(ngrams.starts)), ngrams.values]), axis=0)
            with np.errstate(invalid="ignore"):
                scores[:, n] = np.bincount(held[:, 0], minlength=len(groups)) / _sums(rows.values[:, 2 * n + 1], groups)
        return scores

    def score(self, sums: Array) -> Array:
        """(..., s) of sums (..., k)."""
        counts = sums[..., [4, 4, 5, 6]]
        with np.errstate(divide="ignore", invalid="ignore"):
            parts = sums[..., :4] / counts
        return np.concatenate([1 - parts[..., :1], parts], axis=-1)

    def digits_of(self, score: str) -> int:
        return 2 if score == "diversity.self_bleu" else super().digits_of(score)

    def definition(self) -> dict[str, str]:
        words = self._bleu.definition()
        encoder = {
            k: v for k, v in self._bertscore.definition().items() if k in ("model", "layer", "rescale", "max", "dtype")
        }
        return {"by": self.by or "example", "case": words["case"], "tok": words["tok"], **encoder}

    def provenance(self) -> dict[str, str]:
        return self._bertscore.provenance()


def _sums(values: Array, groups: Sequence[Sequence[str]]) -> Array:
    """(groups,) of the values of all texts, one group after the other."""
    starts = starts_of(np.array([len(texts) for texts in groups]))[:-1]
    return np.asarray(np.add.reduceat(values, starts)) if len(groups) else np.empty(0)
