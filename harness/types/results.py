"""What evaluations and comparisons come to, in memory or read back from run folders."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from harness.types.curves import Curve
from harness.types.errors import HarnessError
from harness.types.lists import Lists, Rows
from harness.types.nouns import DIGITS, Array, Score, Signature, bound_name, titled
from harness.types.seams import Metric
from harness.types.shown import Shape, Shown, comparison_line, comparisons_of, counted, runs_of, scores_of

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa


class Keep(Protocol):
    """Saves and logs a result."""

    def save(self, folder: str | Path | None) -> RunResult: ...
    def log(self, uri: str | None, experiment: str | None) -> RunResult: ...


@dataclass(frozen=True)
class Statistics:
    """A metric's rows for one run, with the metric that can score them."""

    metric: Metric
    load: Callable[[], Rows]
    """Gives the rows; called once, when they are first looked at: those of a large run stay on disk."""
    signature: Signature
    key: str
    """Hash of all that the rows depend on: same key, same rows. Empty for what was evaluated in memory."""

    @classmethod
    def of(
        cls, metric: Metric, rows: Array, signature: Signature, key: str, lists: Mapping[str, Lists] | None = None
    ) -> Statistics:
        """Of rows in memory."""
        whole = Rows(rows, lists or {})
        return cls(metric, lambda: whole, signature, key)

    @cached_property
    def whole(self) -> Rows:
        """Numbers and lists together, one row for each example in the data set's order."""
        return self.load()

    @property
    def rows(self) -> Array:
        """(n, k); NaN throughout where there is nothing to score."""
        return self.whole.values

    @property
    def lists(self) -> Mapping[str, Lists]:
        """Those of `Metric.lists`, each of n examples; empty where there is nothing to score."""
        return self.whole.lists

    @property
    def scored(self) -> NDArray[np.bool_]:
        """(n,) which examples have a row."""
        return np.asarray(~np.isnan(self.rows).any(axis=1))

    def with_rows(self, rows: Rows | Array) -> Statistics:
        """The same of other rows."""
        whole = Rows.of(rows)
        return replace(self, load=lambda: whole)

    def taken(self, places: Sequence[int]) -> Statistics:
        """The rows of these examples, in this order."""
        return replace(self, load=lambda: self.whole[places])


@dataclass(frozen=True, slots=True, repr=False)
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
    """By the adjusted p-values: `better`, `worse`, `not distinguishable`, `too few to tell` where no p could have been
    small enough; with a margin also `equivalent` and `not worse`."""
    smallest_detectable: float | None
    """The difference that 80 % of such experiments would detect at this level."""
    needed: int | None
    """Units that would detect the difference seen with that power, were it the true one."""
    standard_error: float | None
    """Of the difference, from its bootstrap replicates; of shares of examples from its interval, and where no example
    differs the largest that this leaves likely."""
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
    digits: int = DIGITS
    """How many digits after the point the score, and so its difference, is shown with."""
    method: str = ""
    """How the interval was computed: `expanded`, `tango` for shares of examples, or what was asked for."""
    note: str | None = None
    """What a reader must know: that there are too few units, or that no example differs."""
    margin: float | None = None
    """A difference that does not matter, where one was given."""
    p_not_worse: float | None = None
    p_equivalent: float | None = None
    """With a margin: of the tests that the system is worse by that much or more, and that it is so far off either way;
    adjusted over the family."""
    question: str = "outputs"
    """`outputs`: of these outputs; `seeds`: of new seeds of the same systems."""
    seeds: tuple[int, int] | None = None
    """Where the question is of seeds, how many baseline and system have."""
    degrees: float | None = None
    """Degrees of freedom with which the standard error is known: of the t-test where the question is of seeds."""
    parts: Mapping[str, Any] | None = None
    """Where the question is of seeds, the variance of the difference by its sources: `harness.stats.seeds.Spread`."""
    needed_seeds: int | None = None
    """Where it is, the seeds of each system that would detect the difference seen on these units."""
    caution: str | None = None
    """What must be known of the score before it is compared: that a larger data set has a larger one, say."""
    posterior_better: float | None = None
    posterior_within: float | None = None
    """Where asked for: the probability, by the Bayesian bootstrap, that the system is better, and that the difference
    is smaller than the margin; None where no example differs or there are too few."""
    stage: str | None = None
    """`retrieval`, `faithfulness` or `answer`: which part of a system that retrieves and answers the score is of."""
    title: str = ""
    """The score as papers print it."""

    def __post_init__(self) -> None:
        if not self.title:
            object.__setattr__(self, "title", titled(self.score))

    def __repr__(self) -> str:
        return comparison_line(self)

    def turned(self) -> Comparison:
        """The same seen from the baseline: what a table shows of the two, not what was tested against a margin."""

        def less(value: float | None) -> float | None:
            return None if value is None else -value

        verdict = {"better": "worse", "worse": "better", "not worse": "not distinguishable"}
        return replace(
            self,
            baseline=self.system,
            system=self.baseline,
            baseline_estimate=self.system_estimate,
            system_estimate=self.baseline_estimate,
            difference=less(self.difference),
            low=less(self.high),
            high=less(self.low),
            effect_size=less(self.effect_size),
            won=self.lost,
            lost=self.won,
            verdict=verdict.get(self.verdict, self.verdict),
        )


