"""A Ray cluster for the tests of a module, a data set with odd rows, and parts of a user's own that end their process."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import write_jsonl

FILES = ("scores.json", "examples.parquet", "statistics.parquet")
N = 60
MINE = '''
import os, signal, time
from pathlib import Path

from harness.testing import CannedSystem, WordCount
from harness.types import HarnessError


def once(name):
    """Ends the process with a kill, the first time."""
    try:
        os.close(os.open(name, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return
    os.kill(os.getpid(), signal.SIGKILL)


def meet():
    """On the second node: says that it is there, and stays until the node is taken away. On the first: waits for it."""
    if os.environ.get("NODE") == "second":
        Path("at-work").touch()
        time.sleep(600)
    while os.environ.get("NODE") == "first" and not Path("at-work").exists():
        time.sleep(0.01)


class Slow(WordCount):
    def value(self, output):
        meet()
        return super().value(output)


class Share:
    def __init__(self, of):
        self.of = of

    def __call__(self, number):
        return self.of // number


class Heavy:
    """Must be loaded before it answers; what it loads may be missing at first."""

    loaded = False

    def load(self):
        self.loaded = Path("weights").exists()
        if not self.loaded:
            raise OSError("no weights")

    def __call__(self, item):
        return self.loaded


class Deadly(WordCount):
    """Each of so many calls ends the process that computes it, once."""

    def __init__(self, kills=1):
        super().__init__()
        self.kills = kills

    def value(self, output):
        for i in range(self.kills):
            if output.endswith("7"):
                once(f"killed-{i}")
        return super().value(output)

    def definition(self):
        return {}


class Answers(CannedSystem):
    """Ends its process once where `deadly`; its outputs depend on the batch."""

    def __init__(self, deadly=False, failing=(), batch_size=8, repeats=1, broken=False, raise_after=None):
        super().__init__("", failing, raise_after, None, repeats, batch_size, calls="calls.txt")
        self.deadly = deadly
        if broken and not Path("driver").exists():
            raise HarnessError("system.model=models/mine does not exist; expected a folder")

    incidental = ("deadly", "broken")

    def generate(self, batch):
        meet()
        time.sleep(float(os.environ.get("SECONDS_A_BATCH", 0)))
        if self.deadly and any(example.id == "é9" for example in batch):
            once("killed-system")
        self.together = "".join(example.id for example in batch)[:6]
        return super().generate(batch)

    def answer(self, example):
        from harness.types import Output

        if example.id in self.failing and not Path("mended").exists():
            return Output(None, "refused")
        return Output(f"{example.source} {self.together} {example.repeat}", None, {"output_tokens": 3})
'''


@pytest.fixture(scope="module")
def ray_cluster() -> Iterator[str]:
    """Its address; this process is connected to it."""
    ray = pytest.importorskip("ray")
    from harness.engines import cluster

    cluster.connect("local")
    yield ray.get_runtime_context().gcs_address
    ray.shutdown()


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """data.jsonl, outputs.jsonl of which some failed, and mine.py."""
    chance = random.Random(1)
    rows, outputs = [], []
    for i in range(N):
        words = [chance.choice("abcdefgh") for _ in range(9)]
        row = {"id": f"é{i}", "source": " ".join(words), "references": [" ".join(words[::-1]), "a b c"][: 1 + i % 2]}
        rows.append({**row, "talk": f"t{i % 5}", **({"late": i} if i % 3 else {})})
        outputs.append({"id": f"é{i}", "output": None if i in (4, 17) else f"{' '.join(words[: 3 + i % 6])} {i % 10}"})
    write_jsonl(tmp_path / "data.jsonl", rows)
    write_jsonl(tmp_path / "outputs.jsonl", outputs)
    (tmp_path / "mine.py").write_text(MINE)
    return tmp_path
