"""The examples of a run: read, selected, checked, and a row for each of them and repeat."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from harness.inputs import files
from harness.run.job import Job
from harness.types import Advance, Dataset, Example, HarnessError, Progress


@dataclass(frozen=True)
class Data:
    """What a run is evaluated on."""

    examples: list[Example]
    rows: list[Example]
    """Each example as often as the system is asked for it, one after the other."""

    @property
    def repeats(self) -> int:
        """How many outputs an example gets, at most."""
        return -(-len(self.rows) // len(self.examples))

    def part(self, chosen: Sequence[int]) -> Data:
        """These of the examples, where each has one row."""
        return Data([self.examples[i] for i in chosen], [self.rows[i] for i in chosen])


def read(job: Job, progress: Progress) -> Data:
    """The data of the run; a system that reads stored outputs is told of all ids before its rows are made."""
    with progress("reading", 0) as step:
        examples, ids = read_examples(job, step.advance)
    job.system.align(ids)
    return Data(examples, job.system.expand(examples))


def read_examples(job: Job, advance: Advance) -> tuple[list[Example], list[str]]:
    """(the examples to evaluate, their ids or, where the system reads stored outputs, those of the whole data set);
    `advance` is told of the examples read."""
    dataset, whole = job.dataset, job.system.stored
    ids: list[str] = []

    def watched() -> Iterator[Example]:
        for example in _checked(dataset):
            advance(1)
            if whole:
                ids.append(example.id)
            yield example

    stream = watched()
    examples = list(islice(job.select(stream), job.limit))
    if whole:
        deque(stream, maxlen=0)
    if not examples:
        unfit = "has no example that dataset.filter, dataset.sample and dataset.shard leave"
        reason = "is empty" if next(dataset.examples(), None) is None else unfit
        raise HarnessError(f"the data set {dataset.name} {reason}; expected at least one example")
    return examples, ids if whole else [example.id for example in examples]


def _checked(dataset: Dataset) -> Iterator[Example]:
    """The examples of a data set; those of a user's own class are checked, as a file's are where they are read."""
    if type(dataset).__module__.partition(".")[0] == "harness":
        yield from dataset.examples()
        return
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
        yield example


def dataset_key(examples: Sequence[Example]) -> str:
    """Hash of all rows in any order; runs are aligned by id."""
    by_id = sorted(examples, key=lambda e: e.id)
    return files.digest_all([e.id, e.source, e.references, e.metadata] for e in by_id)
