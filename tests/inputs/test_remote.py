"""Files that are elsewhere, or compressed: read as if they were here and were not."""

from __future__ import annotations

import bz2
import gzip
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.datasets.file import FileDataset
from harness.inputs.remote import stem_of, suffix_of
from harness.inputs.row_index import RowIndex
from harness.systems.predictions import Predictions
from harness.types import Example, HarnessError

ROWS = '{"id": "1", "source": "a", "references": ["b"]}\n{"id": "2", "source": "c", "references": ["d"]}\n'


@pytest.mark.parametrize(("ending", "squeezed"), [(".gz", gzip.compress), (".bz2", bz2.compress)])
def test_compressed_files_are_read_as_if_they_were_not(
    tmp_path: Path, ending: str, squeezed: Callable[[bytes], bytes]
) -> None:
    (tmp_path / "dev.jsonl").write_text(ROWS)
    (tmp_path / f"dev.jsonl{ending}").write_bytes(squeezed(ROWS.encode()))
    plain, compressed = (FileDataset(str(tmp_path / name)) for name in ("dev.jsonl", f"dev.jsonl{ending}"))
    assert compressed.name == plain.name == "dev"
    assert list(compressed.examples()) == list(plain.examples()) == [
        Example("1", "a", ("b",)), Example("2", "c", ("d",)),
    ]  # fmt: skip
    outputs = 'id,output\n1,x\n2,"y, z"\n'
    (tmp_path / "sys.csv").write_text(outputs)
    (tmp_path / f"sys.csv{ending}").write_bytes(squeezed(outputs.encode()))
    systems = [Predictions(str(tmp_path / name)) for name in ("sys.csv", f"sys.csv{ending}")]
    assert systems[0].key() == systems[1].key()
    for system in systems:
        system.align(["1", "2"])
        assert [output.text for output in system.generate(list(plain.examples()))] == ["x", "y, z"]


def test_what_is_no_such_file_is_said(tmp_path: Path) -> None:
    (tmp_path / "dev.jsonl.gz").write_bytes(b"not compressed at all")
    with pytest.raises(HarnessError, match=r"dev\.jsonl\.gz cannot be read \(.*\); expected a data file"):
        list(FileDataset(str(tmp_path / "dev.jsonl.gz")).examples())
    with pytest.raises(HarnessError, match=r"none\.jsonl\.gz.*expected a data file"):
        list(FileDataset(str(tmp_path / "none.jsonl.gz")).examples())


def test_replicas_do_not_read_what_is_compressed(tmp_path: Path) -> None:
    (tmp_path / "dev.jsonl").write_text(ROWS)
    index = RowIndex(tmp_path / "dev.jsonl", "dev.jsonl.gz")
    assert index.span(0, 2) == "dev.jsonl.gz is compressed, and is read by the driver alone"


def test_names() -> None:
    assert [stem_of(name) for name in ("a/dev.jsonl", "s3://b/dev.v2.jsonl.zst", "dev.csv")] == ["dev", "dev.v2", "dev"]
    assert [suffix_of(name) for name in ("a/dev.JSONL", "s3://b/dev.csv.gz")] == [".jsonl", ".csv"]
