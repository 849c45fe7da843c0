"""Scores from outputs: metrics are fitted, rows computed, scores estimated and the result made here and nowhere else.

A run, `harness.evaluate`, a training callback, scoring a stored run again and stopping early all come here with the
same records: `Scorer`, the metrics for a data set; `Answers`, what a system gave for its examples; `Subject`, what the
result is of. Rows are computed block by block, where the engine has room; each block comes back here, goes to a sink,
which keeps it in memory or writes it to the run folder, and is added to the sums that are resampled.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from harness.engines.local import Local
from harness.inputs import files
from harness.inputs.plugins import source
from harness.report.terminal.progress import silent
from harness.run.answers import Answered, Answers, Located, Reads
from harness.run.health import WINDOWS, Health
from harness.run.manifest import code
from harness.run.rows_checked import check_fields, check_passages, check_references, check_rows
from harness.stats.estimation import Failures, design_of, estimate
from harness.stats.of_k import Several
from harness.stats.options import Options
from harness.stats.slices.sliced import slices
from harness.stats.tally import Tally
from harness.store.example_table import metadata_name
from harness.store.folder import StoredRows
from harness.types import (
    PASSAGES,
    Array,
    Batch,
    Engine,
    Examples,
    HarnessError,
    Lists,
    Metric,
    Progress,
    Recipe,
    Rows,
    RunResult,
    Signature,
    Statistics,
    Step,
    TextLists,
)
from harness.types.engine import in_order, learnt

log = logging.getLogger(__name__)
LOCAL = Local()
Table = Mapping[str, Rows]
"""A block's rows by metric."""


@dataclass(frozen=True)
class Subject:
    """What a result is of: names, the data's key, and its place on disk if it has one."""

    name: str
    dataset: str
    dataset_key: str
    system: str
    cluster: str | None = None
    path: Path | None = None


class Sink(Protocol):
    """Where the blocks of a result go."""

    reusable: Mapping[str, StoredRows]
    """Rows that are there already, by their keys."""

    def add(self, block: Answered, rows: Table) -> None: ...

    def rows(self, name: str) -> Callable[[], Rows]:
        """What loads all rows of a metric."""
        ...

    def table(self) -> Callable[[], Any]:
        """What loads the table of examples."""
        ...


