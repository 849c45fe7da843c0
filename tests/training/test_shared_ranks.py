"""Ranks that generate together: the same outputs as one alone, and no rank that waits for one that failed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.training import shared_ranks as ranks
from harness.types import HarnessError, Output
from tests.systems import tiny

SCRIPT = Path(__file__).parent / "two_ranks.py"
HERE = threading.local()


@pytest.fixture
def two(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], Any]], list[Any]]:
    """Calls something on two threads that take themselves for ranks; what each gives, or its error."""
    import torch.distributed as distributed

    barrier, given = threading.Barrier(2, timeout=30), {}

    def gather(parts: list[Any], own: Any) -> None:
        given[HERE.rank] = own
        barrier.wait()
        parts[:] = [given[0], given[1]]
        barrier.wait()

    monkeypatch.setattr(ranks, "world", lambda: (HERE.rank, 2))
    monkeypatch.setattr(distributed, "all_gather_object", gather)

    def call(work: Callable[[], Any]) -> list[Any]:
        results: list[Any] = [None, None]

        def as_rank(rank: int) -> None:
            HERE.rank = rank
            try:
                results[rank] = work()
            except Exception as error:
                results[rank] = error

        threads = [threading.Thread(target=as_rank, args=(rank,)) for rank in (0, 1)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        return results

    return call


def test_batches_are_shared_and_all_ranks_get_all(two: Callable[..., list[Any]]) -> None:
    made: dict[int, list[list[int]]] = {0: [], 1: []}

    def generate(batch: Any) -> list[Output]:
        made[HERE.rank].append(list(batch))
        return [Output(f"output {i}") for i in batch]

    batches = [[4, 2], [0], [1, 3]]
    first, second = two(lambda: ranks.shared(6, batches, generate))
    assert made == {0: [[4, 2], [1, 3]], 1: [[0]]}
    assert first == second == [*(Output(f"output {i}") for i in range(5)), Output(None, "not generated")]


def test_a_rank_that_fails_fails_all(two: Callable[..., list[Any]]) -> None:
    def work() -> int:
        if HERE.rank == 1:
            raise ValueError("no room")
        return 7

    first, second = two(lambda: ranks.together(work))
    assert isinstance(first, HarnessError)
    assert str(first) == "rank 1 failed, and rank 0 with it: no room"
    assert isinstance(second, ValueError)


def test_one_rank_alone_needs_no_other() -> None:
    assert ranks.world() == (0, 1)
    assert ranks.together(lambda: 3) == [3]


def called(folder: Path, out: Path, ranks_: int, mode: str) -> subprocess.CompletedProcess[str]:
    out.mkdir()
    launch = [sys.executable]
    if ranks_ > 1:
        launch += ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(ranks_)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "PYTHONPATH": str(SCRIPT.parents[2])}
    command = [*launch, str(SCRIPT), str(folder), str(out), mode]
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=500)


@pytest.mark.slow
def test_two_ranks_give_the_bytes_of_one(tmp_path: Path) -> None:
    """A real Trainer under torchrun, gloo on the processor: the same scores on every rank, and as with one."""
    folder = tiny.make("seq2seq", tmp_path / "tiny")
    for count in (1, 2):
        ended = called(folder, tmp_path / str(count), count, "plain")
        assert ended.returncode == 0, ended.stderr[-3000:]
    alone = (tmp_path / "1" / "rank-0.json").read_bytes()
    assert json.loads(alone)["scores"].keys() == {"2", "4"}
    assert (tmp_path / "2" / "rank-0.json").read_bytes() == (tmp_path / "2" / "rank-1.json").read_bytes() == alone
    assert (tmp_path / "2" / "statistics").read_bytes() == (tmp_path / "1" / "statistics").read_bytes()
    shares = [json.loads((tmp_path / "2" / f"share-{rank}.json").read_text()) for rank in (0, 1)]
    assert sum(shares) == json.loads((tmp_path / "1" / "share-0.json").read_text())
    assert min(shares) > 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mode", "message"),
    [("broken", "rank 1 failed, and rank 0 with it: no room on rank 1"), ("fsdp", "weights are sharded over ranks")],
)
def test_no_rank_is_left_waiting(tmp_path: Path, mode: str, message: str) -> None:
    folder = tiny.make("seq2seq", tmp_path / "tiny")
    ended = called(folder, tmp_path / "out", 2, mode)
    assert ended.returncode != 0
    assert message in ended.stderr
