"""The shared cache of outputs: several processes at once, a bound on its size, pruning, damage."""

from __future__ import annotations

import multiprocessing
import os
import time
from pathlib import Path

import pytest

from harness.store.outputs import OutputCache
from harness.types import Output


@pytest.fixture
def cache(tmp_path: Path) -> OutputCache:
    return OutputCache(tmp_path / "deep" / "outputs.sqlite")


def age(cache: OutputCache, key: str, days: float) -> None:
    """Makes an entry look unused for so long."""
    moment = int(time.time() - days * 86_400)
    cache.store.use("written", lambda c: c.execute("update entries set used = ? where key = ?", (moment, key.encode())))  # type: ignore[arg-type,return-value]


def test_text_and_info_are_kept_failures_are_not(cache: OutputCache) -> None:
    assert cache.get(["a"]) == {}
    cache.put({"f": Output(None, "refused")}, "x")
    assert not cache.store.path.exists()
    outputs = {"a": Output("é\n", None, {"finish": "length", "seconds": 0.5}), "b": Output("")}
    cache.put({**outputs, "c": Output(None, "refused")}, "x")
    assert cache.get(["a", "b", "c", "d"]) == outputs
    cache.put({"a": Output("another")}, "x")
    assert cache.get(["a"]) == {"a": outputs["a"]}  # same key, same output: the first stays


def fill(path: Path, worker: int) -> None:
    cache = OutputCache(path)
    for i in range(20):
        cache.put({f"shared {i}": Output("same"), f"{worker} {i}": Output(f"of {worker}")}, f"system {worker}")
        assert cache.get([f"{worker} {i}"])


def test_eight_processes_at_once(cache: OutputCache) -> None:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["harness.store.outputs"])
    workers = [context.Process(target=fill, args=(cache.store.path, i)) for i in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0] * 8
    own = {f"{w} {i}": Output(f"of {w}") for w in range(8) for i in range(20)}
    shared = {f"shared {i}": Output("same") for i in range(20)}
    assert cache.get([*own, *shared, "missing"]) == own | shared
    assert cache.store.usage().entries == 180


def test_it_stays_below_its_limit_and_drops_what_was_not_used(tmp_path: Path) -> None:
    limit = 2_000_000
    cache = OutputCache(tmp_path / "outputs.sqlite", limit)
    cache.put({"kept": Output("k" * 1000), "old": Output("o" * 1000)}, "x")
    age(cache, "kept", 9)
    age(cache, "old", 8)
    assert cache.get(["kept"])  # is recent by this
    for i in range(60):
        cache.put({f"{i}": Output(os.urandom(40_000).hex())}, "x")
        age(cache, f"{i}", 5 - i / 60)
        assert cache.store.path.stat().st_size <= limit * 1.05
    assert set(cache.get(["kept", "old", "59"])) == {"kept", "59"}


def test_reading_without_touching_writes_nothing(cache: OutputCache) -> None:
    cache.put({"a": Output("text")}, "x")
    age(cache, "a", 9)
    before = cache.store.path.read_bytes()
    assert OutputCache(cache.store.path, touch=False).get(["a"])
    assert cache.store.path.read_bytes() == before
    assert cache.get(["a"])
    assert cache.store.path.read_bytes() != before


def test_usage_and_pruning(cache: OutputCache) -> None:
    assert cache.store.usage().entries == 0
    assert cache.by_system() == {}
    assert cache.store.prune(0) == 0
    cache.put({f"a{i}": Output("x" * 10_000) for i in range(9)}, "large")
    cache.put({"b": Output("y")}, "small")
    age(cache, "a0", 40)
    age(cache, "a1", 3)
    usage = cache.by_system()
    assert list(usage) == ["large", "small"]
    assert (usage["large"].entries, usage["small"].entries) == (9, 1)
    assert 90_000 < usage["large"].size < 91_000
    assert cache.store.usage().size == usage["large"].size + usage["small"].size
    size = cache.store.path.stat().st_size
    assert cache.store.prune(unused_since=time.time() - 30 * 86_400) == 1
    assert cache.store.prune(75_000) == 1  # the least recently used of what is left
    assert cache.get(["a0", "a1"]) == {}
    assert cache.store.usage().entries == 8
    assert cache.store.path.stat().st_size < size
    assert cache.store.prune(0) == 8
    assert cache.store.usage().entries == 0


def test_a_broken_cache_costs_a_warning(cache: OutputCache, caplog: pytest.LogCaptureFixture) -> None:
    cache.store.path.parent.mkdir()
    cache.store.path.write_bytes(b"this is no database" * 100)
    cache.put({"a": Output("b")}, "x")
    assert "is broken" in caplog.text
    assert cache.get(["a"]) == {"a": Output("b")}
    assert cache.store.path.with_name("outputs.sqlite.broken").exists()