@dataclass(frozen=True)
class Scorer:
    """The metrics for one data set, each fitted to it and signed: both happen once per run."""

    metrics: Mapping[str, Metric]
    signatures: Mapping[str, Signature]
    engine: Engine = LOCAL
    """Where rows are computed, and resampled where they are many."""
    specs: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """What makes the parts of the run elsewhere: `_target_` and options."""

    @classmethod
    def fit(cls, metrics: Mapping[str, Metric], examples: References, rows: References) -> Scorer:
        """Fitted to all of the data set's references, those of outputs that fail too; signed for the references that
        the rows are scored against, which may be fewer (`system=human`).

        A signature needs the tokenizer or the model: that one is missing is said here, not after hours of generation.
        """
        check_references(metrics, examples.lengths, examples.ids, examples.fields)
        fitted = {name: metric.fit(examples) for name, metric in metrics.items()}
        return cls(fitted, {name: metric.signature(rows) for name, metric in fitted.items()})

    @property
    def reads(self) -> list[Reads]:
        """The columns that rows depend on, for each metric."""
        return [metric.reads for metric in self.metrics.values()]

    def identity(self, name: str) -> list[Any]:
        """What decides a metric's rows beside the texts."""
        metric, definition = self.metrics[name], dict(self.signatures[name].definition)
        return [source(metric), metric.version, (*metric.columns, *metric.lists), definition, metric.context]

    def key(self, name: str, answers: Answers) -> str:
        """Of a metric's rows: same key, same rows; empty where the answers have none."""
        content = answers.key(self.metrics[name].reads)
        return "" if content is None else files.digest([content, self.identity(name)])

    def signature(self, name: str, stored: StoredRows | None) -> Signature:
        """Of a metric's rows: those of an earlier run keep the versions that made them."""
        own = self.signatures[name]
        return own if stored is None else Signature(own.definition, stored.provenance)

    def blocks(
        self, answers: Answers, reused: Mapping[str, StoredRows], step: Step
    ) -> Iterator[tuple[Answered, Table]]:
        """Each block with its rows, in order. What an earlier run has (`reused`, by metric) is taken from there; the
        engine computes what it can some blocks ahead, the rest is computed here, one block after the other."""
        stored = {name: _Stored(rows, answers) for name, rows in reused.items()}
        for metric in self.metrics.values():
            metric.advance = step.advance
        at_once = [name for name, metric in self.metrics.items() if metric.at_once and name not in reused]
        whole = {name: self.rows(name, answers.whole()) for name in at_once}
        spread = self._spread(reused)
        held: dict[int, tuple[Answered, Table]] = {}
        engine = self.engine if spread else LOCAL
        recipe = self._recipe(spread)
        engine.begin(recipe)
        places = Places(None if engine.near else answers.located)

        def items() -> Iterator[tuple[list[str], Any]]:
            first = 0
            for number, block in enumerate(answers.blocks()):
                parts = {name: rows.part() for name, rows in stored.items()}
                known = {name: part for name, part in parts.items() if part is not None}
                known |= {name: rows[first : first + len(block)] for name, rows in whole.items()}
                held[number] = block, known
                names = self._left(spread, known)
                place = places.of(first, len(block))
                yield names, place or block.read_by(self.metrics[name].reads for name in names)
                first += len(block)

        for number, computed in in_order(engine.map(recipe, items(), step.note)):
            block, known = held.pop(number)
            if isinstance(computed, str):
                places.give_up(computed)
                computed = self.rows_of((self._left(spread, known), block))
            if not engine.in_process:
                step.advance(len(block) * len(computed))
            table = {**known, **computed}
            for name in (name for name in self.metrics if name not in table):
                step.note(name)
                table[name] = self.rows(name, block)
            yield block, table

    def _spread(self, reused: Mapping[str, StoredRows]) -> list[str]:
        """The metrics that the engine computes: threads of this process those only that may be called from several."""
        there = (name for name in self.metrics if name not in reused and not self.metrics[name].at_once)
        return [name for name in there if self.metrics[name].threads or not self.engine.in_process]

    @staticmethod
    def _left(names: Sequence[str], known: Table) -> list[str]:
        return [name for name in names if name not in known]

    def _recipe(self, names: Sequence[str]) -> Recipe:
        """A replica that computes rows of blocks: the metrics by their specs, with what was fitted."""
        fitted = {name: learnt(self.metrics[name]) for name in names if self.metrics[name].fits}
        metrics = self.specs.get("metrics", {})
        stored = {part: self.specs.get(part) for part in ("dataset", "system", "postprocess")}
        options = {
            "code": code(), "specs": {name: metrics.get(name) for name in names}, "fitted": fitted, "stored": stored
        }  # fmt: skip
        return Recipe("harness.run.replicas.Scoring", options, self.rows_of, threads=True, queued=3, noun="blocks")

    def rows_of(self, item: tuple[Sequence[str], Answered]) -> Table:
        """Of the metrics named, for a block."""
        names, block = item
        return {name: self.rows(name, block) for name in names}

    def rows(self, name: str, block: Answered) -> Rows:
        """One metric's of all n examples of a block; NaN and empty lists for those that failed."""
        metric, good, n = self.metrics[name], block.processed.good, len(block)
        if not len(good):
            empty = Lists.of([[]] * n, metric.list_kind)
            return Rows(np.full((n, len(metric.columns)), np.nan), dict.fromkeys(metric.lists, empty))
        computed = Rows.of(_statistics(metric, block.batch(metric.reads)))
        check_rows(metric, computed, len(good))
        if len(good) == n:
            return computed
        values = np.full((n, len(metric.columns)), np.nan)
        values[good] = computed.values
        return Rows(values, {each: _spread_out(computed.lists[each], good, n) for each in metric.lists})

    def values(self, score: str, answers: Answers) -> Array:
        """(n,) the examples' scores of this name; NaN where an output failed."""
        name, metric = next((name, m) for name, m in self.metrics.items() if score in m.score_names)
        rows = self.rows(name, answers.whole())
        values: Array = metric.score_examples(rows.values)[:, metric.score_names.index(score)]
        return values


class References(Sequence[tuple[str, ...]]):
    """The references of all examples, which are read when somebody looks at them; a slice, which must rise, is a
    column."""

    def __init__(self, blocks: Callable[[], Iterable[Examples]]) -> None:
        self._blocks = blocks
        self.lengths = np.concatenate([block.references.lengths for block in blocks()] or [np.empty(0, np.int64)])
        """(n,) how many references each example has."""

    def __len__(self) -> int:
        return len(self.lengths)

    def __iter__(self) -> Iterator[tuple[str, ...]]:
        return (references for block in self._blocks() for references in block.references)

    def __getitem__(self, which: Any) -> Any:
        if not isinstance(which, slice):
            return next(islice(self, range(len(self))[which], None))
        places, first, parts = np.arange(len(self))[which], 0, []
        for block in self._blocks():
            inside = places[(places >= first) & (places < first + len(block))] - first
            parts.append(block.references.taken(inside))
            first += len(block)
        return TextLists.joined(parts)

    @property
    def ids(self) -> Iterator[str]:
        """Of the examples."""
        return (str(id_) for block in self._blocks() for id_ in block.ids)

    @property
    def fields(self) -> list[str]:
        """Other fields that examples have."""
        return list(dict.fromkeys(name for block in self._blocks() for name in block.metadata))


