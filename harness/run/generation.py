"""Outputs, each generated once: what the journal or the shared cache has is reused, the rest is made batch by batch.

The key of an output is the hash of (system key, what the system sees of the example, repeat). A system that cannot know
its identity has the config's key instead, which no other run folder shares, with its own source where it is a plug-in;
it never meets the shared cache.

Which outputs are generated together is decided once, from all that must be generated when the run starts, and journaled
before the first batch. After an interruption a planned batch is generated whole and with the same members, or served
whole from the cache if another run has made all of it meanwhile; what other batches have or lack never changes it. So
an interrupted run ends with the outputs of an uninterrupted one even where an output depends on its batch.

>>> limit_of("5%", 200), limit_of(0.05, 200), limit_of(3, 200), limit_of(None, 200)
(10, 10, 3, None)
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from harness.inputs import files
from harness.inputs.kept import Kept
from harness.inputs.plugins import source
from harness.masking import excerpt
from harness.run.answers import Answers, Reads
from harness.run.job import Job
from harness.run.manifest import code
from harness.store.finished import read_manifest
from harness.store.journal import Content, Journal
from harness.store.outputs import OutputCache
from harness.store.places import shared_folder
from harness.types import (
    Cache,
    Example,
    Examples,
    Gate,
    HarnessError,
    Output,
    Outputs,
    Progress,
    Recipe,
    RunResult,
    System,
)
from harness.types.engine import Note, learnt

CACHE = ("auto", "all", "none")
"""`auto`: outputs of sampling without a seed are not served from the shared cache, all others are."""
CACHED_AFTER = 1.0
"""Seconds after which new outputs go into the shared cache: each opening of it takes several milliseconds, and a run
that is killed puts there what its journal has when it goes on."""
PERCENTILES = (50, 90, 99)

Plan = Callable[[Sequence[Example]], list[list[int]]]
"""Which examples go together, by their indices."""


@dataclass(frozen=True)
class Work:
    """What there is of a run's outputs, and what must be generated."""

    keys: list[str]
    """Of each row."""
    examples: dict[str, Example]
    """By key; rows of the same key share an output."""
    have: dict[str, Output]
    """From the journal."""
    cached: dict[str, Output]
    """From the shared cache, not yet in the journal."""
    planned: list[list[str]]
    """Batches to generate that the journal has planned."""
    new: list[list[str]]
    """Batches to generate that it has not."""

    @property
    def todo(self) -> list[list[str]]:
        return [*self.planned, *self.new]

    def failed(self) -> list[str]:
        """What went wrong with the outputs that failed so far, one for each row."""
        outputs = (self.have.get(key) for key in self.keys)
        return [output.error for output in outputs if output is not None and output.error is not None]


def output_keys(system: System, owner: str, rows: Sequence[Example]) -> list[str]:
    """The key of each row's output; `owner` is the system's key, or what stands in for it."""
    return [files.digest([owner, system.seen(row), row.repeat]) for row in rows]


def owner_of(system: System, identity: str | None, config_key: str) -> str:
    """What an output belongs to: the system or, where its identity cannot be known, this config and the system's code:
    what an edited plug-in gave before the edit is not its output."""
    return identity if identity is not None else f"config {config_key} of {source(system)}"


def work_of(
    plan: Plan, keys: list[str], rows: Sequence[Example], journal: Content, cache: Cache | None, retry_failed: bool
) -> Work:
    """What must be generated; `cache` where it may be asked."""
    examples: dict[str, Example] = {}
    for key, row in zip(keys, rows, strict=True):
        examples.setdefault(key, row)
    have = {key: output for key, output in journal.outputs.items() if key in examples}
    again = {key for key, output in have.items() if output.error is not None} if retry_failed else set()
    started: list[list[str]] = []
    taken: set[str] = set()
    for batch in journal.planned:
        if all(key in examples and key not in have and key not in taken for key in batch):
            started.append(batch)
            taken.update(batch)
    free = [key for key in examples if (key not in have and key not in taken) or key in again]
    elsewhere = cache.get([*free, *taken]) if cache is not None and (free or taken) else {}
    planned = [batch for batch in started if not all(key in elsewhere for key in batch)]
    left = {key for batch in planned for key in batch}
    cached = {key: output for key, output in elsewhere.items() if key not in left}
    free = [key for key in free if key not in cached]
    have = {key: output for key, output in have.items() if key not in again}
    new = [[free[i] for i in batch] for batch in plan([examples[key] for key in free])]
    return Work(keys, examples, have, cached, planned, new)


def batches_of(system: System, examples: Sequence[Example]) -> list[list[int]]:
    """The batches that a system wants of these, by their indices."""
    if not examples:
        return []
    batches = system.plan(examples)
    if sorted(i for batch in batches for i in batch) != list(range(len(examples))):
        raise HarnessError(
            f"the plan of the system {system.name} does not hold each of {len(examples)} examples once; "
            "expected lists of indices that cover them"
        )
    return [list(batch) for batch in batches if batch]


