"""TER (Snover et al. 2006) as sacreBLEU 2.6 computes it, corpus and sentence level: edits, shifts of words among them,
for each 100 words of reference.

A row holds the edits to the nearest reference and the mean length of the references; corpus TER is a function of their
sum. The search for shifts is tercom's as sacreBLEU has it, with its beam and its limits, compiled.

With `normalized` sacreBLEU tokenizes references twice and outputs once, which is not always the same: "it's, or not"
is two edits from itself. It stays so here.

>>> ter = Ter()
>>> rows = ter.statistics(Batch(["the cat on the mat sat"], [["the cat sat on the mat"]]))
>>> round(float(ter.score(rows.sum(0))[0]), 4)  # one shift, six words
16.6667
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property

import numpy as np

from harness.inputs.installed import version
from harness.metrics import columns
from harness.metrics.columns import Chunk
from harness.metrics.tokenizers import tercom, white_space
from harness.types import Array, Batch, Metric, Texts

_CHARACTERS = 400_000
"""Of a chunk: fewer than elsewhere, since a pair of long texts takes a while and Ctrl-C waits for a chunk."""


class Ter(Metric):
    name = "ter"
    title = "TER"
    digits = 2
    bounds = (0.0, math.inf)
    reads = ("outputs", "references")
    threads = True
    columns = ("edits", "ref_len")
    counted = ("edits",)
    score_names = ("ter",)
    higher_is_better = False
    plain = ("normalized", "no_punct", "asian_support", "case_sensitive")

    def __init__(
        self,
        normalized: bool = False,
        no_punct: bool = False,
        asian_support: bool = False,
        case_sensitive: bool = False,
    ) -> None:
        self.normalized, self.no_punct = normalized, no_punct
        self.asian_support, self.case_sensitive = asian_support, case_sensitive

    @cached_property
    def _prepare(self) -> Callable[[Texts, int], Texts]:
        return tercom(self.normalized, self.no_punct, self.asian_support, self.case_sensitive)

    def statistics(self, batch: Batch) -> Array:
        return columns.rows(batch, len(self.columns), self._rows, self.advance, _CHARACTERS)

    def _rows(self, chunk: Chunk) -> Array:
        tokens = columns.tokenized(self._prepare(chunk.all, int(chunk.first[0])), white_space())
        ours, theirs = chunk.pairs
        first = chunk.each[:-1]
        fewest = np.minimum.reduceat(columns.ter(tokens, ours, theirs), first)
        length = np.add.reduceat(tokens.lengths[theirs], first) / np.diff(chunk.first)
        return np.column_stack([fewest, length])

    def score(self, sums: Array) -> Array:
        edits, length = sums[..., :1], sums[..., 1:]
        with np.errstate(divide="ignore", invalid="ignore"):
            rate = np.where(length > 0, edits / length, edits > 0)
        return np.where(np.isnan(edits), np.nan, 100 * rate)

    def definition(self) -> dict[str, str]:
        return {
            "case": "mixed" if self.case_sensitive else "lc",
            "tok": "tercom",
            "norm": "yes" if self.normalized else "no",
            "punct": "no" if self.no_punct else "yes",
            "asian": "yes" if self.asian_support else "no",
        }

    def provenance(self) -> dict[str, str]:
        return {"version": version("sacrebleu")}
