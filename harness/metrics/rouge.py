"""ROUGE-1 to 9, L and Lsum (Lin 2004) as the package rouge-score 0.1.2 computes them.

Per example precision, recall and F; with several references the one of the highest F counts, score by score. The score
of a run is the mean over examples. Sentences for ROUGE-Lsum are separated by newlines.

>>> rouge = Rouge(types=["rouge1"])
>>> rows = rouge.statistics(["The cat sat on mat."], [["The cat sat on the mat."]], [None])
>>> [round(float(x), 4) for x in rouge.score(rows.sum(0))]  # F, precision, recall
[0.9091, 1.0, 0.8333]
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib.metadata import version

import numpy as np

from harness.types import Array, HarnessError, Metric

DEFAULT = ("rouge1", "rouge2", "rougeL", "rougeLsum")
_TYPE = re.compile(r"rouge([1-9]|L|Lsum)")
PARTS = ("", ".precision", ".recall")


class Rouge(Metric):
    name = "rouge"

    def __init__(self, types: Sequence[str] = DEFAULT, stemmer: bool = False) -> None:
        for type_ in types:
            if not _TYPE.fullmatch(type_):
                raise HarnessError(f"metrics.rouge.types has {type_!r}; expected rouge1 to rouge9, rougeL or rougeLsum")
        if not types:
            raise HarnessError(f"metrics.rouge.types is empty; expected for instance [{','.join(DEFAULT)}]")
        self.types = tuple(dict.fromkeys(types))
        self.stemmer = stemmer
        self.score_names = tuple(type_ + part for type_ in self.types for part in PARTS)
        self.columns = (*self.score_names, "count")

    def statistics(
        self, outputs: Sequence[str], references: Sequence[Sequence[str]], sources: Sequence[str | None]
    ) -> Array:
        from rouge_score.rouge_scorer import RougeScorer

        scorer = RougeScorer(list(self.types), use_stemmer=self.stemmer)
        rows = np.ones((len(outputs), len(self.columns)))
        for row, output, refs in zip(rows, outputs, references, strict=True):
            best = scorer.score_multi(refs, output)
            row[:-1] = [x for t in self.types for x in (best[t].fmeasure, best[t].precision, best[t].recall)]
            self.advance(1)
        return rows

    def score(self, sums: Array) -> Array:
        with np.errstate(divide="ignore", invalid="ignore"):
            return sums[..., :-1] / sums[..., -1:]

    def definition(self) -> dict[str, str]:
        return {
            "tok": "rouge_score",
            "stem": "porter" if self.stemmer else "no",
            "refs": "best-f",
            "sentences": "newline",
        }

    def provenance(self) -> dict[str, str]:
        return {"version": version("rouge-score")}
