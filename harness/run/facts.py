"""What is known of a run beside its result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harness.run import generation
from harness.run.answers import Answers
from harness.run.generation import Source
from harness.run.manifest import Facts
from harness.run.reading import Data


def facts_of(
    source: Source, data: Data, answers: Answers, keys: Mapping[str, str | None], started: str, earlier: Any
) -> Facts:
    """What is known of the run beside its result; of one that is scored again or merged, what was known then."""
    original, fields = source.job.original(), answers.layout.fields
    if original is not None:
        content, took = original["dataset"].get("content"), original["generation"]
    else:
        content = data.document
        took = generation.facts(source.journal.content, answers.raw(), source.job.system.price)
    return Facts(len(data.examples), content, fields, keys, took, started, earlier)
