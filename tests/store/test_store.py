"""Files are replaced whole; a folder has one writer."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from harness.store import atomic, finished, folder
from harness.store.arrays import ArrayStore
from harness.types import HarnessError


def test_a_kill_leaves_the_old_file_or_the_new_one(tmp_path: Path) -> None:
    """A process that rewrites a file over and over is killed at five moments; the file is always one of the two."""
    path = tmp_path / "file"
    code = (
        "import sys; from pathlib import Path; from harness.store import atomic\n"
        "while True:\n"
        "    for letter in (b'a', b'b'): atomic.write(Path(sys.argv[1]), letter * 3_000_000)\n"
    )
    for moment in range(5):
        process = subprocess.Popen([sys.executable, "-c", code, str(path)])
        while not path.exists():
            time.sleep(0.01)
        time.sleep(0.05 + 0.03 * moment)
        process.kill()
        process.wait()
        content = path.read_bytes()
        assert content in (b"a" * 3_000_000, b"b" * 3_000_000)


def test_a_failed_write_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    atomic.write(tmp_path / "file", b"old")

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space left"):
        atomic.write(tmp_path / "file", b"new")
    assert [p.name for p in tmp_path.iterdir()] == ["file"]
    assert (tmp_path / "file").read_bytes() == b"old"


def test_leftovers_of_a_kill_are_removed(tmp_path: Path) -> None:
    (tmp_path / ".scores.json.x1.harness-unfinished").write_text("half")
    with folder.opened(tmp_path):
        assert sorted(p.name for p in tmp_path.iterdir()) == [".lock"]


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(HarnessError, match=r"file/run cannot be written .*expected a writable folder"):
        with folder.opened(tmp_path / "file" / "run"):
            pass


def test_one_writer_a_folder(tmp_path: Path) -> None:
    with folder.opened(tmp_path / "run"), pytest.raises(HarnessError, match="another process is writing"):
        with folder.opened(tmp_path / "run"):
            pass
    with folder.opened(tmp_path / "run"):
        assert (tmp_path / "run").is_dir()


def test_a_file_system_without_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fcntl.flock", without_locks)
    message = r"run is on a file system without locks \(No locks available\); expected one that can keep two processes"
    with pytest.raises(HarnessError, match=message), folder.opened(tmp_path / "run"):
        pass


def test_a_broken_cache_where_there_are_no_locks_is_done_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "cache.sqlite").write_bytes(b"this is no database" * 100)
    monkeypatch.setattr("fcntl.flock", without_locks)
    ArrayStore(tmp_path / "cache.sqlite").put({"key": b"value"})
    assert "No locks available" in caplog.text and "going on without it" in caplog.text


def without_locks(descriptor: int, operation: int) -> None:
    raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))


def test_reading_what_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(HarnessError, match=r"is not a finished run \(no scores.json, examples.parquet"):
        finished.read(tmp_path, lambda target, options: None)
