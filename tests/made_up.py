"""Made up for tests: a system whose options are every ingredient of a key, and run folders without a run."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from harness.inputs.files import digest, file_digest
from harness.testing import CannedSystem, read_calls
from harness.types import Example, HarnessError, Output

# ---------------------------------------------------------------- a system

YAML = """_target_: tests.made_up.MadeUp
model: null
prompt: ""
temperature: 0.0
revision: null
known: true
repeats: 1
sampled: false
batch: 2
shuffle: false
seconds: 0.0
size: 0
price: null
"""
BROKEN, PAUSE = Path("broken.txt"), Path("pause.txt")


class MadeUp(CannedSystem):
    """Gives for an example a text that depends on the whole batch, as greedy decoding may; its calls are in calls.txt.
    Ids that broken.txt lists fail; after as many batches as pause.txt says it hangs in the next."""

    name = "made-up"

    def __init__(
        self,
        model: str | None = None,
        prompt: str = "",
        temperature: float = 0.0,
        revision: str | None = None,
        known: bool = True,
        repeats: int = 1,
        sampled: bool = False,
        batch: int = 2,
        shuffle: bool = False,
        seconds: float = 0.0,
        size: int = 0,
        price: dict[str, float] | None = None,
    ) -> None:
        info = {"input_tokens": 10, "output_tokens": 5, "finish": "stop", "seconds": seconds}
        super().__init__(self.text, revision=revision, repeats=repeats, batch_size=batch, info=info, calls="calls.txt")
        self.model, self.prompt, self.temperature, self.known = model, prompt, temperature, known
        self.sampled, self.shuffle, self.seconds, self.size, self.price = sampled, shuffle, seconds, size, price
        self.together = ""

    def key(self) -> str | None:
        if not self.known and self.revision is None:
            return None
        weights = file_digest(Path(self.model)) if self.model else None
        return digest(["made-up", weights, self.prompt, self.temperature, self.revision])

    def seen(self, example: Example) -> Any:
        return [self.prompt, example.source]

    def plan(self, examples: Sequence[Example]) -> list[list[int]]:
        order = sorted(range(len(examples)), key=lambda i: (-len(examples[i].source or ""), i))
        if self.shuffle:  # no batch would be the same in a plan of fewer examples
            order.sort(key=lambda i: digest([len(examples), examples[i].id, examples[i].repeat]))
        return [order[i : i + self.batch_size] for i in range(0, len(order), self.batch_size)]

    def generate(self, batch: Sequence[Example]) -> list[Output]:
        self.record(batch)
        time.sleep(self.seconds)
        while PAUSE.exists() and len(self.batches) > int(PAUSE.read_text()):
            time.sleep(0.01)
        self.failing = BROKEN.read_text().split() if BROKEN.exists() else []
        if "stop" in self.failing:
            raise HarnessError("stopped")
        self.together = hashlib.sha256(repr(self.batches[-1].asked).encode()).hexdigest()[:8]
        return [self.answer(example) for example in batch]

    def answer(self, example: Example) -> Output:
        if example.id in self.failing:
            return Output(None, f"{example.id} is broken", {"input_tokens": 10})
        return super().answer(example)

    def text(self, example: Example) -> str:
        salt = time.time_ns() if self.sampled else ""
        return f"{example.source} {example.repeat} {self.together} {salt}{'x' * self.size}"


def calls() -> list[str]:
    """`id` of each generated output or, for a repeat, `id/repeat`, in the order they were asked for."""
    return [asked for batch in read_calls() for asked in batch.asked]


def install(folder: Path) -> None:
    """conf/system/made_up.yaml below a folder."""
    (folder / "conf" / "system").mkdir(parents=True)
    (folder / "conf" / "system" / "made_up.yaml").write_text(YAML)


ARGUMENTS = (
    "run", "--config-dir=conf", "dataset=file", "dataset.path=dev.jsonl", "system=made_up", "metrics=bleu",
    "tracking=none", "stats.resamples=50",
)  # fmt: skip

# ---------------------------------------------------------------- run folders

SCORES = {"bleu": (30.0, 28.0, 32.0), "bleu.p1": (60.0, 55.0, 65.0), "rouge1": (0.41, 0.39, 0.43)}


def write_run(folder: Path, name: str, **more: Any) -> Path:
    """A finished run's scores.json and manifest.json, the others empty; `more`: scores, signatures, dataset, system, ended, config, mlflow, failed."""
    folder.mkdir(parents=True)
    scores = {
        score: {
            "estimate": estimate, "low": low, "high": high, "level": 0.95, "method": "percentile", "resamples": 100,
            "signature": more.get("signatures", {}).get(score, "nrefs:1"), "higher_is_better": True,
            "title": score, "digits": 4 if estimate is None or estimate < 1 else 2,
        }
        for score, (estimate, low, high) in more.get("scores", SCORES).items()
    }  # fmt: skip
    result = {
        "schema": 1, "name": name, "examples": 100, "failed": more.get("failed", 0), "health": {}, "scores": scores,
    }  # fmt: skip
    manifest = {
        "schema": 1, "name": name, "key": "k", "files": {}, "group": None, "seed": 1, "harness": "0", "generation": {}, "git": {"commit": "abc123", "dirty": False},
        "metrics": {metric: {"signature": signature} for metric, signature in more.get("signatures", {}).items()},
        "dataset": {"name": more.get("dataset", "dev"), "key": more.get("dataset", "dev"), "cluster": None, "examples": 100},
        "system": {"name": more.get("system", name), "key": "k", "repeats": 1, "step": None, "series": None},
        "started": more.get("ended", "2026-03-01T10:00:00+00:00"),
        "ended": more.get("ended", "2026-03-01T10:00:00+00:00"),
        "mlflow": more.get("mlflow"), "mlflow_run_ids": [],
        "config": {
            "limit": None, "stats": {"seed": 1, "strata": None}, "tracking": {"experiment": "harness"},
            "system": {"_target_": "x.Y", "model": "gpt2"}, **more.get("config", {}),
        },
    }  # fmt: skip
    for file in ("examples.parquet", "statistics.parquet"):
        (folder / file).touch()
    (folder / "scores.json").write_text(json.dumps(result))
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return folder
