"""Runs side by side: comparisons of two of them, and a study of all that tables, figures and reports are views of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

from harness.types.curves import Curve
from harness.types.nouns import DIGITS, titled
from harness.types.results import RunResult
from harness.types.shown import Shape, Shown, comparison_line, comparisons_of, counted, runs_of

if TYPE_CHECKING:
    import pandas as pd


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
    """How the interval was computed: `expanded`, `tango` for shares of examples, `t` for BLEU of few examples and all
    scores of up to six units, or what was asked for."""
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
    test_degrees: float | None = None
    """Degrees of freedom of Student's distribution by which the difference is judged."""

    def __post_init__(self) -> None:
        if not self.title:
            object.__setattr__(self, "title", titled(self.score))

    def __repr__(self) -> str:
        return comparison_line(self)

    def turned(self) -> Comparison:
        """The same seen from the baseline: what a table shows of the two, not what was tested against a margin."""

        def less(value: float | None) -> float | None:
            return None if value is None else 0.0 - value  # no zero is -0.0

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

    alternative: str
    """`two-sided`, or the one direction (`better`, `worse`) that was tested."""

    def __init__(
        self,
        rows: Iterable[Comparison] = (),
        macro: Iterable[Comparison] = (),
        interactions: Iterable[Interaction] = (),
        alternative: str = "two-sided",
    ) -> None:
        super().__init__(rows)
        self.macro = list(macro)
        self.interactions = list(interactions)
        self.alternative = alternative

    def shapes(self) -> Iterable[Shape]:
        yield comparisons_of(self, counted(len(self), "comparison"))
        if self.macro:
            yield comparisons_of(self.macro, "averages over data sets")

    def to_pandas(self) -> pd.DataFrame:
        """A row for each comparison and a column for each of its fields; then those of averages over data sets."""
        import pandas as pd

        return pd.DataFrame([asdict(row) for row in (*self, *self.macro)], columns=[f.name for f in fields(Comparison)])


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

    def best(self, group: Group, score: str) -> RunResult | None:
        """The run of a group that is the best by a score; None where fewer than two were compared."""
        names = self.leaders.get((group.dataset, score), ())
        return next((run for run in group.runs if names and run.name == names[0]), None)

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
