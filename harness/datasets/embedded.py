"""`dataset=embedded`: the data set that comes with the package (120 documents, two summaries each).

`dataset=questions`: another, 24 questions in English and Portuguese about the passages beside it.

Their card, which says how they were made, is beside them: harness/data/README.md.
"""

from __future__ import annotations

from importlib.resources import files

from harness.datasets.file import FileDataset
from harness.types import check_choice

NAMES = {"briefs": "embedded", "questions": "questions"}
"""Of each file, what its data set is called."""


class EmbeddedDataset(FileDataset):
    def __init__(self, cluster: str | None = "thread", file: str = "briefs") -> None:
        check_choice("dataset.file", file, tuple(NAMES))
        super().__init__(str(files("harness") / "data" / f"{file}.jsonl"), cluster=cluster)
        self.name = NAMES[file]
