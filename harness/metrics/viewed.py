"""`view: {of: output, against: contexts, …}`: any metric between any two texts of an example.

A metric compares an output with references. In a view, an output or each retrieved context takes the output's place,
and each context, the source, the references or the gold passages take that of the references. The pairs of all examples
are scored in one call; then those of an example are folded into one row.

| option | |
| --- | --- |
| `of` | `output` or `contexts` |
| `against` | `contexts`, `source`, `references` or `reference_contexts` |
| `score` | which score of the metric is the headline, `bertscore.precision` for instance; null: its first one |
| `fold` | `mean` over the contexts, the `best` of them, or all of them `joined` into one text |
| `weights` | of the mean: null (equal), `rank` (1, 1/2, 1/3, …), `score` (the retriever's), or a field of the data with a number for each context |

A row holds the example's scores, each Σ w·score / Σ w, and 1: the score of a run is their mean. Where the metric is a
mean over examples this is the mean of its own rows; of BLEU, chrF and TER each pair's own score is averaged. An example
without contexts has no row; it is left out of both systems that are compared, and counted.

A text that is longer than the window of the metric's encoder is never cut: its words are encoded a window at a time, and
all of them are compared. Such examples are counted in `NAME.windows` and in the run's health.

>>> from harness.metrics.squad import TokenF1
>>> view = View("faithfulness", TokenF1(), ViewOptions("output", "contexts"))
>>> batch = Batch(["it rains"], [], passages={"contexts": Contexts.of([["it rains here", "a dog"]])})
>>> rows = view.statistics(batch)
>>> view.score(rows.values.sum(0)).round(2).tolist(), rows.lists["each"].values.round(2).tolist()
([40.0], [80.0, 0.0])
"""  # noqa: E501

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.inputs import arrow
from harness.metrics.context_weights import WEIGHTS, weights_of
from harness.metrics.means import means
from harness.types import (
    Array,
    Batch,
    Contexts,
    HarnessError,
    Lists,
    Metric,
    Rows,
    TextLists,
    Texts,
    check_choice,
    nearest,
    nothing,
    titled,
)
from harness.types.texts import Places, Repeated, starts_of

VERSION = 1
OF = ("output", "contexts")
AGAINST = ("contexts", "source", "references", "reference_contexts")
FOLDS = ("mean", "best", "joined")
READS = {"output": "outputs", "source": "sources"}
"""Columns of a batch that are called otherwise."""
BETWEEN = "\n"
"""Texts that are joined."""
EACH, WINDOWS = "each", "windows"


@dataclass(frozen=True)
class ViewOptions:
    """What a view compares, as its YAML says it."""

    of: str = "output"
    against: str = "references"
    score: str | None = None
    fold: str = "mean"
    weights: str | None = None

    @property
    def folded(self) -> str | None:
        """Which contexts are folded into one row; None: there is one pair for each example."""
        if "contexts" in (self.of, self.against):
            return "contexts"
        return "reference_contexts" if self.against == "reference_contexts" else None

    def check(self, where: str) -> None:
        """Refuses what cannot be compared; `where`: the config that has the options."""
        for option, choices in (("of", OF), ("against", AGAINST), ("fold", FOLDS)):
            check_choice(f"{where}.{option}", getattr(self, option), choices)
        if self.of == self.against:
            raise HarnessError(f"{where} compares {self.of} with itself; expected two different texts")
        if self.weights is not None and self.folded is None:
            raise HarnessError(
                f"{where}.weights={self.weights} where {self.of} is compared with {self.against}; expected contexts, "
                "which the weights are of"
            )
        if self.weights is not None and self.fold != "mean":
            raise HarnessError(f"{where}.weights={self.weights} with fold={self.fold}; expected fold=mean")


@dataclass(frozen=True)
class Pairs:
    """Two texts each: the outputs and the references of a metric."""

    outputs: Texts
    references: TextLists
    example: Places
    """(p,) which example of the batch each is of; they rise."""


