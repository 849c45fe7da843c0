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
spread: false
seconds: 0.0
size: 0
price: null
"""
BROKEN = Path("broken.txt")


class MadeUp(System):
    """Gives for an example a text that depends on the whole batch, as greedy decoding may; appends `pid batch id repeat`
    to calls.txt for each. Ids that broken.txt lists fail."""

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
        spread: bool = False,
        seconds: float = 0.0,
        size: int = 0,
        price: dict[str, float] | None = None,
    ) -> None:
        self.model, self.prompt, self.temperature, self.revision = model, prompt, temperature, revision
        self.known, self.repeats, self.sampled, self.batch = known, repeats, sampled, batch
        self.spread, self.seconds, self.size, self.price = spread, seconds, size, price

    def key(self) -> str | None:
        if not self.known and self.revision is None:
            return None
        weights = file_digest(Path(self.model)) if self.model else None
        return digest(["made-up", weights, self.prompt, self.temperature, self.revision])

    def seen(self, example: Example) -> Any:
        return [self.prompt, example.source]

    def plan(self, examples: Sequence[Example]) -> list[list[int]]:
        order = sorted(range(len(examples)), key=lambda i: (-len(examples[i].source or ""), i))
        if self.spread:  # no batch would be the same in a plan of fewer examples
            number = -(-len(order) // self.batch)
            return [order[i::number] for i in range(number)]
        return [order[i : i + self.batch] for i in range(0, len(order), self.batch)]

    def generate(self, batch: Sequence[Example]) -> list[Output]:
        together = hashlib.sha256(repr([(e.id, e.repeat) for e in batch]).encode()).hexdigest()[:8]
        lines = "".join(f"{os.getpid()} {together} {e.id} {e.repeat}\n" for e in batch)
        file = os.open("calls.txt", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.write(file, lines.encode())
        os.close(file)
        time.sleep(self.seconds)
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
