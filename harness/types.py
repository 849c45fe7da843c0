"""The nouns of the harness and the seams between its rooms.

Everything flows one way: a `Dataset` yields `Example`s, a `System` turns them into `Output`s, a `Metric` turns outputs
into rows of summable statistics, and a score is a function of the sum of rows. This module imports nothing local and
nothing heavy, so that every room can import it and no room needs another.

>>> class Length(Metric):
...     name, columns, score_names = "length", ("words", "count"), ("length",)
...     def statistics(self, outputs, references, sources):
...         return np.array([[len(text.split()), 1.0] for text in outputs])
...     def score(self, sums):
...         return sums[..., :1] / sums[..., 1:]
>>> Length().score(Length().statistics(["a b", "c"], [], []).sum(0)).tolist()
[1.5]
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas as pd

Array = NDArray[np.float64]
Advance = Callable[[int], None]
"""Told how much of a stage was just done, for the progress bar."""


def nothing(n: int) -> None:
    """An `Advance` that nobody watches."""


class HarnessError(Exception):
    """Something the user can mend. The message says where, what was found and what was expected."""


# ---------------------------------------------------------------- nouns


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

    def fields(self) -> dict[str, Any]:
        """What a system may see, by name: never the references."""
        return {**self.metadata, "id": self.id, "source": self.source}


@dataclass(frozen=True, slots=True)
class Output:
    """What a system gave for one example: a text, or an error, never both."""

    text: str | None
    error: str | None = None
    info: Mapping[str, Any] = field(default_factory=dict)
    """What the system knows of it, as JSON: `input_tokens`, `output_tokens`, `finish` (`stop` or `length`), `seconds`,
    `cost`."""

    def __post_init__(self) -> None:
        if (self.text is None) == (self.error is None):
            raise ValueError("an output has either a text or an error")


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
    """One score of a run with its interval. A value that cannot be had is None and `note` says why."""

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

    @property
    def headline(self) -> bool:
        """Headline scores (bare names) are what comparisons test; sub-scores have a dot."""
        return "." not in self.name


@dataclass(frozen=True, slots=True)
class Statistics:
    """A metric's rows for one run, with the metric that can score them."""

    metric: Metric
    rows: Array
    """(n, k), one row for each example in the data set's order; NaN throughout where there is nothing to score."""
    signature: Signature
    key: str
    """Hash of all that the rows depend on: same key, same rows."""


@dataclass(frozen=True, slots=True)
class Alignment:
    """Which tokens of an output and of one of its references a metric matched.

    Each token goes with the most similar one of the other text. The sums of similarity times weight are the example's
    precision (output) and recall (reference), before any rescaling.
    """

    reference: int
    """Which of the example's references, from 0: the one whose score counted."""
    output_tokens: tuple[str, ...]
    """For people: the text that each token covers; special tokens, which weigh nothing, by their names."""
    output_spans: tuple[tuple[int, int], ...]
    """Where in the text: from, to, in characters (code points); (0, 0) for special tokens, and for all tokens of a
    tokenizer that cannot say."""
    output_matches: tuple[int, ...]
    """The place of the most similar token among the reference's."""
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


@dataclass(frozen=True, slots=True)
class Comparison:
    """One score of one system against a baseline on the same examples."""

    dataset: str
    baseline: str
    system: str
    score: str
    n: int
    """How many units were resampled."""
    unit: str
    """What was resampled: `examples`, or `clusters by FIELD` where the data has them."""
    excluded: int
    """Outputs left out because this one or the other system's failed."""
    baseline_estimate: float | None
    system_estimate: float | None
    difference: float | None
    low: float | None
    high: float | None
    p_value: float | None
    p_adjusted: float | None
    verdict: str
    """`better`, `worse` or `not distinguishable`, by the adjusted p-value."""
    smallest_detectable: float | None
    """The difference that 80 % of such experiments would detect at this level."""
    needed: int | None
    """Units that would detect the difference seen with that power, were it the true one."""
    standard_error: float | None
    """Of the difference, from its bootstrap replicates."""
    effect_size: float | None
    """The difference over the standard deviation of a unit's contribution to it (Cohen's d for paired means)."""
    won: float | None
    tied: float | None
    lost: float | None
    """Shares of the examples on which the system was better, equal and worse; None where single ones have no score."""
    p_t: float | None
    p_wilcoxon: float | None
    """For scores that are means over examples: the paired t-test and Wilcoxon's signed ranks, as a cross-check."""
    higher_is_better: bool


class Comparisons(list[Comparison]):
    """The comparisons, and beside them those of the average over data sets."""

    macro: list[Comparison]
    """Where all systems ran on several data sets: each score averaged over the data sets, a family of its own."""

    def __init__(self, rows: Iterable[Comparison] = (), macro: Iterable[Comparison] = ()) -> None:
        super().__init__(rows)
        self.macro = list(macro)


