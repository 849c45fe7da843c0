"""`harness run --dry-run`: what a run would do, without doing it. Reads the data and hashes the system; writes nothing.

Tokens are the system's own estimate where it has one, else a quarter of the characters; the output's length is that of
an earlier run of the same system where there is one, else that of the references, and never beyond the system's limit.
Time is that of an earlier run. No model or tokenizer of a model is loaded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.inputs.project import runs_folder
from harness.run import generation
from harness.run.generation import Source
from harness.run.job import Job
from harness.run.runner import prepared
from harness.store.journal import Content
from harness.store.places import stored_runs
from harness.types import Example, Progress

CHARACTERS = 4
"""Of a token, about, in English."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a run would do; None where that cannot be known."""

    name: str
    cell: str | None
    """What it is called among the cells of its sweep."""
    folder: str
    examples: int
    outputs: int
    journal: int
    """Outputs that the run folder has."""
    cached: int
    """Outputs that the shared cache has."""
    generate: int
    input_tokens: int | None
    output_tokens: int | None
    seconds: float | None
    cost: float | None


def estimate(job: Job, progress: Progress) -> Estimate:
    """What `runner.run` would do."""
    data, _ = prepared(job, progress)
    name, folder, examples = job.name, str(job.folder), len(data.examples)
    cell = None if job.cell is None else job.cell["label"]
    if job.system.stored:
        return Estimate(name, cell, folder, examples, len(data.rows), 0, 0, 0, 0, 0, 0.0, None)
    source = Source.of(job, touch=False)
    work = source.work(data.rows)
    todo = [work.examples[key] for batch in work.todo for key in batch]
    earlier = _earlier(source.identity, job.config.get("system"))
    given, output = _tokens(job, todo, earlier)
    rate = _rate(source.journal.content, earlier)
    price = job.system.price
    return Estimate(
        name=name,
        cell=cell,
        folder=folder,
        examples=examples,
        outputs=len(work.examples),
        journal=len(work.have),
        cached=len(work.cached),
        generate=len(todo),
        input_tokens=given,
        output_tokens=output,
        seconds=len(todo) / rate if rate else (None if todo else 0.0),
        cost=None if price is None or output is None else generation.cost_of(given, output, price),
    )


def _earlier(identity: str | None, system: Any) -> Mapping[str, Any]:
    """What the newest run of the same system, or at least the same options, says of its generation."""
    stored = (m for _, m in stored_runs(runs_folder()) if m.get("generation", {}).get("outputs_per_second"))
    runs = sorted(stored, key=lambda m: str(m["ended"]))
    same = [m for m in runs if identity is not None and m["system"]["key"] == identity]
    alike = [m for m in runs if system is not None and m["config"].get("system") == system]
    return ((same or alike)[-1:] or [{"generation": {}}])[0]["generation"]  # type: ignore[no-any-return]


def _rate(journal: Content, earlier: Mapping[str, Any]) -> float | None:
    """Outputs a second."""
    return journal.generated / journal.seconds if journal.seconds else earlier.get("outputs_per_second")


def _tokens(job: Job, todo: Sequence[Example], earlier: Mapping[str, Any]) -> tuple[int, int | None]:
    """(input, output), the latter None where there is nothing to go by."""
    estimated = job.system.estimate(todo) or {}
    characters = 0
    for example in todo:
        seen = job.system.seen(example)
        characters += len(seen if isinstance(seen, str) else example.source or "")
    output = estimated.get("output_tokens")
    if output is None and earlier.get("output_tokens") and earlier.get("generated"):
        output = round(len(todo) * earlier["output_tokens"] / (earlier["generated"] + earlier["cached"]))
    if output is None and all(example.references for example in todo):
        means = (sum(map(len, example.references)) / len(example.references) for example in todo)
        output = round(sum(means) / CHARACTERS)
    if output is not None and job.system.most_tokens is not None:
        output = min(output, len(todo) * job.system.most_tokens)
    return estimated.get("input_tokens", round(characters / CHARACTERS)), output