@dataclass(frozen=True, slots=True)
class Interaction:
    """Whether the difference between two systems is the same in every slice."""

    baseline: str
    system: str
    score: str
    slices: int
    """That have enough examples to say."""
    p_value: float
    p_adjusted: float
    worst: str
    """The slice in which the system does worst against the baseline."""
    worst_difference: float | None
    digits: int = DIGITS
    title: str = ""
    """What papers call the score; empty: its name."""


class Comparisons(Shown, list[Comparison]):
    """The comparisons, and beside them those of the average over data sets."""

    macro: list[Comparison]
    """Where all systems ran on several data sets: each score averaged over the data sets, a family of its own."""

    interactions: list[Interaction]
    """Where runs are compared by slice: whether the differences vary between slices."""

    def __init__(
        self,
        rows: Iterable[Comparison] = (),
        macro: Iterable[Comparison] = (),
        interactions: Iterable[Interaction] = (),
    ) -> None:
        super().__init__(rows)
        self.macro = list(macro)
        self.interactions = list(interactions)

    def shapes(self) -> Iterable[Shape]:
        yield comparisons_of(self, counted(len(self), "comparison"))
        if self.macro:
            yield comparisons_of(self.macro, "averages over data sets")

    def to_pandas(self) -> pd.DataFrame:
        """A row for each comparison and a column for each of its fields; then those of averages over data sets."""
        import pandas as pd

        return pd.DataFrame([asdict(row) for row in (*self, *self.macro)], columns=[f.name for f in fields(Comparison)])


@dataclass(frozen=True, slots=True)
class Slice:
    """Some of a run's examples, by what they have in common, and the headline scores of these alone."""

    by: str
    """A field, or an expression."""
    label: str
    examples: int
    """Rows: outputs, where there are several an example."""
    scores: dict[str, Score]


@dataclass(frozen=True, repr=False)
class RunResult(Shown):
    """A finished evaluation, in memory or read back from its folder."""

    name: str
    dataset: str
    dataset_key: str
    system: str
    scores: dict[str, Score]
    statistics: dict[str, Statistics]
    load: Callable[[], pa.Table]
    """Gives the rows of examples.parquet; called once, when they are first looked at."""
    failed: int
    """Rows without an output to score."""
    cluster: str | None = None
    """The metadata field that names the cluster of an example, where the data has clusters."""
    strata: str | None = None
    """The metadata field within whose values examples are resampled, where that was asked for."""
    manifest: dict[str, Any] = field(default_factory=dict)
    path: Path | None = None
    health: dict[str, Any] = field(default_factory=dict)
    """What is odd about the outputs: shares of empty ones, loops and so on, as harness/run/health.py defines them."""
    stopped: dict[str, Any] | None = None
    """Where the run was to end once its answer is known: how it ended, as harness/run/stopping.py has it."""
    seeds: int = 1
    """Of how many seeds its outputs are, those of one seed after those of the other in the order of repeats; 1 where
    several outputs of an example are independent draws, to be averaged."""
    slices: tuple[Slice, ...] = ()
    """The headline scores by slice, where that was asked for (`stats.slices`)."""
    untested: dict[str, str] = field(default_factory=dict)
    """Metrics of a stored run whose rows only code can score that its folder names and the caller does not trust: they
    have no statistics here; what would run."""
    keep: Keep | None = field(default=None, repr=False, compare=False)
    """What saves and logs it."""

    def shapes(self) -> Iterable[Shape]:
        yield scores_of(self)

    def save(self, folder: str | Path | None = None) -> RunResult:
        """Writes what `harness.evaluate` made to a run folder, which every command understands, and returns the stored
        run; by default to `runs/harness/NAME-KEY`, where commands find it by its name."""
        return self._kept().save(folder)

    def log(self, uri: str | None = None, experiment: str | None = None) -> RunResult:
        """Logs it to MLflow: to `uri`, by default MLFLOW_TRACKING_URI or the SQLite file below runs/. What
        `harness.evaluate` made is saved below runs/ first. Returns the stored run; its manifest says where it is."""
        return self._kept().log(uri, experiment)

    def _kept(self) -> Keep:
        if self.keep is None:
            raise HarnessError(f"{self.name} is part of a run or made of several; expected a whole run to save or log")
        return self.keep

    @cached_property
    def table(self) -> pa.Table:
        """One row for each (example, repeat): id, repeat, source, references, output, error, metadata, one
        column per score."""
        return self.load()

    @cached_property
    def examples(self) -> pd.DataFrame:
        """The table for pandas, which takes long to import."""
        frame: pd.DataFrame = self.table.to_pandas()
        return frame

    def columns(self, *names: str) -> pa.Table:
        """Some columns of the table, which is not kept for them: of hundreds of runs that is much."""
        table = self.__dict__.get("table")
        return (self.load() if table is None else table).select(list(names))

    def with_examples(self, examples: pd.DataFrame) -> RunResult:
        """The run with these rows instead, say with another column to see scores by."""
        import pyarrow as pa

        table = pa.Table.from_pandas(examples, preserve_index=False)
        return replace(self, load=lambda: table, keep=None)


