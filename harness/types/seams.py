"""The seams between rooms: what a data set and a system must give, and what is handed to them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar, Protocol

from harness.types.errors import HarnessError, check_least
from harness.types.nouns import (
    Example,
    Output,
    plain_contexts,
)
from harness.types.shown import counted
from harness.types.text_columns import Examples, Outputs, blocks_of

MOST_REPEATS = 100_000
"""Outputs of one example."""


class Dataset(ABC):
    """A source of examples."""

    name: str
    """Short, for run names: the file's stem, the data set's name on a hub."""
    cluster: str | None = None
    """The metadata field by which examples belong together, or None."""
    indexed: bool = False
    """Set by the runner: where rows are is remembered as they are read."""

    @abstractmethod
    def examples(self) -> Iterator[Example]:
        """The examples, as a stream in the data's order."""

    def blocks(self) -> Iterator[Examples]:
        """The same examples as columns, in parts of any size."""
        return blocks_of(self.examples())

    def located(self, first: int, rows: int) -> Any:
        """Where so many rows are from the first row of a block on, so that `read_located` reads them on another
        machine; a text that says why where that cannot be. Asked for after the examples were read, `indexed`."""
        return f"the data set {self.name} is in no file that is read by blocks"

    def read_located(self, place: Any) -> Examples:
        """The rows that `located` told of."""
        raise NotImplementedError

    def about(self) -> Mapping[str, str]:
        """What pins the data where its name does not (the commit a hub resolved, hashes of files), for the manifest.
        Asked for after the examples were read."""
        return {}


class BlockDataset(Dataset):
    """A data set that is read in columns."""

    def examples(self) -> Iterator[Example]:
        return chain.from_iterable(self.blocks())

    @abstractmethod
    def blocks(self) -> Iterator[Examples]:
        """The examples as columns, in parts of any size."""