@dataclass(frozen=True)
class Source:
    """Where the outputs of a run come from: its journal, the cache that runs share, the system itself."""

    job: Job
    identity: str | None
    """The system's key."""
    journal: Journal
    cache: OutputCache | None
    """Where outputs are kept for other runs; None where the system's identity is unknown or the user wants none."""

    @classmethod
    def of(cls, job: Job, touch: bool = True) -> Source:
        """`touch`: what is served from the cache counts as used."""
        identity, cache = job.system.key(), None
        if identity is not None and job.cache != "none" and not job.system.stored:
            cache = OutputCache(shared_folder() / "outputs.sqlite", job.cache_bytes, touch)
        return cls(job, identity, Journal(job.folder / "outputs.jsonl"), cache)

    def work(self, rows: Sequence[Example], soon: bool = False) -> Work:
        """What must be generated for these rows; `soon`: and will be, so that replicas are made while it is planned.
        Else it is one batch: a plan may need the model's tokenizer, which takes long to load."""
        job = self.job
        keys = output_keys(job.system, owner_of(job.system, self.identity, job.whole_key or job.key), rows)
        served = self.cache if job.cache == "all" or not job.system.sampled else None

        def plan(examples: Sequence[Example]) -> list[list[int]]:
            if not soon or not examples:
                return [list(range(len(examples)))] if examples else []
            job.engine.begin(self._recipe)
            return batches_of(job.system, examples)

        return work_of(plan, keys, rows, self.journal.content, served, job.retry_failed)

    def answers(self, rows: Kept[Examples], reads: Iterable[Reads], progress: Progress) -> Answers:
        """An output for each row, block by block."""
        answers, postprocess = Answers(rows, reads, keyed=True), self.job.postprocess
        if self.job.system.stored:
            for block in rows.blocks():
                answers.add(block, Outputs.of(self.outputs(block, progress)), postprocess)
            return answers
        made, first = self.outputs(rows, progress), 0
        for block in rows.blocks():
            answers.add(block, Outputs.of(made[first : first + len(block)]), postprocess)
            first += len(block)
        return answers

    def outputs(self, rows: Sequence[Example], progress: Progress) -> Sequence[Output]:
        """An output for each row: from the journal, from the shared cache, or generated now."""
        if self.job.system.stored:
            outputs = self.job.system.generate(rows)
            if isinstance(outputs, Outputs):  # columns, which were checked when they were read
                return outputs
            gate = Gate(f"the system {self.job.system.name}")
            return [_storable(output, gate) for output in outputs]
        work = self.work(rows, soon=True)
        if self.cache is not None and read_manifest(self.job.folder) is None:
            self.cache.put(work.have, self.job.system.name)  # a kill may have come between journal and cache
        return self.generate(work, progress)

    @cached_property
    def _recipe(self) -> Recipe:
        """A replica that answers batches: the system by its spec, with what it found in the data."""
        system = self.job.system
        own = type(system).expand is not System.expand
        options = {"code": code(), "spec": self.job.recipes.get("system"), "state": learnt(system) if own else {}}
        return Recipe("harness.run.replicas.Generating", options, system.stream, noun="batches")

    def _made(self, work: Work, note: Note) -> Iterator[tuple[dict[str, Output], float]]:
        """(outputs by key, the seconds they took), as they come: a batch whole, or in parts."""
        system, engine = self.job.system, self.job.engine
        gate = Gate(f"the system {system.name}")
        batches = work.todo if engine.in_process or not system.apart else _split(work.todo, system.batch_size)
        start = time.perf_counter()
        items = ([work.examples[key] for key in batch] for batch in batches)
        for number, groups in engine.map(self._recipe, items, note):
            batch = batches[number]
            missing = dict.fromkeys(batch)
            for group in groups:
                made = {batch[i]: _storable(output, gate) for i, output in group.items()}
                yield made, time.perf_counter() - start
                start = time.perf_counter()
                for key in made:
                    missing.pop(key)
            if missing:
                ids = [work.examples[key].id for key in missing]
                raise HarnessError(f"the system {system.name} gave no output for {files.some(ids)}; expected one each")

    def generate(self, work: Work, progress: Progress) -> list[Output]:
        """An output for each row of the work; each is in the journal before the next batch is asked for."""
        have, journal, system = work.have, self.journal, self.job.system
        rows = Counter(work.keys)
        with _room(journal):
            if work.cached:
                journal.append(work.cached, None)
            if work.new:
                journal.plan(work.new)
        have.update(work.cached)
        limit = limit_of(self.job.max_failed, len(work.keys))
        failed, tokens, begun = len(work.failed()), 0, time.perf_counter()
        fresh: dict[str, Output] = {}
        cached_at = begun

        def keep() -> None:
            """Puts into the cache what was made since the last time."""
            nonlocal cached_at
            if self.cache is not None:
                self.cache.put(fresh, system.name)
            fresh.clear()
            cached_at = time.perf_counter()

        def check() -> None:
            if limit is not None and failed > limit:
                raise too_many(work.failed(), len(work.keys), self.job)

        check()
        if work.todo:
            with progress("generating", sum(map(len, work.todo))) as step:
                running = ""

                def show(text: str) -> None:
                    nonlocal running
                    running = text
                    step.note(_note(tokens / (time.perf_counter() - begun), failed, running))

                try:
                    for made, seconds in self._made(work, show):
                        with _room(journal):
                            journal.append(made, seconds)
                        fresh |= made
                        if time.perf_counter() - cached_at > CACHED_AFTER:
                            keep()
                        have.update(made)
                        failed += sum(rows[key] for key, output in made.items() if output.error is not None)
                        tokens += sum(output.info.get("output_tokens") or 0 for output in made.values())
                        step.advance(len(made))
                        show(running)
                        check()
                finally:
                    keep()
        return [have[key] for key in work.keys]


