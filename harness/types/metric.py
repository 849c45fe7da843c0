"""The seam of a metric: rows of summable statistics, and the scores that follow from their sum."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Protocol

import numpy as np

from harness.types.lists import Integers, Lists, Rows
from harness.types.nouns import (
    DIGITS,
    Advance,
    Alignment,
    Array,
    Signature,
    nothing,
    titled,
)
from harness.types.text_columns import Batch
from harness.types.texts import TextLists

UNDECIDING = (
    "name",
    "spec",
    "columns",
    "score_names",
    "counted",
    "reads",
    "needs_fields",
    "groups",
    "at_once",
    "advance",
    "arrays",
    "context",
)
"""What a metric's object holds that says nothing of its scores' definition, or says it elsewhere."""


class Arrays(Protocol):
    """A content-addressed store of arrays' bytes that outlives a run; what is not there is computed again."""

    def get(self, keys: Sequence[str]) -> dict[str, bytes]: ...
    def put(self, items: Mapping[str, bytes]) -> None: ...


class Metric(ABC):
    """A metric: rows of summable statistics, and scores that are functions of their sum.

    `score` and `score_examples` need NumPy only, so that stored rows can be scored anywhere. A score that is no
    function of a sum overrides `score_weighted`; where numbers are not enough for it, `lists` names lists of whole
    numbers that each example has beside them.
    """

    name: str
    version: int = 1
    """Raised when the meaning of the rows changes."""
    spec: Mapping[str, Any] | None = None
    """`_target_` and options where a config, or Python code by a name, made it."""
    plain: ClassVar[tuple[str, ...]] = ()
    """Options that name no code, no file and no model. A run folder may come from anyone: of the options in it only
    these are followed, unless the caller names the others too."""
    columns: tuple[str, ...]
    """Names of the k statistics."""
    counted: tuple[str, ...] = ()
    """Those of the columns that hold whole numbers only, and are stored as such."""
    reads: tuple[str, ...] = ("outputs", "references", "sources")
    """What its rows depend on: of `outputs`, `references`, `sources`, `contexts`, `reference_contexts`, `relevant` and
    any other field of the examples. Rows that are stored are taken again where all of this is the same."""
    needs_fields: tuple[str, ...] = ()
    """Those of the fields that it reads which some example must have."""
    groups: str | None = None
    """The field whose values say which rows depend on each other, where there is one: it must be the cluster, so that
    such rows are drawn together."""
    threads: bool = False
    """True where `statistics` may be called from several threads at once and releases the lock that Python has, so that
    blocks are scored on all cores."""
    at_once: bool = False
    """True where `statistics` is to be called once with all examples of a run, not with a block of some thousand at a
    time: it starts a program, or a row depends on other outputs."""
    lists: tuple[str, ...] = ()
    """Names of the lists that each example has beside its k numbers, for `score_weighted`. A value must mean the same
    in every example, system and process, such as a hash of a word: rows are stored, and rows of two systems mixed."""
    list_kind: type[np.int64] | type[np.float64] = np.int64
    """Of the numbers in these lists."""
    jackknifed: bool = False
    """True where an example that is drawn twice is not like two such examples (a repeated text adds no new word), so
    that resamples say little of new data: intervals and tests then come from leaving out each example in turn."""
    score_names: tuple[str, ...]
    """Names of the s scores; those with a dot are sub-scores."""
    higher_is_better: bool = True
    needs_references: bool = True
    needs: tuple[str, ...] = ()
    """Of `contexts`, `reference_contexts` and `relevant` what some example must have, or nothing could be scored."""
    fits: bool = False
    """True where rows depend on what `fit` finds in the references."""
    unscored: str | None = None
    """Why an output that did not fail may have no row: `have no contexts`. Said with each score, and of how many."""
    averaged: bool = False
    """True where every score of the corpus is the mean of its examples' scores."""
    multiplied: bool = False
    """True where headline scores are products of sums, such as a geometric mean of precisions: of few examples they
    have intervals on the scale of logarithms."""
    bounds: tuple[float, float] | None = None
    """The range of headline scores, of an example and of a corpus, where there is one."""
    outputs: int = 1
    """Outputs of an example that a row stands for: the value of an example is then a share of them, or of the ways to
    choose among them, where `averaged`."""
    caution: str | None = None
    """What a reader must know wherever one of its values is printed, such as that it grows with the data set."""
    title: str | None = None
    """What papers call its score; None: the score's name. Several headline scores: override `title_of`."""
    digits: int | None = None
    """After the point, wherever its scores are shown; None: 2 where `bounds` reach 100, else 4. Scores of several
    scales: override `digits_of`."""
    counts: tuple[str, ...] = ()
    """Those of its scores that are whole numbers, such as lengths, shown with no digits after the point."""
    aligns: bool = False
    """True where `align` says which tokens were matched; reports then show them under the metric's title."""
    context: str = ""
    """Hash of what `fit` found: rows depend on it, though it is not part of the score's definition."""
    arrays: Arrays | None = None
    """Set by the runner: where a metric keeps what is dear to compute, such as embeddings."""
    advance: Advance = staticmethod(nothing)
    """Set by the runner: a slow metric calls it with the number of examples just done, for the progress bar."""

    @property
    def stage(self) -> str | None:
        """Which part of a system that retrieves and answers its scores are of, by what it reads: `retrieval` of
        contexts without outputs, `faithfulness` of both, `answer` of outputs without contexts; None of neither."""
        if "contexts" in self.reads:
            return "faithfulness" if "outputs" in self.reads else "retrieval"
        return "answer" if "outputs" in self.reads else None

    def fit(self, references: Sequence[Sequence[str]]) -> Metric:
        """The metric for the data set that has these references.

        What the whole data set fixes before any row exists (NIST's information weights) is found here, once; it stays
        fixed under resampling, and its hash is the `context` of the metric returned. Most metrics need nothing.
        """
        return self

    def fit_outputs(self, outputs: Sequence[str]) -> Metric:
        """The metric for the run that has these outputs, for `align`, which is asked about some of them: where a row
        depends on the other outputs, as MoverScore's idf does."""
        return self

    @classmethod
    def stored(cls, options: Mapping[str, Any], columns: Sequence[str]) -> Metric | None:
        """What scores the stored rows of these columns: made of the `plain` options alone, it imports and opens nothing
        that a folder names. None where the score is a function of the user's own."""
        return cls(**{option: value for option, value in options.items() if option in cls.plain})

    @abstractmethod
    def statistics(self, batch: Batch) -> Array | Rows:
        """Rows (n, k), or `Rows` where there are lists; a row of NaN where an example cannot be scored.

        `batch.outputs`, `batch.references` and the others are sequences of the same length: lists, or columns whose
        Python strings are made for whoever iterates.
        """

    @abstractmethod
    def score(self, sums: Array) -> Array:
        """Scores (..., s) of summed statistics (..., k); NaN where undefined. A metric with `score_weighted` of its own
        is asked for the scores of single examples alone."""

    def score_examples(self, rows: Array) -> Array:
        """Scores (n, s) of single examples from rows (n, k)."""
        return self.score(rows)

    def score_weighted(self, weights: Array, rows: Rows) -> Array:
        """Scores (r, s) where example i counts `weights[:, i]` times, from 0 up; weights are (r, n). What is not
        a function of a sum overrides this."""
        return self.score(weights @ rows.values)

    def score_left_out(self, rows: Rows, units: Integers, count: int) -> Array:
        """Scores (count, s) without the examples of each unit in turn; `units` (n,) says which one each example is of.

        By `score_weighted`, which takes its time: a metric may know a shorter way.
        """
        some = max(1, min(32, 2**22 // max(len(rows), 1)))
        groups = [np.arange(start, min(start + some, count)) for start in range(0, count, some)]
        weights = ((units != group[:, None]).astype(np.float64) for group in groups)
        parts = [self.score_weighted(weight, rows) for weight in weights]
        return np.concatenate(parts) if parts else np.empty((0, len(self.score_names)))

    def extremes(self, batch: Batch) -> tuple[Array | Rows, Array | Rows] | None:
        """Rows (n, k) of the worst and the best that examples could have given, for those that failed: by default of
        empty outputs, which those of the batch are, and of first references. None where that cannot be said."""
        if not self.needs_references:
            return None
        return self.statistics(batch), self.statistics(replace(batch, outputs=_firsts(batch.references)))

    def of_scores(self, scores: Sequence[str]) -> Metric | None:
        """The same with these of its scores and the columns that they need, as if it had been asked for no others, so
        that runs with other lists of scores can be compared. None where that is not one of its options."""
        return None

    def in_windows(self) -> Metric:
        """The same for texts of any length: one that cuts texts which are longer than its encoder's window gives one
        that looks at all of them, a window at a time, and has a score `….truncated` that counts them."""
        return self

    def example_lists(self, rows: Rows) -> Mapping[str, Lists]:
        """Lists of numbers of each example, by the name of their column in examples.parquet."""
        return {}

    def align(self, outputs: Sequence[str], references: Sequence[Sequence[str]]) -> list[Alignment | None] | None:
        """For each example which tokens were matched, None where a text has none; None for metrics that match no
        tokens. A metric that can has `aligns = True`; one that `fit` changes is fitted to the whole data set before."""
        return None

    def caution_of(self, score: str) -> str | None:
        """What a reader must know of one of its scores."""
        return self.caution

    def doubt(self, sums: Array) -> str | None:
        """Why the intervals of headline scores of these sums (k,) may hold less than stated."""
        return None

    def unseen(self, rows: Array) -> Array | None:
        """The rows (units, k) with as much as there could be of what none of them shows, such as matches of 4-grams;
        None where nothing is missing. Intervals of few examples reach as far up as those of these rows."""
        return None

    def title_of(self, score: str) -> str:
        """One of its scores as papers print it."""
        return titled(score, self.title)

    def digits_of(self, score: str) -> int:
        """How many digits after the point one of its scores is shown with."""
        if score in self.counts:
            return 0
        if self.digits is not None:
            return self.digits
        return 2 if self.bounds is not None and max(map(abs, self.bounds)) >= 100 else DIGITS

    def definition(self) -> dict[str, str]:
        """What decides what the score is: by default a hash of all that the constructor kept under a public name.

        Override it to say it in words; never put a secret there.
        """
        own = {k: v for k, v in vars(self).items() if not k.startswith("_")}
        kept = {k: repr(v) for k, v in own.items() if k not in UNDECIDING}
        return {"options": hashlib.sha256(repr(sorted(kept.items())).encode()).hexdigest()[:8]} if kept else {}

    def provenance(self) -> dict[str, str]:
        """Package versions and the like."""
        return {}

    def signature(self, references: Sequence[Sequence[str]]) -> Signature:
        """The signature on data with these references."""
        counts = _counts(references)
        number = str(next(iter(counts))) if len(counts) == 1 else "var"
        refs = {"nrefs": number} if self.needs_references else {}
        return Signature({**refs, **self.definition()}, self.provenance())


def _counts(references: Sequence[Sequence[str]]) -> set[int]:
    """How many references examples have."""
    lengths = getattr(references, "lengths", None)  # of a column
    if lengths is None:
        return {len(texts) for texts in references}
    return set(np.flatnonzero(np.bincount(lengths)).tolist())


def _firsts(references: Sequence[Sequence[str]]) -> Sequence[Any]:
    """The first reference of each example."""
    if isinstance(references, TextLists):
        return references.items.taken(references.starts[:-1])
    return [texts[0] for texts in references]
