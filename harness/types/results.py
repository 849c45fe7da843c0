"""What evaluations come to, in memory or read back from run folders."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from harness.types.errors import HarnessError
from harness.types.lists import Lists, Rows
from harness.types.metric import Metric
from harness.types.nouns import Array, Score, Signature, bound_name
from harness.types.shown import Shape, Shown, counted, runs_of, scores_of
from harness.types.texts import Places, whole_numbers

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

    def taken(self, places: Places) -> Statistics:
        """The rows of these examples, in this order."""
        return replace(self, load=lambda: self.whole[places])


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

    def taken(self, places: Places) -> RunResult:
        """The same with the rows at these places, in this order."""
        rows = whole_numbers(places)
        statistics = {name: part.taken(places) for name, part in self.statistics.items()}
        return replace(self, load=lambda: self.table.take(rows), statistics=statistics)

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


def dropped(run: RunResult | RunRecord) -> bool:
    """Whether a race ended it before it had answered all examples."""
    raced = run.manifest.get("raced") if run.manifest else None
    return raced is not None and raced["units"] < raced["of_units"]