class System(ABC):
    """A system under test. Subclasses give `name` and `generate`; the runner stores every output."""

    name: str
    stored: ClassVar[bool] = False
    """True where outputs are read from a file of the user's own and need no journal and no cache."""
    repeats: int = 1
    """How many outputs each example gets, asked for with `Example.repeat` 0, 1, …"""
    incidental: ClassVar[tuple[str, ...]] = ()
    """Options that say how outputs are made (how many requests at once, how long to wait), never what they are: a run
    with others of these is the same run, and resumes."""
    apart: ClassVar[bool] = False
    """True where an output never depends on what it is generated together with: what was planned as one batch may be
    shared among replicas."""
    sampled: bool = False
    """True where the same call would give another output (sampling without a seed): never served from the cache of
    other runs unless the user asks for it."""
    price: Mapping[str, float] | None = None
    """Of a million tokens, `input` and `output`, in any currency: what a run costs is said where it is given."""
    most_tokens: int | None = None
    """Of an output, where the system has a limit; for dry runs."""
    batch_size: int = 64
    """How many examples go together, unless `plan` knows better."""
    folder: Path | None = None
    """Set by the runner: the run folder, where a system may leave a log of its own."""
    step: int | None = None
    """The training step of a checkpoint; tracking draws scores by it."""
    indexed: bool = False
    """Set by the runner: where stored outputs are is remembered as they are read."""
    series: str | None = None
    """The training run that the checkpoint belongs to: its steps make one curve."""

    def key(self) -> str | None:
        """Hash of everything that decides the outputs beside the example itself, or None where that cannot be known:
        then outputs are reused within the run folder only."""
        return None

    def align(self, ids: Sequence[str]) -> None:  # noqa: B027  (only systems that read stored outputs care)
        """Told the ids of the whole data set, before any limit, so that a file of other data can be refused."""

    def taken(self, examples: Examples, dataset: str) -> Examples:
        """What is left of the data where outputs stand beside it: the system keeps its columns, which are no part of
        the data or of its key. Called for each block of the whole data set of that name, in order, before `align`."""
        return examples

    def expand(self, examples: Sequence[Example]) -> Sequence[Example]:
        """The rows of a run: each example `repeats` times, one after the other. Called once with all examples, before
        `key`. A baseline made from the data itself looks at them here, and may leave out references that it answers
        with."""
        self.check_repeats()
        if self.repeats == 1:
            return list(examples)
        return [replace(example, repeat=r) for example in examples for r in range(self.repeats)]

    def check_repeats(self) -> None:
        """Refuses a number of outputs that no run can have."""
        check_least("system.repeats", self.repeats)
        if self.repeats > MOST_REPEATS:
            raise HarnessError(f"system.repeats={self.repeats:,}; expected at most {MOST_REPEATS:,}")

    def about(self) -> Mapping[str, str]:
        """What the system is, for the manifest and as tags for tracking: the version of a model, where it came from."""
        return {}

    def seen(self, example: Example) -> Any:
        """The part of an example that the system sees, as JSON: never the references it is scored against, nor what was
        judged."""
        contexts = {} if example.contexts is None else {"contexts": plain_contexts(example.contexts)}
        return {"id": example.id, "source": example.source, "metadata": dict(example.metadata), **contexts}

    def plan(self, examples: Sequence[Example]) -> list[list[int]]:
        """Which examples go together: index lists that cover all of `examples`, fixed before the first batch."""
        n, size = len(examples), self.batch_size
        return [list(range(i, min(i + size, n))) for i in range(0, n, size)]

    def estimate(self, examples: Sequence[Example]) -> Mapping[str, int] | None:
        """`input_tokens` and, where that can be known, `output_tokens` that these examples would take; for dry runs."""
        return None

    def load(self) -> None:  # noqa: B027  (only systems that load much care)
        """Loads what it answers with, where somebody knows before the first batch that it will be asked."""

    @abstractmethod
    def generate(self, batch: Sequence[Example]) -> Sequence[Output]:
        """One output for each example of the batch, in its order."""

    def stream(self, batch: Sequence[Example]) -> Iterator[Mapping[int, Output]]:
        """The outputs of a batch by position, in groups as they become ready; each group is on disk before the next is
        asked for. A system that works on many examples at once overrides it, so that none waits for the slowest."""
        outputs = list(self.generate(batch))
        if len(outputs) != len(batch):
            raise HarnessError(
                f"the system {self.name} gave {counted(len(outputs), 'output')} for a batch of {len(batch)}; "
                "expected one harness.types.Output for each example"
            )
        for output in outputs:
            if not isinstance(output, Output):
                raise HarnessError(
                    f"the system {self.name} gave an output of the type {type(output).__name__}; expected "
                    "harness.types.Output"
                )
        yield dict(enumerate(outputs))

    def located(self, first: int, rows: int) -> Any:
        """Of stored outputs: as `Dataset.located`, for rows of the data set."""
        return f"the outputs of {self.name} are in no file that is read by blocks"

    def read_located(self, place: Any) -> Outputs:
        """The outputs that `located` told of."""
        raise NotImplementedError

    def close(self) -> None:  # noqa: B027  (only systems that hold something open care)
        """Nothing more is asked for: programs end, connections are closed."""


class Systems(ABC):
    """Several systems under one config, each evaluated in a run of its own."""

    name: str

    @abstractmethod
    def cells(self) -> list[dict[str, Any]]:
        """A system's config for each of them, `_target_` and options, and its `step`."""

    def system(self, spec: Mapping[str, Any]) -> System | None:
        """The system of one of these configs, where they share something; None: it is made as any other is."""
        return None

    def watched(self) -> None:  # noqa: B027  (only what is written while it is looked at cares)
        """Told that they are looked for again and again while they are being made."""

    def unfinished(self) -> Sequence[Path]:
        """What looks like one of them and is still being written."""
        return ()

    def finished(self) -> bool:
        """Whether no more of them will come."""
        return False

    def close(self) -> None:  # noqa: B027
        """Nothing more is asked of any of them."""


class Cache(Protocol):
    """A content-addressed store of outputs that outlives a run; those of failed examples are not kept."""

    def get(self, keys: Sequence[str]) -> dict[str, Output]: ...
    def put(self, outputs: Mapping[str, Output], system: str) -> None: ...


class Progress(Protocol):
    """A stage that can take over a second."""

    def __call__(self, stage: str, total: int) -> Step: ...


class Step(Protocol):
    def __enter__(self) -> Step: ...
    def __exit__(self, *exc: object) -> None: ...
    def advance(self, n: int = 1) -> None: ...
    def note(self, text: str) -> None:
        """Shown beside the bar."""