class View(Metric):
    averaged = True

    def __init__(self, name: str, metric: Metric, options: ViewOptions) -> None:
        where = f"metrics.{name}"
        options.check(f"{where}.view")
        metric = metric.in_windows()
        self.name, self.inner, self.options = name, metric, options
        self.version = 1000 * VERSION + metric.version
        self._check_metric(where)
        chosen = options.score or metric.score_names[0]
        if chosen not in metric.score_names:
            raise HarnessError(
                f"{where}.view.score={chosen} is no score of {metric.name}{nearest(chosen, metric.score_names)}; "
                f"expected one of {', '.join(metric.score_names)}"
            )
        self._of_score = _names(name, metric.score_names, chosen)
        """The view's scores by name, the headline first, with those of the metric that they are."""
        self.score_names = tuple(self._of_score)
        self._places = [metric.score_names.index(score) for score in self._of_score.values()]
        self.columns = (*(WINDOWS if _is_cut(score) else score for score in self._of_score.values()), "count")
        self.counted = ("count",)
        self.lists = (EACH,) if options.folded and options.fold != "joined" else ()
        self.list_kind = np.float64
        self.threads, self.at_once = metric.threads, metric.at_once
        self.higher_is_better, self.bounds = metric.higher_is_better, metric.bounds
        self.needs_references = options.against == "references"
        self.needs = tuple(name for name in (options.of, options.against) if name in ("contexts", "reference_contexts"))
        lacking = dict.fromkeys(name for name in (options.of, options.against) if name not in ("output", "references"))
        self.unscored = f"have no {' or no '.join(lacking) or options.against}".replace("_", " ")
        self.needs_fields = () if options.weights in (None, *WEIGHTS) else (options.weights,)
        self.reads = self._columns_read()
        self.context = metric.context

    def _check_metric(self, where: str) -> None:
        metric = self.inner
        if metric.lists or type(metric).score_weighted is not Metric.score_weighted:
            raise HarnessError(
                f"{where}.view: {metric.name} has no score of single pairs; expected a metric that compares two texts"
            )
        if metric.fits and self.options.against != "references":
            raise HarnessError(
                f"{where}.view.against={self.options.against}: {metric.name} has weights (idf, information) that are "
                "fitted to the references before any output or context exists; expected against=references, or "
                "idf=false where the metric has that option"
            )

    def _columns_read(self) -> tuple[str, ...]:
        options = self.options
        own = [READS.get(name, name) for name in (options.of, options.against)]
        others = [name for name in self.inner.reads if name not in ("outputs", "references")]
        return tuple(dict.fromkeys([*own, *self.needs_fields, *others]))

    def fit(self, references: Sequence[Sequence[str]]) -> View:
        if self.options.against != "references":
            return self
        fitted = copy(self)
        fitted.inner = self.inner.fit(references)
        fitted.context = fitted.inner.context
        return fitted

    # ------------------------------------------------------------ rows

    def statistics(self, batch: Batch) -> Array | Rows:
        contexts = None if self.options.folded is None else getattr(batch, self.options.folded)
        pairs = self._pairs(batch, contexts)
        scores = self._scores(pairs, batch)
        if contexts is None or self.options.fold == "joined":
            weights = np.ones(len(pairs.example))
        else:
            weights = weights_of(self.options.weights, contexts, batch, self.name)[self._kept(pairs, contexts)]
        rows = self._folded(pairs.example, scores, weights, len(batch))
        self.advance(len(batch))
        if not self.lists:
            return rows
        values = scores[:, 0].copy()
        return Rows(rows, {EACH: Lists(values, starts_of(np.bincount(pairs.example, minlength=len(batch))))})

    @staticmethod
    def _kept(pairs: Pairs, contexts: Contexts) -> NDArray[np.bool_]:
        """(m,) which contexts have a pair: all of an example, or none."""
        with_pairs = np.zeros(len(contexts), np.bool_)
        with_pairs[pairs.example] = True
        return np.repeat(with_pairs, contexts.lengths)

    def _pairs(self, batch: Batch, contexts: Contexts | None) -> Pairs:
        """What is compared with what, without examples that lack one of the two."""
        n, options = len(batch), self.options
        texts, example = Texts.of([]), np.arange(n)
        if contexts is not None:
            self._check_texts(contexts, batch)
            texts, example = contexts.texts, np.repeat(np.arange(n), contexts.lengths)
            if options.fold == "joined":
                texts, example = _joined(contexts)
        single = np.arange(len(example) + 1)
        outputs = texts if options.of == "contexts" else Repeated(arrow.column(batch.outputs), example)
        if options.against == options.folded:
            references = TextLists(texts, single)
        elif options.against == "source":
            sources = Texts.of(batch.sources).taken(example)
            present = sources.present
            references = TextLists(sources.taken(np.flatnonzero(present)), starts_of(present))
        elif options.against == "references":
            references = TextLists.of(batch.references).taken(example)
        else:
            self._check_texts(batch.reference_contexts, batch)
            references = batch.reference_contexts.lists.taken(example)
        there = np.flatnonzero(references.lengths)
        if len(there) < len(example):
            outputs, references, example = outputs.taken(there), references.taken(there), example[there]
        return Pairs(outputs, references, example)

    def _check_texts(self, contexts: Contexts, batch: Batch) -> None:
        if not contexts.texts.array.null_count:
            return
        place = int(np.flatnonzero(~contexts.texts.present)[0])
        row = int(np.searchsorted(contexts.starts, place, "right")) - 1
        number, id_ = place - int(contexts.starts[row]) + 1, contexts.ids[place]
        raise HarnessError(
            f"{self.name}: context {number} of {batch.place(row)} has no text (its id is {id_!r}); expected the text "
            "of every context that is compared"
        )

    def _scores(self, pairs: Pairs, batch: Batch) -> Array:
        """(p, s) by the metric itself, in one call, the headline first; NaN where a pair has no score."""
        self.inner.arrays, self.inner.advance = self.arrays, nothing
        if not len(pairs.example):
            return np.empty((0, len(self._places)))
        sources: Sequence[str | None] = ()
        fields: dict[str, list[Any]] = {}
        if set(self.inner.reads) - {"outputs", "references"}:
            example = pairs.example.tolist()
            sources = [batch.sources[i] for i in example] if "sources" in self.inner.reads else ()
            fields = {n: [batch.field(n)[i] for i in example] for n in self.inner.reads if n in batch.fields}
        rows = Rows.of(self.inner.statistics(Batch(pairs.outputs, pairs.references, sources, fields)))  # type: ignore[arg-type]
        scores = self.inner.score_examples(rows.values)
        return scores if self._places == list(range(scores.shape[1])) else np.asarray(scores[:, self._places])

    def _folded(self, example: Places, scores: Array, weights: Array, n: int) -> Array:
        """(n, k): one row for each example that has a pair, NaN for the others."""
        rows = np.full((n, len(self.columns)), np.nan)
        scored = ~np.isnan(scores[:, 0])
        if not scored.all():
            example, scores, weights = example[scored], scores[scored], weights[scored]
        there = np.flatnonzero(np.bincount(example, minlength=n))
        if self.options.fold == "best":
            keys = scores[:, 0] if self.higher_is_better else -scores[:, 0]
            order = np.lexsort((-np.arange(len(keys)), keys, example))  # of equals the first comes last
            last = np.append(np.flatnonzero(np.diff(example[order])), len(order) - 1) if len(order) else order
            values = scores[order[last]]
        else:
            values = _averaged(scores, example, weights, n)[there]
        rows[there, :-1] = values
        if WINDOWS in self.columns:
            place = self.columns.index(WINDOWS)
            rows[there, place] = np.bincount(example, scores[:, place], minlength=n)[there] > 0
        rows[there, -1] = 1.0
        return rows

    # ------------------------------------------------------------ scores

    def score(self, sums: Array) -> Array:
        return means(sums)

    def extremes(self, batch: Batch) -> tuple[Array | Rows, Array | Rows] | None:
        """Of an output against references as the metric has them; else what a failed output would have retrieved, or
        been compared with, nobody knows."""
        return super().extremes(batch) if (self.options.of, self.options.against) == ("output", "references") else None

    def example_lists(self, rows: Rows) -> Mapping[str, Lists]:
        return {f"{self.name}.{EACH}": rows.lists[EACH]} if self.lists else {}

    def title_of(self, score: str) -> str:
        own = self._of_score[score]
        if self.name == self.inner.name and not _is_cut(own):
            return self.inner.title_of(own)
        return titled(score, self.name.replace("_", " ").capitalize())

    def digits_of(self, score: str) -> int:
        return self.inner.digits_of(self._of_score[score])

    def definition(self) -> dict[str, str]:
        options = self.options
        fold = options.fold if options.folded else "no"
        view = {"view": f"{options.of}-{options.against}", "score": self._of_score[self.name], "fold": fold}
        weights = {} if options.weights is None else {"weights": options.weights}
        return {**view, **weights, **self.inner.definition()}

    def provenance(self) -> dict[str, str]:
        return self.inner.provenance()