@dataclass(frozen=True)
class RunResult:
    """A finished evaluation, in memory or read back from its folder."""

    name: str
    dataset: str
    dataset_key: str
    system: str
    scores: dict[str, Score]
    statistics: dict[str, Statistics]
    examples: pd.DataFrame
    """One row for each (example, repeat): id, repeat, source, references, output, error, metadata, a column a score."""
    failed: int
    """Rows without an output to score."""
    cluster: str | None = None
    """The metadata field that names the cluster of an example, where the data has clusters."""
    strata: str | None = None
    """The metadata field within whose values examples are resampled, where that was asked for."""
    manifest: dict[str, Any] = field(default_factory=dict)
    path: Path | None = None
    health: dict[str, Any] = field(default_factory=dict)
    """What is odd about the outputs: shares of empty ones, loops and so on, as harness/health.py defines them."""
    stopped: dict[str, Any] | None = None
    """Where the run was to end once its answer is known: how it ended, as harness/sequential.py has it."""


@dataclass(frozen=True)
class RunRecord:
    """A finished run as its folder tells it, without its examples and statistics: one line of a list of runs."""

    path: Path
    """The run folder."""
    name: str
    dataset: str
    system: str
    experiment: str
    examples: int
    failed: int
    started: datetime
    ended: datetime
    mlflow: Mapping[str, str] | None
    """`run_id`, `uri` and `where` of its run in MLflow, where it was logged."""
    values: Mapping[str, Mapping[str, Any]]
    """The scores as scores.json has them; `scores` has them as `Score`s."""
    manifest: Mapping[str, Any]

    @property
    def dataset_key(self) -> str:
        return str(self.manifest["dataset"]["key"])

    @property
    def config(self) -> Mapping[str, Any]:
        """The composed config, secrets masked."""
        found: Mapping[str, Any] = self.manifest["config"]
        return found

    @cached_property
    def scores(self) -> dict[str, Score]:
        return {name: Score(name=name, **value) for name, value in self.values.items()}

    def row(self) -> dict[str, Any]:
        """Flat, for `pandas.DataFrame(run.row() for run in harness.runs())`; bounds are named as in MLflow."""
        names = ("name", "dataset", "system", "experiment", "examples", "failed", "started", "ended")
        found = {name: getattr(self, name) for name in names}
        for name, value in self.values.items():
            bounds = {f"{name}/ci_low": value["low"], f"{name}/ci_high": value["high"]}
            found |= {name: value["estimate"], **bounds}
        return {**found, "folder": str(self.path)}


class RunRecords(list[RunRecord]):
    """Finished runs, and beside them the run folders that cannot be listed."""

    unfinished: dict[Path, str]
    """For each such folder what is wrong with it."""
    others: int
    """How many finished runs there are beside these: they do not fit the conditions, or are beyond the limit."""

    def __init__(
        self, rows: Iterable[RunRecord] = (), unfinished: Mapping[Path, str] | None = None, others: int = 0
    ) -> None:
        super().__init__(rows)
        self.unfinished = dict(unfinished or {})
        self.others = others


@dataclass(frozen=True)
class Group:
    """Runs on the same data, their examples in one order."""

    dataset: str
    """Different for every group."""
    runs: tuple[RunResult, ...]
    """Of different names."""
    baseline: RunResult | None = None
    """The one of them that the others are measured against, where that was asked for."""


@dataclass(frozen=True)
class Study:
    """Runs side by side with the tests between them: what tables, figures and reports are views of."""

    groups: tuple[Group, ...]
    labels: dict[str, str]
    """For each run's name what it is called in a table: its system where that tells the runs on each data set apart."""
    comparisons: Comparisons
    """All pairs in each group of two or more, one family of tests."""
    against: Comparisons
    """Each run against the baseline, a family of its own; empty without a baseline."""
    level: float
    test: str
    correction: str
    resamples: int
    seed: int

    @property
    def runs(self) -> list[RunResult]:
        return [run for group in self.groups for run in group.runs]


@dataclass(frozen=True)
class Figure:
    """One picture of a study."""

    name: str
    """Different for every figure of a study, fit for a file name: `forest-wmt22`."""
    title: str
    caption: str
    """What it shows and how to read it, as plain text."""
    chart: Any
    """An altair chart without a theme; `.to_dict()` is its Vega-Lite spec with the data in it."""


