"""`dataset=questions`: 24 questions in English and Portuguese about the passages in harness/data/ (`system=bm25`)."""

from __future__ import annotations

from harness.datasets.embedded import EmbeddedDataset


class Questions(EmbeddedDataset):
    called, file = "questions", "questions.jsonl"

    def __init__(self, cluster: str | None = None) -> None:
        super().__init__(cluster)