def _note(tokens_a_second: float, failed: int, running: str = "") -> str:
    """For the progress bar; `running`: what the engine tells."""
    rate = f"{tokens_a_second:,.0f} tokens/s" if tokens_a_second else ""
    return ", ".join(filter(None, [rate, f"{failed} failed" if failed else "", running]))


def _split(batches: Sequence[Sequence[str]], size: int) -> list[list[str]]:
    """In parts that replicas can share."""
    return [list(batch[first : first + size]) for batch in batches for first in range(0, len(batch), size)]


def _storable(output: Output, gate: Gate) -> Output:
    kept = gate(output)
    if kept.error is None:
        return kept
    error = excerpt(kept.error)  # a server may have sent back the key that it was sent
    return Output(None, error, kept.info, kept.contexts)


@contextmanager
def _room(journal: Journal) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise HarnessError(
            f"{journal.path} cannot be written ({error.strerror or error}); earlier batches are kept in it, "
            "run the same command again when there is room"
        ) from error


# ---------------------------------------------------------------- failures


def limit_of(max_failed: int | float | str | None, n: int) -> int | None:
    """How many of n outputs may fail: a count, a share below 1 or a percentage; None: any number."""
    if max_failed is None:
        return None
    text = str(max_failed).strip()
    if text.isdecimal():
        return int(text)
    try:
        share = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise HarnessError(f"max_failed={max_failed}; expected a count, a share such as 0.05, or one such as 5%")
    return math.floor(share * n + 1e-9)


def too_many(errors: Sequence[str], n: int, job: Job) -> HarnessError:
    """What ends a run of which more outputs fail than may."""
    return HarnessError(
        f"{len(errors)} of {n} outputs failed, the first with: {errors[0]}\n"
        f"max_failed={job.max_failed} allows {limit_of(job.max_failed, n)}. Outputs and errors are kept in "
        f"{job.folder}; once the cause is fixed, only what failed is generated again by\n  {job.again}"
    )


def check_failed(job: Job, result: RunResult) -> None:
    """Ends the command where too many outputs failed; the run folder is there."""
    if not result.failed:
        return
    column = result.columns("error").column("error")
    errors, n = [error for error in column.to_pylist() if error is not None], len(column)
    if len(errors) == n:
        raise HarnessError(
            f"{result.name}: all {n} examples failed, the first with: {errors[0]} "
            f"(outputs and errors are kept in {job.folder})"
        )
    limit = limit_of(job.max_failed, n)
    if limit is not None and len(errors) > limit:
        raise too_many(errors, n, job)


# ---------------------------------------------------------------- facts


def facts(journal: Content, outputs: Iterable[Outputs], price: Mapping[str, float] | None) -> dict[str, Any]:
    """Throughput, latency, tokens and cost for the manifest; None where a system says nothing of it."""
    infos = [info for block in outputs if block.infos is not None for info in block.infos]
    tokens = {side: _total(infos, f"{side}_tokens") for side in ("input", "output")}
    cost = _total(infos, "cost")
    if cost is None and price is not None and tokens["input"] is not None and tokens["output"] is not None:
        cost = cost_of(tokens["input"], tokens["output"], price)
    seconds = [info["seconds"] for info in infos if info.get("seconds") is not None]
    latency = np.percentile(seconds, PERCENTILES) if seconds else [None] * len(PERCENTILES)
    made = journal.generated
    rate = made / journal.seconds if journal.seconds else None
    known = [o.info["output_tokens"] for o in journal.outputs.values() if o.info.get("output_tokens") is not None]
    return {
        "generated": made,
        "cached": journal.cached,
        "seconds": journal.seconds if made else None,
        "outputs_per_second": rate,
        "tokens_per_second": rate * sum(known) / len(known) if rate and known else None,
        "input_tokens": tokens["input"],
        "output_tokens": tokens["output"],
        "cost": cost,
        **{f"latency_p{p}": None if x is None else float(x) for p, x in zip(PERCENTILES, latency, strict=True)},
    }


def _total(infos: Sequence[Mapping[str, Any]], field: str) -> Any:
    known = [info[field] for info in infos if info.get(field) is not None]
    return sum(known) if known else None


def cost_of(input_tokens: float, output_tokens: float, price: Mapping[str, float]) -> float:
    """By a price of a million tokens of each kind."""
    return (input_tokens * price.get("input", 0.0) + output_tokens * price.get("output", 0.0)) / 1e6
