"""A run of another tool, as columns with a row for each sample and epoch, and as the data set, the system and the
metrics of an ordinary run.

Rows of a sample are its repeats; a sample is an example with its prompt, its references and its fields, all of which
the data's key is made of: runs on the same samples pair, runs on others are refused.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
import orjson

from harness.inputs import files
from harness.inputs.kept import Kept
from harness.types import (
    IMPORTED,
    BlockDataset,
    Example,
    Examples,
    Gate,
    HarnessError,
    Outputs,
    System,
    TextLists,
    Texts,
    text_columns,
)
from harness.types.text_columns import blocks_of

log = logging.getLogger(__name__)
NO_OUTPUT = "the log has no output for this sample"


@dataclass(frozen=True)
class Origin:
    """Where a log comes from."""

    tool: str
    """As `--as` names it."""
    place: str
    """The file, for messages."""
    dataset: str
    system: str
    version: str | None = None
    """Of the tool."""
    model: str | None = None
    """The system's name in full."""
    cluster: str | None = None
    """The field by which samples belong together, where the log says so."""
    lower_is_better: frozenset[str] = frozenset()
    of_data: bool = True
    """Whether the samples' fields belong to the data, or may say something of the output: then they are no part of the
    data's key."""
    data_key: str | None = None
    """Of the data of the run that was exported, where the log says so."""
    library: str | None = None
    """What computed the scores, where that is not the tool itself."""

    @property
    def scorer(self) -> str:
        """Whose scores these are."""
        return f"{self.tool}:{self.library}" if self.library else self.tool


