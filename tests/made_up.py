"""A system for tests that says in a file what it was asked for, and whose options are every ingredient of a key."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from harness.files import digest, file_digest
from harness.types import Example, HarnessError, Output, System

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


class MadeUp(System):
    """Gives for an example a text that depends on the whole batch, as greedy decoding may; appends `pid batch id repeat`
    to calls.txt for each. Ids that broken.txt lists fail; after as many batches as pause.txt says it hangs in the next."""

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
        self.model, self.prompt, self.temperature, self.revision = model, prompt, temperature, revision
        self.known, self.repeats, self.sampled, self.batch = known, repeats, sampled, batch
        self.batches = 0
        self.shuffle, self.seconds, self.size, self.price = shuffle, seconds, size, price

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
        return [order[i : i + self.batch] for i in range(0, len(order), self.batch)]

    def generate(self, batch: Sequence[Example]) -> list[Output]:
        together = hashlib.sha256(repr([(e.id, e.repeat) for e in batch]).encode()).hexdigest()[:8]
        lines = "".join(f"{os.getpid()} {together} {e.id} {e.repeat}\n" for e in batch)
        file = os.open("calls.txt", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.write(file, lines.encode())
        os.close(file)
        time.sleep(self.seconds)
        self.batches += 1
        while PAUSE.exists() and self.batches > int(PAUSE.read_text()):
            time.sleep(0.01)
        broken = BROKEN.read_text().split() if BROKEN.exists() else []
        if "stop" in broken:
            raise HarnessError("stopped")
        salt = time.time_ns() if self.sampled else ""
        info = {"input_tokens": 10, "output_tokens": 5, "finish": "stop", "seconds": self.seconds}
        return [
            Output(None, f"{example.id} is broken", {"input_tokens": 10})
            if example.id in broken
            else Output(f"{example.source} {example.repeat} {together} {salt}{'x' * self.size}", None, info)
            for example in batch
        ]


def calls() -> list[str]:
    """`id` of each generated output or, for a repeat, `id/repeat`, in the order they were asked for."""
    lines = [line.split() for line in Path("calls.txt").read_text().splitlines()] if Path("calls.txt").exists() else []
    return [id_ if repeat == "0" else f"{id_}/{repeat}" for _, _, id_, repeat in lines]


def install(folder: Path) -> None:
    """conf/system/made_up.yaml below a folder."""
    (folder / "conf" / "system").mkdir(parents=True)
    (folder / "conf" / "system" / "made_up.yaml").write_text(YAML)


ARGUMENTS = (
    "run", "--config-dir=conf", "dataset=file", "dataset.path=dev.jsonl", "system=made_up", "metrics=bleu",
    "tracking=none", "stats.resamples=50",
)  # fmt: skip
