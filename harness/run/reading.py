"""The examples of a run: read, selected, checked, and a row for each of them and repeat; block by block throughout."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from harness.inputs import files
from harness.inputs.hashing import Content, hashed_examples
from harness.inputs.kept import Kept
from harness.run.job import Job
from harness.run.rows_checked import check_passages
from harness.run.scoring import References
from harness.run.sharing import once
from harness.types import (
    PASSAGES,
    Advance,
    ContextFault,
    Dataset,
    Example,
    Examples,
    HarnessError,
    Progress,
    System,
    Texts,
)
from harness.types.context_forms import graded, listed
from harness.types.text_columns import blocks_of, in_blocks

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Data:
    """What a run is evaluated on."""

    examples: Kept[Examples]
    rows: Kept[Examples]
    """Each example as often as the system is asked for it, one after the other."""
    content: Content
    """Of all examples, in any order."""
    whole: str | None = None
    """Of a shard: the key of the data set that it is a part of, before any selection."""
    first: bool = False
    """Whether the examples are the first of the data set, none left out between them, and each is one row."""

    @property
    def key(self) -> str:
        return self.content.key

    @property
    def document(self) -> dict[str, Any]:
        """What the manifest needs so that the keys of shards add up."""
        return {**self.content.document, **({"whole": self.whole} if self.whole else {})}

    @property
    def repeats(self) -> int:
        """How many outputs an example gets, at most."""
        return -(-len(self.rows) // len(self.examples))

    @property
    def references(self) -> tuple[References, References]:
        """Of the examples, and of the rows."""
        whole = References(self.examples.blocks)
        return whole, whole if self.rows is self.examples else References(self.rows.blocks)

    def part(self, chosen: Sequence[int]) -> Data:
        """These of the examples, where each has one row."""
        examples = kept([self.examples[i] for i in chosen])
        rows = examples if self.rows is self.examples else kept([self.rows[i] for i in chosen])
        return Data(examples, rows, content_of(examples))


def read(job: Job, progress: Progress) -> Data:
    """The data of the run; a system that reads stored outputs is told of all ids before its rows are made."""
    job.dataset.indexed = job.system.indexed = not job.engine.in_process
    with progress("reading", 0) as step:
        how = (job.limit, job.system.stored, job.dataset.indexed)
        own = type(job.system).taken is not System.taken  # what it takes of the data, another system does not
        read_now = partial(_read, job, step.advance)
        examples, ids, content, whole, seen = read_now() if own else once(job.dataset, how, read_now)
    known = {name for block in examples.blocks() for name in block.passages}
    check_passages(job.metrics, known, ("reference_contexts", "relevant"))
    job.system.align(ids)  # type: ignore[arg-type]  # no id is missing
    rows = expanded(examples, job.system)
    data = Data(examples, rows, content, whole, first=rows is examples and seen.all)
    check_repeats(job, data)
    return data


def _read(job: Job, advance: Advance) -> tuple[Kept[Examples], Texts, Content, str | None, Seen]:
    seen = Seen()
    return *read_examples(job, advance, seen), seen


def check_repeats(job: Job, data: Data) -> None:
    """Refuses seeds where there are none, and says that stored repeats may be seeds."""
    if job.stats.repeats == "seeds" and data.repeats == 1:
        raise HarnessError(
            "stats.repeats=seeds with one output for each example; expected several (system.repeats, or a column "
            "'repeat' of predictions). Seeds that are runs of their own are compared as a group: "
            "harness compare NAME=GLOB"
        )
    if job.stats.repeats == "independent" and data.repeats > 1 and job.system.stored:
        most = max(job.system.repeats, data.repeats)
        count = str(most) if len(data.rows) == most * len(data.examples) else f"up to {most}"
        log.warning(
            "%s has %s outputs for each example, which are taken for independent draws and averaged; if each repeat "
            "is a training run or seed of its own, set stats.repeats=seeds (later: harness score RUN "
            "stats.repeats=seeds)",
            job.system.name, count,
        )  # fmt: skip


@dataclass
class Seen:
    """How many examples were read and, of these, selected; and whether that was all of them, up to any limit."""

    read: int = 0
    selected: int = 0
    all: bool = False

    def counted(self, blocks: Iterator[Examples]) -> Iterator[Examples]:
        for block in blocks:
            self.selected += len(block)
            yield block


def read_examples(
    job: Job, advance: Advance, seen: Seen | None = None
) -> tuple[Kept[Examples], Texts, Content, str | None]:
    """(the examples to evaluate, their ids or, where the system reads stored outputs, those of the whole data set, the
    content of the examples and, where they are a shard, the key of the whole data set); `advance` is told of the
    examples read."""
    dataset, whole, shard = job.dataset, job.system.stored, job.shard is not None and job.limit is None
    ids: list[Texts] = []
    read, seen = Content(), seen or Seen()

    def watched() -> Iterator[Examples]:
        for block in _checked(dataset):
            block = job.system.taken(block, dataset.name)
            advance(len(block))
            seen.read += len(block)
            if whole:
                ids.append(block.ids.compact())
            if shard:
                read.add(hashed_examples(block))
            yield block

    stream = watched()
    examples, content = Kept[Examples](), Content()
    for block in in_blocks(_first(seen.counted(job.select(stream)), job.limit)):
        content.add(hashed_examples(block))
        examples.append(block)
    seen.all = seen.read == seen.selected
    for _ in stream if whole else ():
        pass
    if not len(examples):
        unfit = "has no example that dataset.filter, dataset.sample and dataset.shard leave"
        reason = "is empty" if next(dataset.examples(), None) is None else unfit
        raise HarnessError(f"the data set {dataset.name} {reason}; expected at least one example")
    if not whole:
        ids = [block.ids.compact() for block in examples.blocks()]
    return examples, Texts.joined(ids), content, read.key if shard else None


def _first(blocks: Iterator[Examples], limit: int | None) -> Iterator[Examples]:
    """So many examples; no more blocks are read than that takes."""
    left = limit
    for block in blocks:
        if left is None:
            yield block
            continue
        yield block[:left]
        left -= len(block)
        if left <= 0:
            return


def expanded(examples: Kept[Examples], system: System) -> Kept[Examples]:
    """A row for each example and repeat, as the system wants them."""
    if type(system).expand is not System.expand:
        return kept(system.expand(examples))
    system.check_repeats()
    if system.repeats == 1:
        return examples
    rows = Kept[Examples]()
    for block in in_blocks(block.repeated(system.repeats) for block in examples.blocks()):
        rows.append(block)
    return rows


def kept(examples: Sequence[Example]) -> Kept[Examples]:
    """Single examples as blocks."""
    if isinstance(examples, Kept):
        return examples
    blocks = Kept[Examples]()
    for block in blocks_of(examples):
        blocks.append(block)
    return blocks


def _checked(dataset: Dataset) -> Iterator[Examples]:
    """The examples of a data set; those of a user's own class are checked, as a file's are where they are read."""
    own = type(dataset).__module__.partition(".")[0] != "harness"
    return blocks_of(_checked_examples(dataset)) if own else dataset.blocks()


def _checked_examples(dataset: Dataset) -> Iterator[Example]:
    seen: set[str] = set()
    for number, example in enumerate(dataset.examples(), start=1):
        place = f"example {number} of the data set {dataset.name}"
        if not isinstance(example, Example):
            raise HarnessError(f"{place} is of the type {type(example).__name__}; expected harness.types.Example")
        if not isinstance(example.id, str):
            raise HarnessError(f"{place} has the id {example.id!r}; expected a text")
        if files.identifier(example.id, place, "id") in seen:
            raise HarnessError(f"{place} has the id {example.id!r}, which an earlier one has; expected unique ids")
        seen.add(example.id)
        if example.source is not None:
            files.text(example.source, place, "source")
        if not isinstance(example.references, tuple | list):
            raise HarnessError(f"{place}: 'references' is {example.references!r}; expected a tuple of texts")
        for reference in example.references:
            files.text(reference, place, "references")
        _check_passages(example, place)
        yield example


def _check_passages(example: Example, place: str) -> None:
    for name in PASSAGES:
        value = getattr(example, name)
        try:
            if value is not None:
                graded(value) if name == "relevant" else listed(value)
        except ContextFault as fault:
            raise HarnessError(f"{place}: {fault.of(name)}") from None


def content_of(examples: Kept[Examples]) -> Content:
    """Of all rows in any order; runs are aligned by id."""
    content = Content()
    for block in examples.blocks():
        content.add(hashed_examples(block))
    return content
