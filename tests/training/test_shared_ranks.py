"""Ranks that generate together: the same outputs as one alone, and no rank that waits for one that failed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from harness.inputs.pretrained import Pretrained
from harness.training import evaluate_checkpoint
from harness.training import shared_ranks as ranks
from harness.types import HarnessError, Output
from tests.systems import tiny
from tests.training import two_ranks

SCRIPT = Path(two_ranks.__file__)
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


def called(folder: Path, out: Path, mode: str) -> subprocess.CompletedProcess[str]:
    """Training on two ranks."""
    out.mkdir()
    launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    environment = {**os.environ, "PYTHONPATH": str(SCRIPT.parents[2])}
    command = [*launch, str(SCRIPT), str(folder), str(out), mode]
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=500)


def alone(folder: Path, steps: Sequence[int], rows: Sequence[dict[str, Any]]) -> tuple[bytes, bytes]:
    """(scores, statistics) that one process gives the checkpoints which two ranks saved."""
    from transformers import AutoTokenizer

    scores, statistics = {}, b""
    for step in steps:
        saved = str(folder / "training" / f"checkpoint-{step}")
        pretrained = Pretrained(saved, "model")
        model = pretrained.load(pretrained.generator)[2]
        result = evaluate_checkpoint(
            model, AutoTokenizer.from_pretrained(saved), rows, two_ranks.METRICS, step, **two_ranks.OPTIONS
        )
        scores[step] = {name: asdict(score) for name, score in result.scores.items()}
        statistics += result.statistics["chrf"].rows.tobytes()
    return json.dumps({"scores": scores}, sort_keys=True).encode(), statistics


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mode", "kind", "shares"),
    [("plain", "seq2seq", [40, 40]), ("few", "seq2seq", [2, 0]), ("fsdp", "causal", [40 + 20, 40 + 20])],
)
def test_two_ranks_give_the_bytes_of_one(tmp_path: Path, mode: str, kind: str, shares: list[int]) -> None:
    """A real Trainer under torchrun, gloo on the processor: the same scores on both ranks, and those that one process
    gives the checkpoints that were saved. `shares`: outputs that each rank made, in two evaluations or three."""
    out = tmp_path / "out"
    ended = called(tiny.make(kind, tmp_path / "tiny"), out, mode)
    assert ended.returncode == 0, ended.stderr[-3000:]
    seen = (out / "rank-0.json").read_bytes()
    assert (out / "rank-1.json").read_bytes() == seen
    assert [json.loads((out / f"share-{rank}.json").read_text()) for rank in (0, 1)] == shares
    scores, statistics = alone(out, (2, 4), two_ranks.ROWS[:1] if mode == "few" else two_ranks.ROWS)
    assert scores == seen
    assert (out / "statistics").read_bytes() == statistics


@pytest.mark.slow
def test_training_with_sharded_weights_is_left_alone(tmp_path: Path) -> None:
    """To gather weights for an evaluation changes nothing of what is learnt after it."""
    folder, weights = tiny.make("causal", tmp_path / "tiny"), []
    for mode in ("fsdp", "unseen"):
        ended = called(folder, tmp_path / mode, mode)
        assert ended.returncode == 0, ended.stderr[-3000:]
        weights.append((tmp_path / mode / "training" / "checkpoint-4" / "model.safetensors").read_bytes())
    assert weights[0] == weights[1]


@pytest.mark.slow
def test_no_rank_is_left_waiting(tmp_path: Path) -> None:
    ended = called(tiny.make("seq2seq", tmp_path / "tiny"), tmp_path / "out", "broken")
    assert ended.returncode != 0
    assert "rank 1 failed, and rank 0 with it: no room on rank 1" in ended.stderr
