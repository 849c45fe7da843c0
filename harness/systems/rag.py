"""`system=rag`: the answers of a retrieval-augmented system in ragas' columns, by default of the data's own file.

`response` is the output, `retrieved_contexts` what was retrieved, `retrieved_context_ids` the ids of that. Rows of a
file without ids are numbered, as those of `dataset=rag` are. Other names go into `system.columns`.
"""

from __future__ import annotations

from collections.abc import Collection

from harness.systems.prediction_rows import NAMES, Fields
from harness.systems.predictions import Predictions

RAGAS = {"output": "response", "contexts": "retrieved_contexts", "context_ids": "retrieved_context_ids"}
QUESTION = "user_input"


class Rag(Predictions):
    def fields(self) -> Fields:
        return Fields(self.columns, {**NAMES, **RAGAS}, numbered=True, ignored=())

    def warn_of_unread(self, names: Collection[str]) -> None:
        """Beside the question, other columns are the data's."""
        if QUESTION not in names:
            super().warn_of_unread(names)
