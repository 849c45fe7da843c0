"""`system=rag`: the answers of a retrieval-augmented system in ragas' columns, by default of the data's own file.

`response` is the output, `retrieved_contexts` what was retrieved, `retrieved_context_ids` the ids of that. Rows of a
file without ids are numbered, as those of `dataset=rag` are. Other names go into `system.columns`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from harness.systems.prediction_rows import NAMES, Fields
from harness.systems.predictions import Predictions
from harness.types import HarnessError

RAGAS = {"output": "response", "contexts": "retrieved_contexts", "context_ids": "retrieved_context_ids"}
QUESTION = "user_input"


class Rag(Predictions):
    def __init__(
        self,
        path: str | None = None,
        quoting: bool = True,
        columns: Mapping[str, Any] | None = None,
        name: str | None = None,
    ) -> None:
        """`path`: None where neither the user nor the data set has named a file, which is an error once it is read."""
        super().__init__(path or "", quoting, columns, name or ("rag" if path is None else None))

    def align(self, ids: Sequence[str]) -> None:
        if self.path == Path():
            raise HarnessError("system.path is not set and the data set has no path; expected a file of answers")
        super().align(ids)

    def fields(self) -> Fields:
        return Fields(self.columns, {**NAMES, **RAGAS}, numbered=True, ignored=())

    def warn_of_unread(self, names: Collection[str]) -> None:
        """Beside the question, other columns are the data's."""
        if QUESTION not in names:
            super().warn_of_unread(names)