def score(
    subject: Subject,
    answers: Answers,
    scorer: Scorer,
    options: Options,
    sink: Sink,
    progress: Progress = silent,
) -> RunResult:
    """The result of an evaluation: every score with its interval, the examples with their scores, what is odd."""
    check_fields(scorer.metrics, answers.layout.names, subject.cluster)
    keys = {name: scorer.key(name, answers) for name in scorer.metrics}
    reused = {name: sink.reusable[key] for name, key in keys.items() if key in sink.reusable}
    signatures = {name: scorer.signature(name, reused.get(name)) for name in scorer.metrics}
    design = design_of(answers.rows.blocks(), subject.cluster, options)
    tallies = {name: Tally(metric, signatures[name], design) for name, metric in scorer.metrics.items()}
    read = any("outputs" in metric.reads for metric in scorer.metrics.values())
    health, failed = Health(), []
    several = Several(scorer.metrics if design.repeats == 1 and design.example is not None else {})
    windowed = [(n, m.columns.index(WINDOWS)) for n, m in scorer.metrics.items() if WINDOWS in m.columns]
    check_passages(scorer.metrics, answers.layout.forms, PASSAGES)
    with progress("scoring", len(answers) * len(tallies)) as step:
        for block, rows in scorer.blocks(answers, reused, step):
            for name, tally in tallies.items():
                tally.add(rows[name])
            if read:  # a run of a retriever has no texts that could be odd
                health.add(block.rows, block.processed)
            health.add_windows([rows[name].values[:, i] for name, i in windowed])
            several.add(block.processed.texts, rows)
            sink.add(block, rows)
            if block.processed.failed:
                failed.append(block.rows.taken(np.flatnonzero(~block.processed.texts.present)))
    failures = Failures(answers.failed, Examples.joined(failed) if failed else Examples.of([]))
    with progress("resampling", options.resamples) as step:
        every = [*tallies.values(), *several.tallies(design, signatures)]
        scores = estimate(every, failures, options, step.advance, scorer.engine)
    result = RunResult(
        name=subject.name,
        dataset=subject.dataset,
        dataset_key=subject.dataset_key,
        system=subject.system,
        scores=scores,
        statistics={
            name: Statistics(metric, sink.rows(name), signatures[name], keys[name])
            for name, metric in scorer.metrics.items()
        },
        load=sink.table(),
        failed=len(answers.failed),
        cluster=metadata_name(subject.cluster, scores) if subject.cluster else None,
        strata=metadata_name(options.strata, scores) if options.strata else None,
        seeds=design.repeats,
        path=subject.path,
        health=health.document(),
    )
    return replace(result, slices=slices(result, options)) if options.slices else result


# ---------------------------------------------------------------- blocks


class Places:
    """Where blocks are that an engine elsewhere reads by itself, as long as it can."""

    def __init__(self, located: Located | None) -> None:
        self._located = located

    def of(self, first: int, rows: int) -> tuple[Any, Any] | None:
        place = None if self._located is None else self._located.block(first, rows)
        if isinstance(place, str):
            self.give_up(place)
            return None
        return place

    def give_up(self, reason: str) -> None:
        if self._located is not None:
            log.warning("blocks of the data are sent to replicas from here: %s", reason)
        self._located = None


class _Stored:
    """A metric's rows of an earlier run, as long as they can be read."""

    def __init__(self, rows: StoredRows, answers: Answers) -> None:
        self._parts = rows.parts(len(block) for block in answers.rows.blocks())

    def part(self) -> Rows | None:
        """Those of the next block; None where they are damaged, and from then on."""
        try:
            return next(self._parts, None)
        except HarnessError:
            return None


def _statistics(metric: Metric, batch: Batch) -> Array | Rows:
    try:
        return metric.statistics(batch)
    except MemoryError:
        longest = max((len(text) for texts in (batch.outputs, *batch.references) for text in texts), default=0)
        raise HarnessError(
            f"there is not enough memory for {metric.name}; the longest output or reference has {longest:,} "
            "characters; expected shorter texts, or more memory"
        ) from None


def _spread_out(lists: Lists, good: Any, n: int) -> Lists:
    """The same for n examples: empty but for the good ones."""
    sizes = np.zeros(n, dtype=np.int64)
    sizes[good] = np.diff(lists.starts)
    return Lists(lists.values, np.concatenate([[0], np.cumsum(sizes)]))