class _Late:
    """A field that may be given as a function, which is called when the field is first read."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: type) -> Any:
        value = instance.__dict__[self.name]
        if callable(value):
            value = instance.__dict__[self.name] = value()
        return value

    def __set__(self, instance: Any, value: Any) -> None:
        instance.__dict__[self.name] = value


setattr(RunResult, "examples", _Late("examples"))  # noqa: B010  pandas takes long to import: only where it is needed


# ---------------------------------------------------------------- seams


class Dataset(ABC):
    """A source of examples."""

    name: str
    """Short, for run names: the file's stem, the data set's name on a hub."""
    cluster: str | None = None
    """The metadata field by which examples belong together, or None."""

    @abstractmethod
    def examples(self) -> Iterator[Example]:
        """The examples, as a stream in the data's order."""

    def about(self) -> Mapping[str, str]:
        """What pins the data where its name does not (the commit a hub resolved, hashes of files), for the manifest.
        Asked for after the examples were read."""
        return {}


class System(ABC):
    """A system under test. Subclasses give `key` and `generate`; the runner stores every output."""

    name: str
    stored: ClassVar[bool] = False
    """True where outputs are read from a file of the user's own and need no journal and no cache."""
    repeats: int = 1
    """How many outputs each example gets, asked for with `Example.repeat` 0, 1, …"""
    incidental: ClassVar[tuple[str, ...]] = ()
    """Options that say how outputs are had (how many requests at once, how long to wait), never what they are: a run
    with others of these is the same run, and resumes."""
    sampled: bool = False
    """True where the same call would give another output (sampling without a seed): never served from the cache of
    other runs unless the user asks for it."""
    price: Mapping[str, float] | None = None
    """Of a million tokens, `input` and `output`, in any currency: what a run costs is said where it is given."""
    batch_size: int = 64
    """How many examples go together, unless `plan` knows better."""
    folder: Path | None = None
    """Set by the runner: the run folder, where a system may leave a log of its own."""
    step: int | None = None
    """The training step of a checkpoint; tracking draws scores by it."""
    series: str | None = None
    """The training run that the checkpoint belongs to: its steps make one curve."""

    @abstractmethod
    def key(self) -> str | None:
        """Hash of everything that decides the outputs beside the example itself, or None where that cannot be known:
        then outputs are reused within the run folder only."""

    def align(self, ids: Sequence[str]) -> None:  # noqa: B027  (only systems that read stored outputs care)
        """Told the ids of the whole data set, before any limit, so that a file of other data can be refused."""

    def expand(self, examples: Sequence[Example]) -> list[Example]:
        """The rows of a run: each example `repeats` times, one after the other. Called once with all examples, before
        `key`. A baseline made from the data itself looks at them here, and may leave out references that it answers
        with."""
        if self.repeats < 1:
            raise HarnessError(f"system.repeats={self.repeats}; expected at least 1")
        if self.repeats == 1:
            return list(examples)
        return [replace(example, repeat=r) for example in examples for r in range(self.repeats)]

    def about(self) -> Mapping[str, str]:
        """What the system is, for the manifest and as tags for tracking: the version of a model, where it came from."""
        return {}

    def seen(self, example: Example) -> Any:
        """The part of an example that the system sees, as JSON: never the references it is scored against."""
        return {"id": example.id, "source": example.source, "metadata": dict(example.metadata)}

    def plan(self, examples: Sequence[Example]) -> list[list[int]]:
        """Which examples go together: index lists that cover all of `examples`, fixed before the first batch."""
        n, size = len(examples), self.batch_size
        return [list(range(i, min(i + size, n))) for i in range(0, n, size)]

    def estimate(self, examples: Sequence[Example]) -> Mapping[str, int] | None:
        """`input_tokens` and, where that can be known, `output_tokens` that these examples would take; for dry runs."""
        return None

    @abstractmethod
    def generate(self, batch: Sequence[Example]) -> Sequence[Output]:
        """One output for each example of the batch, in its order."""

    def stream(self, batch: Sequence[Example]) -> Iterator[Mapping[int, Output]]:
        """The outputs of a batch by position, in groups as they become ready; each group is on disk before the next is
        asked for. A system that works on many examples at once overrides it, so that none waits for the slowest."""
        outputs = list(self.generate(batch))
        if len(outputs) != len(batch) or not all(isinstance(output, Output) for output in outputs):
            raise HarnessError(
                f"the system {self.name} gave {len(outputs)} outputs for a batch of {len(batch)}; "
                "expected one harness.types.Output for each example"
            )
        yield dict(enumerate(outputs))

    def close(self) -> None:  # noqa: B027  (only systems that hold something open care)
        """Nothing more is asked for: programs end, connections are closed."""


class Systems(Protocol):
    """Several systems under one config, each evaluated in a run of its own."""

    name: str

    def cells(self) -> list[dict[str, Any]]:
        """A system's config for each of them, `_target_` and options."""


