"""The journal: whole batches only, whatever a kill, a full disk or damage left at its end."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from typing import Any

import pytest

from harness.store.journal import Journal
from harness.types import Output

FIRST = {"k1": Output("é\u2028\n\r", None, {"output_tokens": 3}), "k2": Output(None, "timeout")}
SECOND = {"k3": Output("three"), "k4": Output("")}


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    made = Journal(tmp_path / "outputs.jsonl")
    made.plan([["k1", "k2"], ["k3", "k4"]])
    made.append(FIRST, 0.5)
    return made


def again(journal: Journal) -> Journal:
    return Journal(journal.path)


def test_it_remembers(journal: Journal) -> None:
    assert Journal(journal.path.parent / "none").content.outputs == {}
    journal.append(SECOND, None)
    for view in (journal, again(journal)):
        assert view.content.outputs == FIRST | SECOND
        assert view.content.planned == [["k1", "k2"], ["k3", "k4"]]
        assert (view.content.generated, view.content.seconds, view.content.cached) == (2, 0.5, 2)
    journal.append({"k2": Output("second try")}, 0.25)
    assert again(journal).content.outputs["k2"] == Output("second try")


def test_a_batch_is_there_whole_or_not_at_all(journal: Journal) -> None:
    """Cut at every byte: the batch counts with its last byte, and the next append mends the file."""
    before = journal.path.stat().st_size
    journal.append(SECOND, 1.0)
    whole = journal.path.read_bytes()
    for size in range(before, len(whole)):
        journal.path.write_bytes(whole[:size])
        torn = again(journal)
        assert torn.content.outputs == FIRST
        torn.append(SECOND, 1.0)
        assert journal.path.read_bytes() == whole


def test_a_damaged_line_costs_its_output(journal: Journal, caplog: pytest.LogCaptureFixture) -> None:
    lines = journal.path.read_bytes().splitlines(keepends=True)
    assert json.loads(lines[1])["key"] == "k1"
    for damage in (b"damaged\n", b'{"key": 1}\n', b"\xff\r\xfe\n", b"[]\n"):
        journal.path.write_bytes(lines[0] + damage + b"".join(lines[2:]))
        caplog.clear()
        assert again(journal).content.outputs == {"k2": FIRST["k2"]}
        assert "a line that cannot be read; its output is generated again" in caplog.text


def test_a_full_disk(journal: Journal, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of a batch is written when the disk is full; later there is room again."""
    write = os.write

    def full(descriptor: int, content: Any) -> int:
        if len(content) > 40:
            return write(descriptor, content[:40])
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.write", full)
    with pytest.raises(OSError, match="No space left"):
        journal.append(SECOND, 1.0)
    assert again(journal).content.outputs == FIRST
    monkeypatch.setattr("os.write", write)
    journal.append(SECOND, 1.0)
    assert again(journal).content.outputs == FIRST | SECOND


def test_what_is_appended_is_on_disk_before_it_counts(journal: Journal, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []
    fsync = os.fsync
    monkeypatch.setattr("os.fsync", lambda descriptor: (synced.append(os.fstat(descriptor).st_size), fsync(descriptor)))
    journal.append(SECOND, 1.0)
    assert synced == [journal.path.stat().st_size]
