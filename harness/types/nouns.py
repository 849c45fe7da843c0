"""What flows from room to room: examples, outputs, signatures, scores, rows of statistics."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Advance = Callable[[int], None]
"""Told how much of a stage was just done, for the progress bar."""


DIGITS = 4
"""After the point, of a score whose scale nobody stated: too many rather than too few."""


def titled(score: str, title: str | None = None) -> str:
    """A score as papers print it: the title of its headline score, or its name, with the sub-score's part after it.

    >>> titled("bleu.p1", "BLEU"), titled("my_score.part")
    ('BLEU p1', 'my_score part')
    """
    head, _, part = score.partition(".")
    return f"{title or head} {part}".rstrip()


def nothing(n: int) -> None:
    """An `Advance` that nobody watches."""


@dataclass(frozen=True, slots=True)
class Context:
    """A passage that was retrieved for an example; of one that was judged, the id and the grade."""

    text: str | None
    """None where a retriever gave ids alone."""
    id: str | None = None
    score: float | None = None
    """The retriever's, or a grade."""

    def plain(self) -> Any:
        """The text alone, or by name what is known, as JSON has it."""
        if self.id is None and self.score is None:
            return self.text
        known = {"id": self.id, "text": self.text, "score": self.score}
        return {name: value for name, value in known.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Example:
    """One item of a data set."""

    id: str
    """Unique within the data set; outputs of different systems are paired by it."""
    source: str | None
    """What the system is given."""
    references: tuple[str, ...]
    """What people wrote; an empty string is an empty reference, no reference is an empty tuple."""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    """Every other field of the data, kept for slices, clusters and reports."""
    repeat: int = 0
    """Which of several outputs for the same example is asked for; a system that samples takes its seed from it."""
    contexts: Sequence[Any] | None = field(default=None, repr=False)
    """A retrieval that comes with the data, which a system sees: each a `Context`, or a form of one. None: none."""
    reference_contexts: Sequence[Any] | None = field(default=None, repr=False)
    """The passages that answer the question; a system never sees them."""
    relevant: Sequence[Any] | Mapping[str, float] | None = field(default=None, repr=False)
    """Ids of what is relevant, or grades by id; a system never sees them."""

    def fields(self) -> dict[str, Any]:
        """What a system may see, by name: never the references, nor what was judged."""
        fields = {**self.metadata, "id": self.id, "source": self.source}
        if self.contexts is not None:
            fields["contexts"] = plain_contexts(self.contexts)
        return fields


@dataclass(frozen=True, slots=True)
class Output:
    """What a system gave for one example: a text, or an error, never both."""

    text: str | None
    error: str | None = None
    info: Mapping[str, Any] = field(default_factory=dict)
    """What the system knows of it, as JSON: `input_tokens`, `output_tokens`, `finish` (`stop` or `length`), `seconds`,
    `cost`."""
    contexts: Sequence[Any] | None = field(default=None, repr=False)
    """What the system retrieved, in its order; each a `Context`, or a form of one. None: it says nothing of it."""

    def __post_init__(self) -> None:
        if (self.text is None) == (self.error is None):
            raise ValueError("an output has either a text or an error")

    def beside(self) -> dict[str, Any]:
        """What is kept with its text or error, as JSON: what is known of it and what was retrieved."""
        kept: dict[str, Any] = {"info": dict(self.info)} if self.info else {}
        return kept if self.contexts is None else {**kept, "contexts": plain_contexts(self.contexts)}


def plain_contexts(contexts: Sequence[Any]) -> list[Any]:
    """Contexts as JSON has them."""
    return [context.plain() if isinstance(context, Context) else context for context in contexts]


@dataclass(frozen=True, slots=True)
class Signature:
    """What a score is, in the manner of sacreBLEU: `definition|…|provenance`.

    Runs whose definitions differ are not comparable; a different provenance is worth a warning only.
    """

    definition: Mapping[str, str]
    provenance: Mapping[str, str]

    def __str__(self) -> str:
        return "|".join(f"{k}:{v}" for k, v in {**self.definition, **self.provenance}.items())


@dataclass(frozen=True, slots=True)
class Score:
    """One score of a run with its interval. A value that cannot be computed is None and `note` says why."""

    name: str
    estimate: float | None
    low: float | None
    high: float | None
    level: float
    method: str
    resamples: int
    signature: str
    higher_is_better: bool = True
    note: str | None = None
    """Why there is no value, or why the interval deserves no trust."""
    low_error: float | None = None
    high_error: float | None = None
    """Monte Carlo standard errors of the bounds: how far another seed would move them."""
    if_worst: float | None = None
    if_best: float | None = None
    """Where examples failed: the estimate had they given nothing, and had they given a reference."""
    title: str = ""
    """As papers print it, by the metric's own word; where nothing was said, from the name."""
    digits: int = DIGITS
    """How many digits after the point it is shown with, everywhere; 0 for counts."""
    units: str = ""
    """What was drawn for the interval: `400 examples`, `42 clusters by thread`, `16384 buckets of 100000 examples`."""

    def __post_init__(self) -> None:
        if not self.title:
            object.__setattr__(self, "title", titled(self.name))

    @property
    def headline(self) -> bool:
        """Headline scores (bare names) are what comparisons test; sub-scores have a dot."""
        return "." not in self.name


@dataclass(frozen=True, slots=True)
class Alignment:
    """Which tokens of an output and of one of its references a metric matched.

    BERTScore: each token goes with the most similar one of the other text. The sums of similarity times weight are the
    example's precision (output) and recall (reference), before any rescaling.

    MoverScore: the weight of a token may be moved to several, and several may move to one. `moves` says how much goes
    where; a token's match is where most of it goes, its similarity the mean over its moves.
    """

    reference: int
    """Which of the example's references, from 0: the one whose score counted."""
    output_tokens: tuple[str, ...]
    """For people: the text that each token covers; special tokens, which weigh nothing, by their names."""
    output_spans: tuple[tuple[int, int], ...]
    """Where in the text: from, to, in characters (code points); (0, 0) for special tokens, and for all tokens of a
    tokenizer that cannot say."""
    output_matches: tuple[int, ...]
    """The place of the most similar token among the reference's; -1 where it was matched with none."""
    output_similarity: tuple[float, ...]
    """How similar the two are: the cosine of their vectors."""
    output_weights: tuple[float, ...]
    """Their sum is 1."""
    reference_tokens: tuple[str, ...]
    reference_spans: tuple[tuple[int, int], ...]
    reference_matches: tuple[int, ...]
    """The place of the most similar token among the output's."""
    reference_similarity: tuple[float, ...]
    reference_weights: tuple[float, ...]
    moves: tuple[tuple[int, int, float, float], ...] = ()
    """(token of the output, token of the reference, the share of all weight that goes from one to the other, their
    cosine); empty where each token has one match."""


def bound_name(score: str, side: str) -> str:
    """What the `low` or `high` end of a score's interval is called in MLflow and in lists of runs.

    >>> bound_name("bleu", "low")
    'interval/bleu.low'
    """
    return f"interval/{score}.{side}"
