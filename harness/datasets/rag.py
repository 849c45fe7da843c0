"""`dataset=rag dataset.path=eval.jsonl`: questions of a retrieval-augmented system, in the columns of ragas.

| field | column |
| --- | --- |
| `source` | `user_input`, the question |
| `references` | `reference`, the right answer |
| `reference_contexts` | `reference_contexts`, the passages that it is in |
| `relevant` | `reference_context_ids`, their ids |

A row may lack all but the question. What a system answered (`response`, `retrieved_contexts`, `retrieved_context_ids`)
often stands in the same file: it is no part of the data, so that two files with the same questions are the same data.
`system=rag` reads it. Other names go into `dataset.columns`, other columns of answers into `dataset.drop`.
"""

from __future__ import annotations

from harness.datasets.file import FileDataset
from harness.inputs.rows import Columns

RAGAS = {
    "source": "user_input",
    "references": "reference",
    "reference_contexts": "reference_contexts",
    "relevant": "reference_context_ids",
}
ANSWERS = ("response", "retrieved_contexts", "retrieved_context_ids")


class RagDataset(FileDataset):
    def columns_of(self) -> Columns:
        given = {field: name for field, name in (self.columns or {}).items() if name is not None}
        optional = {field for field in RAGAS if field not in given and field != "source"}
        return Columns({**RAGAS, **given}, optional, ANSWERS if self.drop is None else self.drop)
