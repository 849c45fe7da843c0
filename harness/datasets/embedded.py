"""`dataset=embedded`: the data set that comes with the package (120 documents, two summaries each).

Its card, which says how it was made, is beside it: harness/data/README.md.
"""

from __future__ import annotations

from importlib.resources import files
from typing import ClassVar

from harness.datasets.file import FileDataset


class EmbeddedDataset(FileDataset):
    called: ClassVar[str] = "embedded"
    file: ClassVar[str] = "briefs.jsonl"
    """In harness/data/."""

    def __init__(self, cluster: str | None = "thread") -> None:
        super().__init__(str(files("harness") / "data" / self.file), cluster=cluster)
        self.name = self.called