class Metric(ABC):
    """A metric: rows of summable statistics, and scores that are functions of their sum.

    `score` and `score_examples` need NumPy only, so that stored rows can be scored anywhere.
    """

    name: str
    version: ClassVar[int] = 1
    """Raised when the meaning of the rows changes."""
    columns: tuple[str, ...]
    """Names of the k statistics."""
    score_names: tuple[str, ...]
    """Names of the s scores; those with a dot are sub-scores."""
    higher_is_better: bool = True
    needs_references: bool = True
    averaged: bool = False
    """True where every score of the corpus is the mean of its examples' scores."""
    bounds: tuple[float, float] | None = None
    """The range of an example's headline scores, where there is one and the scores are means."""
    context: str = ""
    """Hash of what `fit` found: rows depend on it, though it is no part of the score's definition."""
    arrays: Arrays | None = None
    """Set by the runner: where a metric keeps what is dear to compute, such as embeddings."""
    advance: Advance = staticmethod(nothing)
    """Set by the runner: a slow metric calls it with the number of examples just done, for the progress bar."""

    def fit(self, references: Sequence[Sequence[str]]) -> Metric:
        """The metric for the data set that has these references.

        What the whole data set fixes before any row exists (NIST's information weights) is found here, once; it stays
        fixed under resampling, and its hash is the `context` of the metric returned. Most metrics need nothing.
        """
        return self

    @abstractmethod
    def statistics(
        self, outputs: Sequence[str], references: Sequence[Sequence[str]], sources: Sequence[str | None]
    ) -> Array:
        """Rows (n, k); a row of NaN where an example cannot be scored."""

    @abstractmethod
    def score(self, sums: Array) -> Array:
        """Scores (..., s) of summed statistics (..., k); NaN where undefined."""

    def score_examples(self, rows: Array) -> Array:
        """Scores (n, s) of single examples from rows (n, k)."""
        return self.score(rows)

    def score_weighted(self, weights: Array, rows: Array) -> Array:
        """Scores (r, s) under example weights (r, n); what is no function of a sum overrides this."""
        return self.score(weights @ rows)

    def extremes(
        self, references: Sequence[Sequence[str]], sources: Sequence[str | None]
    ) -> tuple[Array, Array] | None:
        """Rows (n, k) of the worst and the best that examples could have given, for those that failed: by default of
        empty outputs and of first references. None where that cannot be said."""
        if not self.needs_references:
            return None
        best = [one[0] for one in references]
        return self.statistics([""] * len(best), references, sources), self.statistics(best, references, sources)

    def align(self, outputs: Sequence[str], references: Sequence[Sequence[str]]) -> list[Alignment | None] | None:
        """For each example which tokens were matched, None where a text has none; None for metrics without such a
        thing. A metric that `fit` changes needs to be fitted to the whole data set before."""
        return None

    def definition(self) -> dict[str, str]:
        """What decides what the score is: by default a hash of all that the constructor kept under a public name.

        Override it to say it in words; never put a secret there.
        """
        own = {k: v for k, v in vars(self).items() if not k.startswith("_")}
        kept = {
            k: repr(v)
            for k, v in own.items()
            if k not in ("name", "columns", "score_names", "advance", "arrays", "context")
        }
        return {"options": hashlib.sha256(repr(sorted(kept.items())).encode()).hexdigest()[:8]} if kept else {}

    def provenance(self) -> dict[str, str]:
        """Package versions and the like."""
        return {}

    def signature(self, references: Sequence[Sequence[str]]) -> Signature:
        """The signature on data with these references."""
        counts = {len(r) for r in references}
        number = str(next(iter(counts))) if len(counts) == 1 else "var"
        refs = {"nrefs": number} if self.needs_references else {}
        return Signature({**refs, **self.definition()}, self.provenance())


class Arrays(Protocol):
    """A content-addressed store of arrays' bytes that outlives a run; what is not there is computed again."""

    def get(self, keys: Sequence[str]) -> dict[str, bytes]: ...
    def put(self, items: Mapping[str, bytes]) -> None: ...


class Cache(Protocol):
    """A content-addressed store of outputs that outlives a run; those of failed examples are not kept."""

    def get(self, keys: Sequence[str]) -> dict[str, Output]: ...
    def put(self, outputs: Mapping[str, Output], system: str) -> None: ...


@dataclass(frozen=True, slots=True)
class Tracked:
    """Where a run was logged."""

    run_id: str
    uri: str
    where: str
    """For people: the page or the store."""
    how: str = "logged"
    """`logged`, `completed` where a part was missing, or `already there`."""


class Tracker(Protocol):
    """Logs a finished run folder; the folder stays the truth."""

    experiment: str

    def log(self, run: RunResult, group: str | None) -> Tracked | None: ...


class Progress(Protocol):
    """A stage that can take over a second."""

    def __call__(self, stage: str, total: int) -> Step: ...


class Step(Protocol):
    def __enter__(self) -> Step: ...
    def __exit__(self, *exc: object) -> None: ...
    def advance(self, n: int = 1) -> None: ...
    def note(self, text: str) -> None:
        """Shown beside the bar."""
