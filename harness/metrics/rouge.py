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
from collections import Counter
from collections.abc import Callable, Sequence
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
        from rouge_score.tokenizers import DefaultTokenizer

        tokenize = DefaultTokenizer(self.stemmer).tokenize
        rows = np.ones((len(outputs), len(self.columns)))
        for row, output, refs in zip(rows, outputs, references, strict=True):
            ours = _Text(output, tokenize)
            candidates = [_Text(reference, tokenize) for reference in refs]
            for i, type_ in enumerate(self.types):
                triples = [_score(type_, reference, ours) for reference in candidates]
                row[3 * i : 3 * i + 3] = max(triples, key=lambda triple: triple[0])
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


class _Text:
    """A text's tokens, and those of its lines for ROUGE-Lsum."""

    def __init__(self, text: str, tokenize: Callable[[str], list[str]]) -> None:
        self.tokens = tokenize(text)
        self.lines = [tokenize(line) for line in text.split("\n") if line]
        self.counts: dict[int, Counter[tuple[str, ...]]] = {}

    def ngrams(self, n: int) -> Counter[tuple[str, ...]]:
        if n not in self.counts:
            self.counts[n] = Counter(zip(*(self.tokens[i:] for i in range(n)), strict=False))
        return self.counts[n]


def _score(type_: str, reference: _Text, output: _Text) -> tuple[float, float, float]:
    """(F, precision, recall) as in rouge-score."""
    if type_ == "rougeLsum" and (len(reference.lines) > 1 or len(output.lines) > 1):
        from rouge_score.rouge_scorer import _summary_level_lcs

        score = _summary_level_lcs(reference.lines, output.lines)
        return score.fmeasure, score.precision, score.recall
    if type_ in ("rougeL", "rougeLsum"):  # of single lines they are the same
        hits, wanted, given = lcs_length(reference.tokens, output.tokens), len(reference.tokens), len(output.tokens)
    else:
        theirs, ours = reference.ngrams(int(type_[5:])), output.ngrams(int(type_[5:]))
        hits, wanted, given = (theirs & ours).total(), theirs.total(), ours.total()
    precision, recall = hits / max(given, 1), hits / max(wanted, 1)
    total = precision + recall
    return (2 * precision * recall / total if total else 0.0), precision, recall


def lcs_length(a: Sequence[str], b: Sequence[str]) -> int:
    """Length of the longest common subsequence, 64 cells at a time in big integers (Hyyrö 2004).

    A table of cells, as in rouge-score, would take 200 GiB for two texts of a megabyte.

    >>> lcs_length("the quick brown fox".split(), "the brown fox ran".split())
    3
    """
    places: dict[str, int] = {}
    for i, token in enumerate(a):
        places[token] = places.get(token, 0) | 1 << i
    everything = (1 << len(a)) - 1
    row = everything
    for token in b:
        matched = row & places.get(token, 0)
        row = ((row + matched) | (row - matched)) & everything
    return len(a) - row.bit_count()
