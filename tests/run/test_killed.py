"""Killed at twenty random moments and run again each time, a run ends as if nothing had happened."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import sys
import time
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest

from harness.testing import read_calls
from tests.conftest import write_jsonl
from tests.made_up import ARGUMENTS, install

KILLS, EXAMPLES, REPEATS, BATCH = 20, 100, 2, 4
OPTIONS = (
    f"system.repeats={REPEATS}", f"system.batch={BATCH}", "system.shuffle=true", "system.seconds=0.004",
    "metrics=[exact_match,token_f1]",
)  # fmt: skip


def run(folder: str) -> None:
    """`harness run …` in a process of its own."""
    os.chdir(folder)
    with open("out.txt", "a") as out:
        os.dup2(out.fileno(), 1)
        os.dup2(out.fileno(), 2)
    sys.argv = ["harness"]
    from harness.cli.main import main

    main([*ARGUMENTS, *OPTIONS, "output_dir=run"])


def called(folder: Path) -> list[tuple[int, str, str]]:
    """(process, batch, output) of everything generated so far."""
    batches = read_calls(folder / "calls.txt")
    return [(batch.process, str(batch.asked), output) for batch in batches for output in batch.asked]


@pytest.mark.slow
def test_twenty_kills(tmp_path: Path) -> None:
    """The system's output depends on its batch, so any other composition of a batch would show in every file."""
    chance = random.Random(6)
    words = ["the", "cat", "sat", "on", "a", "mat", "and", "it", "rained", "all", "night", "over", "the", "old", "town"]
    texts = [" ".join(chance.choices(words, k=chance.randint(1, 30))) for _ in range(EXAMPLES)]
    rows = [{"id": f"{i}", "source": f"{text} {i}", "references": [text]} for i, text in enumerate(texts)]
    for name in ("killed", "whole"):
        (tmp_path / name).mkdir()
        install(tmp_path / name)
        write_jsonl(tmp_path / name / "dev.jsonl", rows)
    killed = tmp_path / "killed"
    # processes are forked from one that has imported everything, so that a start takes no seconds
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(
        [
            "tests.run.test_killed",
            "harness.cli.hydra",
            "harness.run.runner",
            "harness.metrics.squad",
            "pandas",
            "pyarrow.parquet",
        ]
    )

    total = EXAMPLES * REPEATS
    for attempt in range(KILLS):
        before = len(called(killed))
        late = attempt >= KILLS - 5  # after everything was generated: while scores are computed and files written
        (killed / "pause.txt").write_text("1000" if late else str(chance.randint(1, 3)))
        process = context.Process(target=run, args=(str(killed),))
        process.start()
        while len({output for _, _, output in called(killed)}) < total if late else len(called(killed)) == before:
            assert process.is_alive(), (killed / "out.txt").read_text()
            time.sleep(0.001)
        time.sleep(chance.uniform(0, 0.4 if late else 0.1))
        process.kill()
        process.join()
        assert process.exitcode == -signal.SIGKILL or late  # a late one may be done before it is killed
    for folder in (killed, tmp_path / "whole"):
        process = context.Process(target=run, args=(str(folder),))
        process.start()
        process.join()
        assert process.exitcode == 0, (folder / "out.txt").read_text()

    for name in ("scores.json", "examples.parquet", "statistics.parquet"):
        assert (killed / "run" / name).read_bytes() == (tmp_path / "whole" / "run" / name).read_bytes(), name
    made = called(killed)
    assert len(called(tmp_path / "whole")) == len({output for _, _, output in made}) == total
    batches = list(dict.fromkeys((process, batch) for process, batch, _ in made))
    members = {identity: [output for *of, output in made if tuple(of) == identity] for identity in batches}
    assert len({process for process, _ in batches}) > KILLS - 5
    assert {len(outputs) for outputs in members.values()} == {BATCH}
    times = Counter(batch for _, batch in batches)
    assert len(times) == total / BATCH  # whoever makes a batch makes it of the same outputs
    for (_, batch), (_, other) in pairwise(batches):  # made again: only what was in flight, by the next process
        times[batch] -= other == batch
    assert set(times.values()) == {1}
    assert all(before[0] != after[0] for before, after in pairwise(batches) if before[1] == after[1])