@dataclass(frozen=True, repr=False)
class RunRecord(Shown):
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
        config: Mapping[str, Any] = self.manifest["config"]
        return config

    @property
    def cell(self) -> str | None:
        """What it is called among the cells of its sweep, where it is of one."""
        cell = self.manifest.get("cell")
        return str(cell["label"]) if cell else None

    def shapes(self) -> Iterable[Shape]:
        yield scores_of(self)

    @cached_property
    def scores(self) -> dict[str, Score]:
        return {name: Score(name=name, **value) for name, value in self.values.items()}

    def row(self) -> dict[str, Any]:
        """Flat, for `pandas.DataFrame(run.row() for run in harness.runs())`; bounds are named as in MLflow."""
        names = ("name", "dataset", "system", "experiment", "examples", "failed", "started", "ended")
        row = {name: getattr(self, name) for name in names}
        for name, value in self.values.items():
            bounds = {bound_name(name, side): value[side] for side in ("low", "high")}
            row |= {name: value["estimate"], **bounds}
        return {**row, "folder": str(self.path)}


class RunRecords(Shown, list[RunRecord]):
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

    def shapes(self) -> Iterable[Shape]:
        yield runs_of(self, counted(len(self), "run"))

    def to_pandas(self) -> pd.DataFrame:
        """A row for each run, as `RunRecord.row` has it."""
        import pandas as pd

        return pd.DataFrame([run.row() for run in self])


class Records(Shown, list[Any]):
    """Records of one kind, such as the best by each score, which Python and notebooks show as a table."""

    def __init__(self, rows: Iterable[Any], shape: Callable[[Sequence[Any]], Shape]) -> None:
        super().__init__(rows)
        self._shape = shape

    def shapes(self) -> Iterable[Shape]:
        yield self._shape(self)

    def to_pandas(self) -> pd.DataFrame:
        """A row for each record and a column for each of its fields."""
        import pandas as pd

        return pd.DataFrame([asdict(row) for row in self])


class RunResults(Shown, list[RunResult]):
    """Several runs, in memory or read back."""

    def shapes(self) -> Iterable[Shape]:
        yield runs_of(self, counted(len(self), "run"))


@dataclass(frozen=True)
class Group:
    """Runs on the same data, their examples in one order."""

    dataset: str
    """Different for every group."""
    runs: tuple[RunResult, ...]
    """Of different names."""
    baseline: RunResult | None = None
    """The one of them that the others are measured against, where that was asked for."""


@dataclass(frozen=True, repr=False)
class Study(Shown):
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
    leaders: Mapping[tuple[str, str], Sequence[str]] = field(default_factory=dict)
    """By data set and score the names of the best run, first, and of all that no test tells apart from it; empty where
    fewer than two runs were compared."""
    letters: Mapping[tuple[str, str], Mapping[str, str]] = field(default_factory=dict)
    """By data set and score the letters of each of three runs or more: two that share one cannot be told apart."""
    average_leaders: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """By score the same of systems, from the averages over data sets."""
    curves: Sequence[Curve] = ()
    """By data set, training run and score what the steps of checkpoints say, where there are several."""

    def shapes(self) -> Iterable[Shape]:
        for group in self.groups:
            yield runs_of(group.runs, f"{counted(len(group.runs), 'run')} on {group.dataset}", self.labels)
        yield from (self.against or self.comparisons).shapes()

    @property
    def runs(self) -> list[RunResult]:
        return [run for group in self.groups for run in group.runs]

    @property
    def of_seeds(self) -> bool:
        """Whether the tests are of new seeds."""
        return any(row.question == "seeds" for row in self.comparisons)

    @property
    def tested_by(self) -> str:
        """The test, in words."""
        return "t-test for new seeds" if self.of_seeds else f"paired {self.test}"


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


@dataclass(frozen=True)
class Outcome:
    """What came out of runs that belong together, for the page of their parent."""

    name: str
    """What they are, in a few words."""
    note: str
    """Score table, verdicts and the best, in Markdown."""
    files: Mapping[str, bytes]
    """Figures, table and report by file name."""
    tags: Mapping[str, str]
    """What varied, with its values."""
    best: Mapping[str, float]
    """The best run's score, and what remains of it after correction for the choice: `bleu`, `bleu.corrected`."""


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
