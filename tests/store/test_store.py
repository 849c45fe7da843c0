"""Files are replaced whole, the journal survives a torn line, the cache survives several processes."""

from __future__ import annotations

import multiprocessing
import subprocess
import sys
import time
from pathlib import Path

import pytest

from harness.store import atomic, folder
from harness.store.cache import SqliteCache
from harness.store.journal import Journal
from harness.types import HarnessError, Output


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


def test_journal_remembers_and_drops_a_torn_line(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "outputs.jsonl")
    assert journal.read() == {}
    journal.append({"k1": Output("é\u2028\n"), "k2": Output(None, "timeout")})
    with open(journal.path, "ab") as handle:
        handle.write(b'{"key": "k3", "te')
    assert journal.read() == {"k1": Output("é\u2028\n"), "k2": Output(None, "timeout")}
    journal.append({"k2": Output("second try")})
    assert journal.read() == {"k1": Output("é\u2028\n"), "k2": Output("second try")}
    journal.path.write_bytes(b"damaged\n" + journal.path.read_bytes())
    assert Journal(journal.path).read() == {"k1": Output("é\u2028\n"), "k2": Output("second try")}


def fill(path: Path, worker: int) -> None:
    cache = SqliteCache(path)
    for i in range(20):
        cache.put({f"shared {i}": "same", f"{worker} {i}": "own"})


def test_cache_with_several_processes(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "cache.sqlite"
    assert SqliteCache(path).get(["x"]) == {}
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=fill, args=(path, i)) for i in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0] * 4
    keys = [f"{w} {i}" for w in ["shared", 0, 1, 2, 3] for i in range(20)]
    assert len(SqliteCache(path).get([*keys, "missing"])) == 100


def test_a_broken_cache_costs_a_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "cache.sqlite"
    path.write_bytes(b"this is no database" * 100)
    cache = SqliteCache(path)
    cache.put({"a": "b"})
    assert cache.get(["a"]) == {}
    assert "cannot be written" in caplog.text
    assert "cannot be read" in caplog.text


def test_leftovers_of_a_kill_are_removed(tmp_path: Path) -> None:
    (tmp_path / ".scores.json.x1.tmp").write_text("half")
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


def test_reading_what_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(HarnessError, match=r"is not a finished run \(no scores.json, examples.parquet"):
        folder.read(tmp_path, lambda target, options: None)
