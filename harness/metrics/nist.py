"""NIST (Doddington 2002) as mteval-v13a and NLTK's `corpus_nist` compute it.

Each matched n-gram counts its information: log2 of how often its first n - 1 words occur in the references, over how
often it occurs itself. These weights come from all references of the data set and stay fixed when examples are
resampled. A row holds, for each order, the information matched and the n-grams of the output, and the two lengths. Of
several references each order takes the one that gives most, as NLTK does (mteval merges them: with one reference the
two agree). Unlike NLTK's `sentence_nist`, an example's own score uses the weights of the whole data set.

>>> nist = Nist(tokenize="none")
>>> rows = nist.statistics(Batch(["the cat sat"], [["the cat sat on the mat"]]))
>>> [round(float(x), 4) for x in nist.score(rows.sum(0))][:3]  # nist, and of it the first two orders
[0.363, 0.297, 0.066]
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from functools import cached_property
from itertools import chain

import numpy as np

from harness.inputs import arrow
from harness.inputs.cores import cores
from harness.inputs.files import digest
from harness.inputs.installed import version
from harness.metrics import columns
from harness.metrics.columns import Chunk, Integers
from harness.metrics.tokenizers import Tokenizer, lowered_ascii, tokenizer
from harness.types import Array, Batch, HarnessError, Metric, TextLists, Texts

_CHUNK = 20_000


class Nist(Metric):
    name = "nist"
    title = "NIST"
    digits = 2
    bounds = (0.0, math.inf)
    caution = "the weights are those of this data set, and a larger one scores higher: compare on the same data only"
    reads = ("outputs", "references")
    threads = True
    fits = True
    plain = ("tokenize", "max_order", "lowercase")

    def __init__(self, tokenize: str = "13a", max_order: int = 5, lowercase: bool = True) -> None:
        """`lowercase`: ASCII letters only, as mteval does."""
        if not 1 <= max_order <= 9:
            raise HarnessError(f"metrics.nist.max_order={max_order}; expected 1 to 9")
        self.tokenize, self.order, self.lowercase = tokenize, max_order, lowercase
        orders = range(1, max_order + 1)
        self.columns = (*(f"{column}{n}" for column in ("information", "total") for n in orders), "sys_len", "ref_len")
        self.score_names = ("nist", *(f"nist.n{n}" for n in orders))
        self._weights: _Weights | None = None

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        return tokenizer(self.tokenize, "metrics.nist.tokenize")

    def fit(self, references: Sequence[Sequence[str]]) -> Nist:
        fitted = copy(self)
        fitted._weights = _Weights(_flat(references), self)
        fitted.context = fitted._weights.key
        return fitted

    def _tokens(self, texts: Texts) -> columns.Tokens:
        prepared = self._tokenizer.prepare(texts)  # entities first, as mteval does
        return columns.tokenized(lowered_ascii(prepared) if self.lowercase else prepared, self._tokenizer.table)

    def statistics(self, batch: Batch) -> Array:
        if self._weights is None:
            return self.fit(batch.references).statistics(batch)
        return columns.rows(batch, len(self.columns), self._rows, self.advance)

    def _rows(self, chunk: Chunk) -> Array:
        assert self._weights is not None
        tokens = self._tokens(chunk.all)
        weights = self._weights.of(tokens, int(chunk.first[0]), self.order)
        ours, theirs = chunk.pairs
        information, _ = columns.overlap(tokens, ours, np.append(theirs, len(chunk.all)), self.order, weights)
        lengths = np.repeat(tokens.lengths[theirs][:, None], self.order, axis=1)
        first = chunk.each[:-1]
        most = np.maximum.reduceat(information, first, axis=0)
        best = information == np.repeat(most, np.diff(chunk.first), axis=0)
        longest = np.maximum.reduceat(np.where(best, lengths, -1), first, axis=0)  # NLTK's choice among equals
        size = tokens.lengths[chunk.output]
        return np.column_stack([most, columns.totals(size, self.order), size * self.order, longest.sum(1)])

    def score(self, sums: Array) -> Array:
        information, total = sums[..., : self.order], sums[..., self.order : 2 * self.order]
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(sums[..., -1] > 0, sums[..., -2] / sums[..., -1], 1.0)
            beta = np.log(0.5) / np.log(1.5) ** 2  # a penalty of one half at two thirds of the length
            penalty = np.where((ratio > 0) & (ratio < 1), np.exp(beta * np.log(ratio) ** 2), np.minimum(ratio, 1.0))
            parts = np.where(total > 0, information / total, 0.0) * penalty[..., None]
        scores = np.concatenate([parts.sum(-1, keepdims=True), parts], axis=-1)
        return np.where(np.isnan(sums[..., :1]), np.nan, scores)

    def definition(self) -> dict[str, str]:
        return {
            "case": "lc-ascii" if self.lowercase else "mixed",
            "tok": self._tokenizer.signature,
            "order": str(self.order),
            "refs": "best",
        }

    def provenance(self) -> dict[str, str]:
        weights = {"info": self.context} if self.context else {}
        return {**weights, "version": "mteval-13a", "sacrebleu": version("sacrebleu")}


class _Weights:
    """How much information an n-gram of the references carries.

    N-grams of all orders are numbered together, words first. What follows an (n - 1)-gram that occurs once carries
    log2(1 / 1) = 0, so only the others are kept: a small part.
    """

    def __init__(self, texts: Texts, metric: Nist) -> None:
        from harness.metrics import kernels

        self.key = digest(sorted(arrow.plain(texts)))[:8]
        self.words: dict[str, int] = {}
        ids, starts = self._numbered(texts, metric)
        counts, keys = np.bincount(ids, minlength=len(self.words)), np.zeros(len(self.words), np.int64)
        slots, grams = np.zeros(8, np.int32), ids.copy()
        information = [_bits(len(ids) / np.maximum(counts, 1))]
        longest = int(np.diff(starts).max(initial=0))
        known = len(keys)
        for n in range(2, metric.order + 1):
            first, state = known, np.array([0, known])
            while True:
                kernels.collect(ids, starts, n, grams, counts, keys, slots, state)
                known = int(state[1])
                if state[0] == len(starts) - 1:
                    break
                more = np.zeros(max(known, longest), np.int64)  # twice as many
                keys, counts = np.append(keys[:known], more), np.append(counts[:known], more)
                slots = np.zeros(columns.power(2 * len(keys)), np.int32)
                kernels.place(keys, len(self.words), known, slots)
            information.append(_bits(counts[keys[first:known] >> 32] / counts[first:known]))
        self.keys, self.slots, self.information = keys[:known].copy(), slots, np.concatenate(information)

    def _numbered(self, texts: Texts, metric: Nist) -> tuple[Integers, Integers]:
        """The words of all texts as numbers, and where each text begins."""

        def tokens_of(first: int) -> tuple[list[str], Integers, Integers]:
            tokens = metric._tokens(texts[first : first + _CHUNK])
            return tokens.vocabulary(), tokens.ids, tokens.lengths

        parts: list[Integers] = [np.zeros(0, np.int32)]
        lengths: list[Integers] = [np.zeros(1, np.int64)]
        with ThreadPoolExecutor(cores()) as pool:
            for words, ids, length in pool.map(tokens_of, range(0, len(texts), _CHUNK)):
                numbers = [self.words.setdefault(word, len(self.words)) for word in words]
                parts.append(np.array(numbers, np.int32)[ids])
                lengths.append(length)
        return np.concatenate(parts), np.cumsum(np.concatenate(lengths))

    def of(self, tokens: columns.Tokens, first: int, order: int) -> Array:
        """(order, tokens): the information of the n-gram that begins at each token of the texts from `first` on, 0 for
        those that are not kept."""
        from harness.metrics import kernels

        numbers = np.array([self.words.get(word, -1) for word in tokens.vocabulary()], np.int32)
        weights = np.zeros((order, len(tokens.ids)))
        kernels.look_up(numbers[tokens.ids], tokens.starts, first, self.keys, self.slots, self.information, weights)
        return weights


def _flat(references: Sequence[Sequence[str]]) -> Texts:
    """All of them in one column."""
    if isinstance(references, TextLists):
        return references.flat
    return arrow.column(list(chain.from_iterable(references)))


def _bits(ratios: Array) -> Array:
    """log2, to the last bit as NLTK has it: where two references give equally much, that bit decides."""
    distinct, inverse = np.unique(ratios, return_inverse=True)
    return np.array([math.log(ratio, 2) for ratio in distinct.tolist()])[inverse]
