"""`system=trec system.path=bm25.run`: a run of a retriever as TREC has it, query, Q0, document, rank, score and tag.

What was retrieved for each query becomes its contexts: ids and scores without texts, sorted as trec_eval sorts them,
whatever the rank column says. There is no text to score, so the output is empty; a query that the run says nothing of
has an empty list. A run with queries that the data set does not have is refused: it may be of another data set. Where
that is right (not all were judged), `system.unknown=ignore` leaves them out, as trec_eval does.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from harness.inputs import files
from harness.inputs.kept import Kept
from harness.inputs.trec_files import RUN, Table, read_table
from harness.systems.predictions import Index, Predictions
from harness.types import Contexts, HarnessError, Outputs, Texts, check_choice, text_columns
from harness.types.shown import counted
from harness.types.texts import Places

EXPECTED = "a run in TREC's format (system.path)"
UNKNOWN = ("refuse", "ignore")


class TrecRun(Predictions):
    def __init__(self, path: str, unknown: str = "refuse", name: str | None = None) -> None:
        check_choice("system.unknown", unknown, UNKNOWN)
        super().__init__(path, name=name)
        self.unknown = unknown

    def key(self) -> str:
        return files.digest(["trec", files.file_digest(files.existing(self.path, EXPECTED))])

    def align(self, ids: Sequence[str]) -> None:
        texts = Texts.of(ids)
        self._ids, self._next = Index(texts), 0
        self._outputs.close()
        table = read_table(self.path, RUN, EXPECTED).best_first()
        contexts = _contexts(table).taken(self._places(texts, table))
        empty = Texts.of_bytes(b"", np.zeros(len(texts) + 1, np.int64))
        outputs = Outputs(empty, Texts.nulls(len(texts)), None, contexts)
        parts = (outputs[i : i + text_columns.BLOCK] for i in range(0, len(texts), text_columns.BLOCK))
        self._outputs = Kept.of(*parts, folder=self._place)

    def _places(self, ids: Texts, table: Table) -> Places:
        """(n,) where in the run each query of the data set is; after the last where it is not there."""
        place = {query: i for i, query in enumerate(table.queries)}
        strangers = sorted(set(map(str, place)).difference(map(str, ids)))
        if len(strangers) == len(place) or (strangers and self.unknown == "refuse"):
            hint = "" if len(strangers) == len(place) else "; system.unknown=ignore leaves them out"
            raise HarnessError(
                f"{self.path} has {len(strangers)} of {len(place)} queries that the data set does not have "
                f"({files.some(strangers)}); expected some of its {counted(len(ids), 'id')} "
                f"({files.some([str(ids[0])])}, …){hint}"
            )
        return np.array([place.get(id_, len(place)) for id_ in ids], np.int64)


def _contexts(table: Table) -> Contexts:
    """A list for each query of a run, and an empty one after them."""
    starts = np.append(table.starts, table.starts[-1])
    texts = Texts.nulls(len(table.documents))
    return Contexts(table.documents, texts, table.values, starts, np.ones(len(starts) - 1, np.bool_))
