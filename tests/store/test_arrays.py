"""The store of arrays returns what was put or nothing: after damage, kills, full disks and eight processes at once."""

from __future__ import annotations

import hashlib
import logging
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from harness.store import arrays
from harness.store.arrays import ArrayStore

HELPERS = """
import hashlib, os, sys
from pathlib import Path
from harness.store.arrays import ArrayStore
def key(name): return hashlib.sha256(str(name).encode()).hexdigest()
def value(name, size): return (hashlib.sha512(str(name).encode()).digest() * (size // 64 + 1))[:size]
path = Path(sys.argv[1])
"""


def key(name: object) -> str:
    return hashlib.sha256(str(name).encode()).hexdigest()


def value(name: object, size: int = 3000) -> bytes:
    """Bytes that no other name has."""
    return (hashlib.sha512(str(name).encode()).digest() * (size // 64 + 1))[:size]


def entries(names: Iterable[object], size: int = 3000) -> dict[str, bytes]:
    return {key(name): value(name, size) for name in names}


def child(code: str, *arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", HELPERS + code, *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def ended(process: subprocess.Popen[str]) -> str:
    """What it printed; its warnings too."""
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    return out + err


def on_disk(path: Path) -> int:
    return sum(p.stat().st_size for p in path.parent.glob(f"{path.name}*"))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "arrays.sqlite"


def test_what_was_put_is_there_for_another_store(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    store = ArrayStore(path)
    assert store.get([key("a")]) == {}
    assert not path.parent.exists(), "the first put makes it"
    items = {**entries(range(1300)), key("empty"): b"", key("one"): b"\0", **entries(["large"], 1_000_000)}
    store.put(items)
    assert ArrayStore(path).get([*items, key("missing"), key(7)]) == items
    assert store.get([]) == {}
    store.put({key(7): b"other"})
    assert store.get([key(7)]) == {key(7): value(7)}, "the first stays: a key has one value"
    assert [p.name for p in path.parent.iterdir() if p.stat().st_size] == [path.name]
    assert not caplog.records


def test_a_damaged_entry_is_dropped_and_can_be_put_again(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    items = entries(range(20))
    store = ArrayStore(path)
    store.put(items)
    content = path.read_bytes()
    for name in (3, 5):
        content = content.replace(value(name)[:100], value("damaged")[:100])
    path.write_bytes(content)
    intact = {k: v for k, v in items.items() if k not in (key(3), key(5))}
    assert store.get(list(items)) == intact
    assert store.get(list(items)) == intact
    assert [r.getMessage() for r in caplog.records] == [f"{path}: 2 damaged entries dropped, to be computed again"]
    store.put(entries([3, 5]))
    assert store.get(list(items)) == items


def test_a_value_under_a_wrong_key_is_found_out(path: Path) -> None:
    store = ArrayStore(path)
    store.put(entries("abc"))
    with sqlite3.connect(path) as connection:
        first, second, _ = (row[0] for row in connection.execute("select id from entries order by id"))
        connection.execute("update entries set id = ? - id where id in (?, ?)", (first + second, first, second))
    connection.close()
    assert store.get([key(k) for k in "abc"]) == entries("c")


def test_any_byte_of_the_file_may_be_wrong(path: Path) -> None:
    """Whatever is damaged, nothing raises and what is returned is what was put; eviction included."""
    items = {**entries(range(40), 200), **entries(range(40, 60)), **entries(range(60, 64), 30_000)}
    ArrayStore(path).put(items)
    good = path.read_bytes()
    more = entries(range(100, 130), 10_000)
    chance = random.Random(5)
    places = [i for i in range(len(good)) if good[i] and (i % 16384 < 200 or i < 40_000)]  # headers, keys, structure
    for case in range(50):
        content = bytearray(good)
        for place in chance.sample(places, 1 + case % 3):
            content[place] = chance.randrange(256)
        path.write_bytes(content)
        store = ArrayStore(path, 400_000)
        assert store.get(list(items)).items() <= items.items()
        store.put(items)
        store.put(more)
        assert store.get([*items, *more]).items() <= (items | more).items()


def test_the_file_is_bounded_and_the_newest_stay(path: Path) -> None:
    limit = 4 << 20
    store = ArrayStore(path, limit)
    chance = random.Random(1)
    everything: dict[str, bytes] = {}
    for batch in range(60):
        items = {key((batch, i)): value((batch, i), chance.choice((100, 3000, 27_000, 200_000))) for i in range(12)}
        store.put(items)
        everything |= items
        assert store.get(list(items)) == items
        assert on_disk(path) < limit * 1.2
    kept = store.get(list(everything))
    assert kept.items() <= everything.items()
    assert limit * 0.6 < sum(map(len, kept.values())) < limit
    last = list(everything)[-len(kept) :]
    assert set(kept) == set(last), "those put first went first"


def test_one_put_above_the_limit_and_one_value_above_it(path: Path) -> None:
    limit = 2 << 20
    store = ArrayStore(path, limit)
    store.put({**entries(["huge"], 3 << 20), **entries(range(300), 20_000)})
    assert on_disk(path) < limit * 1.2
    kept = store.get([key(i) for i in ["huge", *range(300)]])
    assert set(kept) == {key(i) for i in range(300 - len(kept), 300)}
    assert len(kept) * 20_000 > limit * 0.6


def test_what_was_used_lately_stays(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [1_000_000.0]
    monkeypatch.setattr("harness.store.arrays.time.time", lambda: clock[0])
    store = ArrayStore(path, 4 << 20)
    store.put(entries(range(100), 30_000))
    clock[0] += 2 * arrays.FRESH
    references = [key(i) for i in range(0, 100, 10)]
    assert len(store.get(references)) == 10
    clock[0] += 2 * arrays.FRESH
    store.put(entries(range(100, 180), 30_000))
    assert len(store.get(references)) == 10
    assert len(store.get([key(i) for i in range(100)])) < 50
    assert len(store.get([key(i) for i in range(100, 180)])) == 80


def test_a_lower_limit_shrinks_the_file(path: Path) -> None:
    ArrayStore(path).put(entries(range(400), 20_000))
    assert on_disk(path) > 8_000_000
    ArrayStore(path, 2 << 20).put(entries(["new"]))
    assert on_disk(path) < 1.2 * (2 << 20)
    kept = ArrayStore(path).get([key(i) for i in [*range(400), "new"]])
    assert kept.items() <= (entries(range(400), 20_000) | entries(["new"])).items()
    assert len(kept) > 60


@pytest.mark.slow
@pytest.mark.parametrize("before", [None, b"", b"this is no database" * 5000])
def test_eight_processes_at_once(path: Path, before: bytes | None) -> None:
    """Each puts its own entries and shared ones while reading; all are there at the end."""
    if before is not None:
        path.parent.mkdir()
        path.write_bytes(before)
    code = """
store = ArrayStore(path)
print("ready", flush=True); sys.stdin.readline()
for i in range(20):
    mine = {key((sys.argv[2], i, j)): value((sys.argv[2], i, j), 27_000) for j in range(5)}
    store.put({**mine, key(i): value(i, 27_000)})
    values = store.get([*mine, key(i), *(key((str(w), i, 0)) for w in range(8))])
    assert mine.items() <= values.items() and values[key(i)] == value(i, 27_000)
"""
    command = [sys.executable, "-c", HELPERS + code, str(path)]
    pipe = subprocess.PIPE
    workers = [subprocess.Popen([*command, str(w)], stdin=pipe, stdout=pipe, stderr=pipe, text=True) for w in range(8)]
    for worker in workers:
        assert worker.stdout is not None
        assert worker.stdout.readline() == "ready\n"
    errors = []
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.write("go\n")
        worker.stdin.flush()
    for worker in workers:
        errors.append(worker.communicate(timeout=120)[1])
        assert worker.returncode == 0, errors[-1]
    names: list[object] = [(str(w), i, j) for w in range(8) for i in range(20) for j in range(5)]
    expected = entries([*names, *range(20)], 27_000)
    assert ArrayStore(path).get(list(expected)) == expected
    warned = [line for error in errors for line in error.splitlines()]
    if before:
        assert all("is broken" in line for line in warned)
        assert 1 <= len(warned) <= 8
        assert Path(f"{path}.broken").read_bytes() == before
    else:
        assert warned == []


@pytest.mark.slow
def test_a_kill_in_the_middle_of_a_put(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    code = """
store = ArrayStore(path, 30 << 20)
for i in range(int(sys.argv[2]), 10**9):
    store.put({key((i, j)): value((i, j), 27_000) for j in range(200)})
    print(i, flush=True)
"""
    done = 0
    for moment in range(8):
        process = child(code, path, done)
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(0.013 * moment)
        process.send_signal(signal.SIGKILL)
        rest = process.communicate()[0].split()
        last = int(rest[-1]) if rest else done
        names: list[object] = [(i, j) for i in range(max(0, last - 8), last + 2) for j in range(200)]
        expected = entries(names, 27_000)
        store = ArrayStore(path)
        values = store.get(list(expected))
        assert values.items() <= expected.items()
        assert entries([(last, j) for j in range(200)], 27_000).items() <= values.items()
        store.put(entries([moment]))
        assert store.get([key(moment)]) == entries([moment])
        done = last + 2
    connection = sqlite3.connect(path)
    assert connection.execute("pragma integrity_check").fetchall() == [("ok",)]
    connection.close()
    assert not caplog.records


def no_database(path: Path) -> None:
    path.write_bytes(random.Random(3).randbytes(100_000))


def truncated(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2 - 777)


def header_only(path: Path) -> None:
    os.truncate(path, 100)


def middle_overwritten(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[16384 : 4 * 16384] = b"\xff" * (3 * 16384)
    path.write_bytes(content)


def other_tables(path: Path) -> None:
    path.unlink()
    connection = sqlite3.connect(path)
    connection.execute("create table entries (something)")
    connection.close()


@pytest.mark.parametrize("harm", [no_database, truncated, header_only, middle_overwritten, other_tables])
@pytest.mark.parametrize("first", ["get", "put"])
def test_a_broken_file_is_set_aside(
    path: Path, caplog: pytest.LogCaptureFixture, harm: Callable[[Path], None], first: str
) -> None:
    items = entries(range(100))
    ArrayStore(path).put(items)
    harm(path)
    broken = path.read_bytes()
    store = ArrayStore(path)
    if first == "get":
        assert store.get(list(items)).items() <= items.items()
    store.put(items)
    assert store.get(list(items)) == items
    assert [r.levelno for r in caplog.records] == [logging.WARNING]
    assert "is broken" in caplog.text
    assert Path(f"{path}.broken").read_bytes() == broken


def test_zero_bytes_are_an_empty_store(path: Path) -> None:
    path.parent.mkdir()
    path.touch()
    store = ArrayStore(path)
    assert store.get([key("a")]) == {}
    store.put(entries("a"))
    assert store.get([key("a")]) == entries("a")


def test_the_journal_of_a_broken_file_is_not_rolled_back(path: Path) -> None:
    ArrayStore(path).put(entries("a"))
    path.write_bytes(b"no database" * 9999)
    Path(f"{path}-journal").write_bytes(bytes.fromhex("d9d505f920a163d7") + bytes(5000))
    store = ArrayStore(path)
    store.put(entries("b"))
    assert store.get([key("a"), key("b")]) == entries("b")


def test_a_locked_store_costs_a_warning(
    path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arrays, "WAIT", 0.2)
    store = ArrayStore(path)
    store.put(entries("a"))
    holder = child(
        """
import sqlite3
connection = sqlite3.connect(path, isolation_level=None)
connection.execute("begin exclusive")
print("held", flush=True)
import time
time.sleep(60)
""",
        path,
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    holder.kill()
    holder.communicate()
    assert store.get([key("a")]) == entries("a"), "a lock dies with its process"
    with sqlite3.connect(path, isolation_level=None) as connection:
        connection.execute("begin exclusive")
        for name in "bcd":
            store.put(entries(name))
            assert store.get([key("a")]) == {}
        connection.execute("rollback")
    connection.close()
    assert [r.getMessage() for r in caplog.records] == [
        f"the cache {path} cannot be {verb} (database is locked); going on without it" for verb in ("written", "read")
    ]
    store.put(entries("b"))
    assert store.get([key("a"), key("b"), key("c")]) == entries("ab"), "it goes on once the lock is gone"


def test_a_full_disk_costs_a_warning(path: Path) -> None:
    code = """
import resource
store = ArrayStore(path)
store.put({key("a"): value("a", 50_000)})
resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000))
for name in range(3):
    store.put({key((name, i)): value((name, i), 50_000) for i in range(100)})
assert store.get([key("a"), key((0, 0))]) == {key("a"): value("a", 50_000)}
store.put({key("b"): b"small"})
assert store.get([key("b")]) == {key("b"): b"small"}
"""
    said = ended(child(code, path)).splitlines()
    assert len(said) == 1
    assert "cannot be written" in said[0]
    assert ArrayStore(path).get([key("a"), key("b")]) == {**entries("a", 50_000), key("b"): b"small"}


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_a_read_only_folder_can_be_read() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "arrays.sqlite"
        ArrayStore(path).put(entries("a"))
        os.utime(path, (0, 0))
        path.chmod(0o444)
        os.chmod(folder, 0o555)
        code = """
from harness.store import arrays
arrays.FRESH = -10
if os.geteuid() == 0: os.setuid(65534)
store = ArrayStore(path)
for _ in range(2):
    assert store.get([key("a")]) == {key("a"): value("a", 3000)}
    store.put({key("b"): b"small"})
assert store.get([key("b")]) == {}
"""
        said = ended(child(code, path)).splitlines()
        os.chmod(folder, 0o755)
    assert len(said) == 1
    assert "cannot be written (attempt to write a readonly database)" in said[0]


def test_a_place_that_cannot_be(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").write_text("text")
    for path in (tmp_path / "file" / "arrays.sqlite", tmp_path):
        store = ArrayStore(path)
        for _ in range(2):
            store.put(entries("a"))
        assert store.get([key("a")]) == {}
    assert (tmp_path / "file").read_text() == "text"
    assert caplog.text.count("cannot be written") == 2


def test_a_store_that_is_deleted_meanwhile(path: Path) -> None:
    store = ArrayStore(path)
    store.put(entries("a"))
    shutil.rmtree(path.parent)
    assert store.get([key("a")]) == {}
    store.put(entries("b"))
    assert store.get([key("a"), key("b")]) == entries("b")


def test_a_file_system_without_locks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """As Lustre without flock has it: SQLite cannot lock, and neither can anyone else."""
    import errno
    import fcntl

    store = ArrayStore(tmp_path / "store.sqlite")
    attempts = []

    def refused(*_: object) -> None:
        attempts.append(1)
        raise sqlite3.OperationalError("disk I/O error")

    def lockf(*_: object) -> None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))

    monkeypatch.setattr(store, "_connect", refused)
    monkeypatch.setattr(fcntl, "lockf", lockf)
    for _ in range(3):
        store.put({"a": b"1"})
    assert len(attempts) == 1
    (message,) = caplog.messages
    assert "is on a file system without locks" in message and "cache=none" in message and "local disk" in message
