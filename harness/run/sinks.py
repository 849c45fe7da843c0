"""Where the blocks of a result go: into the run folder, or nowhere but memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from harness.run.answers import Answered, Answers
from harness.run.job import Job
from harness.run.scoring import Scorer, Table
from harness.run.sharding import rows_of_shards
from harness.store.example_table import example_scores, read_examples
from harness.store.folder import StoredRows, read_rows, stored_rows
from harness.store.writing import Writer, described, statistics_table
from harness.types import Rows

if TYPE_CHECKING:
    import pyarrow as pa


class InMemory:
    """Keeps the rows; the table of examples is made when somebody looks at it."""

    def __init__(self, scorer: Scorer, answers: Answers) -> None:
        self.reusable: Mapping[str, StoredRows] = {}
        self._scorer, self._answers = scorer, answers
        self._rows: dict[str, list[Rows]] = {name: [] for name in scorer.metrics}

    def add(self, block: Answered, rows: Table) -> None:
        for name, part in rows.items():
            self._rows[name].append(part)

    def rows(self, name: str) -> Callable[[], Rows]:
        return lambda: Rows.joined(*self._rows[name])

    def table(self) -> Callable[[], pa.Table]:
        return self._table

    def _table(self) -> pa.Table:
        import pyarrow as pa

        parts = []
        for i, block in enumerate(self._answers.blocks()):
            rows = {name: blocks[i] for name, blocks in self._rows.items()}
            scores = example_scores(self._scorer.metrics, rows)
            parts.append(self._answers.layout.table(block.rows, block.raw, block.processed, scores))
        return pa.concat_tables(parts).combine_chunks()


class InFolder:
    """Writes each block to the files of a run; they are read again when somebody looks at them."""

    def __init__(self, writer: Writer, scorer: Scorer, answers: Answers, job: Job) -> None:
        """Rows that an earlier run has, of this folder or of the one that is scored again, are reused."""
        self.reusable: Mapping[str, StoredRows] = {
            **(stored_rows(job.source) if job.source else {}),
            **(rows_of_shards(job.shards, scorer, answers) if job.shards else {}),
            **stored_rows(job.folder),
        }
        self._writer, self._scorer, self._layout = writer, scorer, answers.layout
        self._memory = InMemory(scorer, answers) if job.stats.slices else None
        """Slices are scored before the files are in their place."""
        self._head = {}
        for name, metric in scorer.metrics.items():
            key = scorer.key(name, answers)
            signature = scorer.signature(name, self.reusable.get(key))
            self._head[name] = described(metric, signature, key, job.specs[name])

    def add(self, block: Answered, rows: Table) -> None:
        scores = example_scores(self._scorer.metrics, rows)
        examples = self._layout.table(block.rows, block.raw, block.processed, scores)
        self._writer.add(examples, statistics_table(self._scorer.metrics, rows, self._head))
        if self._memory is not None:
            self._memory.add(block, rows)

    def rows(self, name: str) -> Callable[[], Rows]:
        if self._memory is not None:
            return self._memory.rows(name)
        folder: Path = self._writer.folder
        return lambda: read_rows(folder, name)

    def table(self) -> Callable[[], pa.Table]:
        if self._memory is not None:
            return self._memory.table()
        folder: Path = self._writer.folder
        return lambda: read_examples(folder)