@dataclass(eq=False)
class Log:
    """Columns of the same length; `add` appends a row."""

    origin: Origin
    ids: list[str] = field(default_factory=list)
    epochs: list[int] = field(default_factory=list)
    sources: list[str | None] = field(default_factory=list)
    references: list[Sequence[str]] = field(default_factory=list)
    outputs: list[str | None] = field(default_factory=list)
    errors: list[str | None] = field(default_factory=list)
    fields: list[Mapping[str, Any]] = field(default_factory=list)
    scores: list[Mapping[str, float | None]] = field(default_factory=list)
    infos: list[Mapping[str, Any]] = field(default_factory=list)
    """What is known of each output: tokens, seconds, how it ended."""
    _seen: set[tuple[str, int]] = field(default_factory=set)

    def add(self, sample: Sample, place: str) -> None:
        """A row; `place` is where it is, for messages."""
        id_ = files.identifier(sample.id, place, "id")
        if (id_, sample.epoch) in self._seen:
            raise HarnessError(f"{place} has the sample {id_!r} a second time; expected each once")
        self._seen.add((id_, sample.epoch))
        self.ids.append(id_)
        self.epochs.append(sample.epoch)
        self.sources.append(None if sample.source is None else files.text(sample.source, place, "prompt"))
        self.references.append([files.text(text, place, "target") for text in sample.references])
        failed = sample.output is None
        self.outputs.append(None if sample.output is None else files.text(sample.output, place, "output"))
        self.errors.append((sample.error or NO_OUTPUT) if failed else None)
        self.fields.append(sample.fields)
        self.scores.append(sample.scores)
        self.infos.append(sample.info)

    def takes(self, samples: Samples) -> bool:
        """Whether each id is there once."""
        keys = {(id_, 1) for id_ in samples.ids}
        return len(keys) == len(samples.ids) and self._seen.isdisjoint(keys)

    def extend(self, samples: Samples) -> None:
        """Rows that were checked."""
        n = len(samples.ids)
        self._seen.update((id_, 1) for id_ in samples.ids)
        self.ids += samples.ids
        self.epochs += [1] * n
        self.sources += samples.sources
        self.references += samples.references
        self.outputs += samples.outputs
        self.errors += [None] * n
        self.fields += samples.fields
        self.scores += samples.scores
        self.infos += [{}] * n

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def order(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        """(n,) the rows of each sample one after the other, by epoch."""
        if len(set(self.ids)) == len(self.ids):
            return np.arange(len(self.ids))
        first: dict[str, int] = {}
        for id_ in self.ids:
            first.setdefault(id_, len(first))
        return np.lexsort((self.epochs, [first[id_] for id_ in self.ids]))

    @cached_property
    def rows(self) -> Examples:
        """A row for each sample and epoch, with the stored scores as fields."""
        order = self.order.tolist()
        ids = [self.ids[i] for i in order]
        starts = np.flatnonzero([i == 0 or ids[i] != ids[i - 1] for i in range(len(ids))])
        counts: np.ndarray[Any, np.dtype[np.int64]] = np.diff(np.append(starts, len(ids)))
        repeats = (np.arange(len(ids)) - np.repeat(starts, counts)).astype(np.int32)
        self._check_alike(order, np.repeat(starts, counts).tolist())
        columns = {IMPORTED + name: [self.scores[i].get(name) for i in order] for name in self.score_names}
        return Examples(
            Texts.of(ids),
            Texts.of([self.sources[i] for i in order]),
            TextLists.of([self.references[i] for i in order]),
            {**self._fields(order), **columns},
            repeats if repeats.any() else None,
        )

    def _fields(self, order: Sequence[int]) -> dict[str, Any]:
        """The columns of the samples' own fields: text where all of them are, else whatever JSON has."""
        columns: dict[str, Any] = {}
        rows = [self.fields[i] for i in order]
        for name in dict.fromkeys(chain.from_iterable(self.fields)):
            values = [row.get(name) for row in rows]
            columns[name] = Texts.of(values) if {*map(type, values)} == {str} else values
        return columns

    def _check_alike(self, order: Sequence[int], firsts: Sequence[int]) -> None:
        """Epochs of a sample have one prompt and the same references."""
        for row, first in zip(order, firsts, strict=True):
            sample = order[first]
            if row != sample and (self.sources[row], self.references[row]) != (
                self.sources[sample],
                self.references[sample],
            ):
                raise HarnessError(
                    f"{self.origin.place}: the sample {self.ids[row]!r} has another prompt or target in epoch "
                    f"{self.epochs[row]} than in epoch {self.epochs[sample]}; expected the same in all"
                )

    @cached_property
    def score_names(self) -> list[str]:
        """The scores that have a number for some sample."""
        names = dict.fromkeys(chain.from_iterable(self.scores))
        known = {name for row in self.scores for name, value in row.items() if value is not None}
        if len(known) < len(names):
            absent = ", ".join(name for name in names if name not in known)
            log.warning("%s: no sample has a number for %s, left out", self.origin.place, absent)
        return [name for name in names if name in known]

    @property
    def blank(self) -> bool:
        """Whether there is neither an output nor a score to import."""
        return not any(self.scores) and all(output is None for output in self.outputs)

    @cached_property
    def content(self) -> str:
        """Hash of what was imported."""
        columns = [self.ids, self.epochs, self.sources, self.references, self.outputs, self.errors, self.fields]
        return files.digest([self.origin.tool, self.origin.model, *map(_digest, (*columns, self.scores))])


@dataclass(slots=True)
class Sample:
    """One sample in one epoch."""

    id: Any
    source: str | None
    references: Sequence[str]
    output: str | None
    """None: it failed, and `error` says why."""
    scores: Mapping[str, float | None] = field(default_factory=dict)
    fields: Mapping[str, Any] = field(default_factory=dict)
    error: str | None = None
    epoch: int = 1
    info: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Samples:
    """Columns of samples in their first epoch, all of which have an output."""

    ids: Sequence[str]
    sources: Sequence[str | None]
    references: Sequence[Sequence[str]]
    outputs: Sequence[str]
    scores: Sequence[Mapping[str, float | None]]
    fields: Sequence[Mapping[str, Any]]


def _digest(column: object) -> str:
    """Hash of a column; orjson writes it ten times as fast, unless it holds what only Python's encoder takes."""
    try:
        return hashlib.sha256(orjson.dumps(column, option=orjson.OPT_SORT_KEYS)).hexdigest()
    except TypeError:  # half a surrogate pair, a number of more than 64 bits
        return files.digest(column)


# ---------------------------------------------------------------- as parts of a run


class LogDataset(BlockDataset):
    """The samples of a log."""

    def __init__(self, of: Log, cluster: str | None = None) -> None:
        """`cluster`: the field by which samples belong together; None: what the log says."""
        self._log, self.name = of, of.origin.dataset
        self.cluster = cluster or of.origin.cluster
        if self.cluster is not None and self.cluster not in of.rows.metadata:
            own = [name for name in of.rows.metadata if not name.startswith(IMPORTED)]
            raise HarnessError(
                f"{of.origin.place}: no sample has the field {self.cluster!r}; expected for --cluster one of "
                f"{files.listed(own) if own else 'none: this log has no fields'}"
            )

    def blocks(self) -> Iterator[Examples]:
        rows = self._log.rows
        fields = rows.metadata.items() if self._log.origin.of_data else ()
        own = {name: column for name, column in fields if not name.startswith(IMPORTED)}
        examples = Examples(rows.ids, rows.sources, rows.references, own)
        if rows.repeats is not None:
            examples = examples.taken(np.flatnonzero(rows.repeats == 0))
        yield from blocks_of(examples)

    def about(self) -> Mapping[str, str]:
        return {"imported": self._log.origin.tool}


class LogSystem(System):
    """What the log says that the system gave."""

    stored = True

    def __init__(self, of: Log) -> None:
        self._log, self.name, self._next = of, of.origin.system, 0
        self.repeats = int(of.rows.repeat.max(initial=0)) + 1
        order, gate = of.order.tolist(), Gate(str(of.origin.place))
        infos = [gate.info(of.infos[i]) for i in order] if any(of.infos) else None
        texts = Texts.of([of.outputs[i] for i in order])
        self._outputs = Outputs(texts, Texts.of([of.errors[i] for i in order]), infos)

    def key(self) -> str:
        return files.digest(["imported", self._log.content])

    def expand(self, examples: Sequence[Example]) -> Sequence[Example]:
        """A row for each epoch, with the stored scores."""
        self._next = 0
        rows, size = self._log.rows, text_columns.BLOCK
        return Kept.of(*(rows[i : i + size] for i in range(0, len(rows), size)))

    def about(self) -> Mapping[str, str]:
        origin = self._log.origin
        known = {"imported": origin.tool, "model": origin.model, "version": origin.version}
        return {name: value for name, value in known.items() if value}

    def generate(self, batch: Sequence[Example]) -> Outputs:
        """Of the next rows: all are asked for in their order."""
        first, self._next = self._next, self._next + len(batch)
        return self._outputs[first : self._next]
