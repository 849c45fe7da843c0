"""Tables written block by block: row groups, types, and what is left behind when something goes wrong."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from harness.metrics.bleu import Bleu
from harness.metrics.distinct import Distinct
from harness.store.writing import AHEAD, EXAMPLES, STATISTICS, Writer, described, statistics_table
from harness.types import Batch, HarnessError, Rows, Signature, Texts

METRICS = {"bleu": Bleu(), "distinct": Distinct()}
HEAD = {name: described(metric, Signature({}, {}), "key", {"_target_": "x"}) for name, metric in METRICS.items()}


def block(*outputs: str) -> tuple[pa.Table, pa.Table]:
    batch = Batch(list(outputs), [["a b c"]] * len(outputs))
    rows = {name: Rows.of(metric.statistics(batch)) for name, metric in METRICS.items()}
    rows["bleu"].values[0] = np.nan
    return pa.table({"id": Texts.of(outputs).array}), statistics_table(METRICS, rows, HEAD)


def test_a_block_is_a_row_group_and_counts_are_whole_numbers(tmp_path: Path) -> None:
    with Writer(tmp_path) as writer:
        writer.add(*block("a b", "c"))
        writer.add(*block("a b c"))
        digests = writer.digests()
        assert sorted(digests) == [EXAMPLES, STATISTICS]
        writer.replace()
    assert sorted(path.name for path in tmp_path.iterdir()) == [EXAMPLES, STATISTICS]
    with pq.ParquetFile(tmp_path / STATISTICS) as file:
        assert [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)] == [2, 1]
        table = file.read()
    assert table.column("bleu:sys_len").to_pylist() == [None, 1, None]
    assert {str(table.schema.field(f"bleu:{column}").type) for column in Bleu().columns} == {"int64"}


def test_nothing_is_left_of_what_was_not_finished(tmp_path: Path) -> None:
    (tmp_path / EXAMPLES).write_text("earlier")

    def interrupted() -> None:
        with Writer(tmp_path) as writer:
            writer.add(*block("a"))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert [path.name for path in tmp_path.iterdir()] == [EXAMPLES]
    assert (tmp_path / EXAMPLES).read_text() == "earlier"


def test_nothing_is_left_on_a_full_disk_and_the_message_names_the_folder(tmp_path: Path) -> None:
    """Files of this process cannot grow beyond a limit, which the last bytes in a buffer meet only when it is closed."""
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    tables = block("a b", "c")

    def written() -> None:
        with Writer(tmp_path) as writer:
            writer.add(*tables)
            writer.digests()

    resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))
    try:
        with pytest.raises(HarnessError, match=f"the run folder {tmp_path} cannot be written"):
            written()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert list(tmp_path.iterdir()) == []


def test_texts_wider_than_the_first_block_s_are_written_alike(tmp_path: Path) -> None:
    """A block of more than two gigabytes has other offsets; it goes into the same column."""
    with Writer(tmp_path) as writer:
        examples, statistics = block("a", "b")
        writer.add(examples, statistics)
        writer.add(examples.cast(pa.schema([("id", pa.large_string())])), statistics)
        writer.digests()
        writer.replace()
    assert pq.ParquetFile(tmp_path / EXAMPLES).read().column("id").to_pylist() == ["a", "b", "a", "b"]


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    with Writer(tmp_path / "none") as writer:
        writer.add(*block("a"))
        with pytest.raises(HarnessError, match=r"cannot be written .*run the same command again when there is room"):
            writer.digests()


def test_what_cannot_be_written_is_told_before_much_more_is_computed(tmp_path: Path) -> None:
    with Writer(tmp_path / "none") as writer:
        for _ in range(AHEAD):
            writer.add(*block("a"))
        with pytest.raises(HarnessError, match="cannot be written"):
            writer.add(*block("a"))