def _names(name: str, scores: Sequence[str], chosen: str) -> dict[str, str]:
    """The view's scores by name, the chosen one first, with those of the metric that they are.

    >>> _names("faithfulness", ["bertscore", "bertscore.precision", "bertscore.recall"], "bertscore.precision")
    {'faithfulness': 'bertscore.precision', 'faithfulness.f1': 'bertscore', 'faithfulness.recall': 'bertscore.recall'}
    """
    head = chosen.partition(".")[0]
    names = {name: chosen}
    for score in scores:
        own, _, part = score.partition(".")
        part = WINDOWS if _is_cut(score) else part
        bare = "f1" if f"{own}.precision" in scores else own
        if score != chosen:
            names[f"{name}.{part or bare}" if own == head else f"{name}.{score}"] = score
    return names


def _is_cut(score: str) -> bool:
    """Whether it says of how many examples a text was longer than the window of the metric's encoder."""
    return score.endswith(".truncated")


def _joined(contexts: Contexts) -> tuple[Texts, Places]:
    """(the contexts of each example as one text, which example each is of)."""
    texts: list[Any] = contexts.texts.strings()
    there = np.flatnonzero(contexts.lengths)
    bounds = list(pairwise(contexts.starts.tolist()))
    return Texts.of([BETWEEN.join(texts[first:last]) for first, last in (bounds[i] for i in there.tolist())]), there


def _averaged(values: Array, groups: Places, weights: Array, n: int) -> Array:
    """(n, s) the weighted means of values (p, s) by group; NaN for groups that have none."""
    with np.errstate(divide="ignore", invalid="ignore"):
        total = np.bincount(groups, weights, minlength=n)
        sums = [np.bincount(groups, weights * column, minlength=n) for column in np.ascontiguousarray(values.T)]
        return np.asarray(np.stack(sums, axis=1) / total[:, None])
