"""`watch=true`: checkpoints are evaluated as training writes them, half-written ones are waited for."""

from __future__ import annotations

import json
import os
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.cli.hydra.watching import Watch
from harness.cli.signals import Asked
from harness.systems.checkpoint_folders import CheckpointFolders
from harness.systems.checkpoints import Checkpoints
from harness.types import HarnessError
from tests.conftest import Called, write_jsonl
from tests.systems.test_server import RUN, SERIES, adapter, model

Cli = Callable[..., Called]
HEADER = json.dumps({"w": {"dtype": "U8", "shape": [8], "data_offsets": [0, 8]}}).encode()
WEIGHTS = struct.pack("<Q", len(HEADER)) + HEADER + bytes(8)
Event = Callable[[], object]


def begin(step: int, content: bytes = WEIGHTS) -> None:
    """The first that a trainer writes of a checkpoint."""
    folder = Path(f"out/checkpoint-{step}")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.safetensors").write_bytes(content)


def end(step: int, last: int = 1000) -> None:
    """The last that it writes."""
    begin(step)
    state = {"global_step": step, "max_steps": last}
    Path(f"out/checkpoint-{step}/trainer_state.json").write_text(json.dumps(state))


class Clock:
    """Time in which something happens whenever somebody waits."""

    def __init__(self, events: Iterator[Event]) -> None:
        self.events, self.now = events, 0.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        next(self.events, lambda: pytest.fail("it waits for nothing"))()


@pytest.fixture
def training(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., Clock]:
    """What training does between looks, one thing after the other."""
    monkeypatch.chdir(tmp_path)

    def does(*events: Event) -> Clock:
        clock = Clock(iter(events))
        monkeypatch.setattr("harness.cli.hydra.watching.time", clock)
        return clock

    return does


def interrupt(number: int) -> None:
    raise Asked(number)


def steps(watch: Watch) -> list[int]:
    return [spec["step"] for spec in watch.cells(Checkpoints("out"))]


def test_a_half_written_checkpoint_is_waited_for_and_said_to_be(
    training: Callable[..., Clock], capsys: pytest.CaptureFixture[str]
) -> None:
    training(
        lambda: begin(100, WEIGHTS[:-3]),  # the first: no other says what a whole one has
        lambda: begin(100),  # no state yet
        lambda: Path("out/checkpoint-100/trainer_state.json").write_text('{"global_'),
        lambda: end(100),
        lambda: begin(200),
        lambda: (end(200), end(300)),
        lambda: begin(1000, b"\x00\x01"),
        lambda: end(1000),
    )
    assert steps(Watch()) == [100, 200, 300, 1000]
    said = capsys.readouterr().err
    assert said.splitlines() == [
        "harness: no checkpoints of out so far; waiting for the next",
        "harness: out/checkpoint-100 is still being written; waiting for it",
        "harness: 1 checkpoint of out so far; waiting for the next",
        "harness: out/checkpoint-200 is still being written; waiting for it",
        "harness: 3 checkpoints of out so far; waiting for the next",
        "harness: out/checkpoint-1000 is still being written; waiting for it",
        "harness: the trainer's last step is evaluated: training is over",
    ]


def test_what_ends_it(training: Callable[..., Clock], capsys: pytest.CaptureFixture[str]) -> None:
    training(lambda: end(100), lambda: end(200), lambda: end(300))
    assert steps(Watch(until=200)) == [100, 200]
    clock = training(*[lambda: None] * 40)
    assert steps(Watch(idle=1)) == [100, 200]
    assert 60 < clock.now < 70
    assert "no new checkpoint for 1 minute\n" in capsys.readouterr().err
    training(lambda: end(300), lambda: interrupt(signal.SIGINT))
    assert steps(Watch()) == [100, 200, 300]
    training(lambda: interrupt(signal.SIGTERM))
    with pytest.raises(Asked):
        steps(Watch())
    for path in Path("out").rglob("*.*"):
        path.unlink()
    training(lambda: interrupt(signal.SIGINT))
    with pytest.raises(HarnessError, match="out had no checkpoint while it was watched; expected one"):
        steps(Watch())
    with pytest.raises(HarnessError, match="watch_idle=0; expected minutes, more than 0"):
        Watch(idle=0)


def test_it_ends_at_a_step_though_later_ones_are_there(training: Callable[..., Clock]) -> None:
    for step in (100, 200, 300):
        end(step)
    training()
    assert steps(Watch(until=200)) == [100, 200]


def test_every_second_one_is_the_same_where_the_trainer_removes_earlier_ones(training: Callable[..., Clock]) -> None:
    def saved(step: int) -> None:  # with save_total_limit=2
        end(step, last=500)
        for path in Path(f"out/checkpoint-{step - 200}").glob("*"):
            path.unlink()

    training(*[lambda step=step: saved(step) for step in (100, 200, 300, 400, 500)])
    assert [spec["step"] for spec in Watch().cells(Checkpoints("out", every=2))] == [100, 300, 500]


def test_without_a_trainers_state_a_folder_must_rest_for_a_while(tmp_path: Path) -> None:
    """A loop of one's own may write the tokenizer after the weights."""
    folder = model(tmp_path / "step-1")
    watched = CheckpointFolders(str(tmp_path), watched=True)
    assert watched.found() == ([], [folder])
    assert CheckpointFolders(str(tmp_path)).found() == ([folder], [])
    for path in (*folder.iterdir(), folder):
        os.utime(path, (time.time() - 60, time.time() - 60))
    assert watched.found() == ([folder], [])


def test_weights_of_which_a_part_is_missing_are_not_whole(tmp_path: Path) -> None:
    def whole(name: str, content: bytes) -> bool:
        (tmp_path / "step-1").mkdir(exist_ok=True)
        for path in (tmp_path / "step-1").iterdir():
            path.unlink()
        (tmp_path / "step-1" / name).write_bytes(content)
        return bool(CheckpointFolders(str(tmp_path)).found()[0])

    assert whole("model.safetensors", WEIGHTS)
    for cut in (1, 7, 20, len(WEIGHTS) - 1):
        assert not whole("model.safetensors", WEIGHTS[:cut])
    index: dict[str, Any] = {"weight_map": {"w": "model-00001-of-00002.safetensors"}}
    assert not whole("model.safetensors.index.json", json.dumps(index).encode())
    assert not whole("model.safetensors.index.json", b"{")
    assert not whole("pytorch_model.bin", b"PK\x03\x04 half")


# ---------------------------------------------------------------- `harness run`


def test_adapters_are_evaluated_on_one_server_as_they_come(
    tmp_path: Path, cli: Cli, training: Callable[..., Clock]
) -> None:
    model(tmp_path / "base")
    write_jsonl(tmp_path / "dev.jsonl", [{"id": "1", "source": "s", "references": ["base: s"]}])
    adapter(tmp_path / "out" / "checkpoint-1", state=1)
    training(
        lambda: adapter(tmp_path / "out" / "checkpoint-2"),  # no state yet
        lambda: adapter(tmp_path / "out" / "checkpoint-3", state=3),
        lambda: interrupt(signal.SIGINT),
    )
    called = cli(*RUN, *SERIES, "watch=true")
    assert called.code == 0, called.err
    assert "harness: out/checkpoint-2 is still being written; waiting for it" in called.err
    assert "harness: watched until now" in called.err
    assert [line.split()[0] for line in called.out.splitlines() if line.startswith("dev-out-step")] == [
        "dev-out-step-1",
        "dev-out-step-3",
    ]
    assert len(list(tmp_path.glob("runs/*/*/scores.json"))) == 2
    assert len((tmp_path / "started.txt").read_text().split()) == 2


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["system=lead", "watch=true"], "watch=true with one system, lead; expected system=checkpoints or adapters"),
        (["system=lead", "watch_until=5"], "watch_until=5 without watch=true; expected both"),
        (["system=lead", "watch=5"], "watch=5; expected true or false"),
        (["system=checkpoints", "system.path=out", "watch=true", "watch_idle=-1"], "watch_idle=-1.0; expected minutes"),
        (["--multirun", "system=lead,copy", "watch=true"], "watch=true in a multirun; expected one run"),
    ],
)
def test_what_is_wrong_is_said(cli: Cli, words: list[str], expected: str) -> None:
    called = cli("run", *words, "tracking=none", "metrics=exact_match", "limit=3")
    assert called.code == 1
    assert expected in called.err


TRAINING = """
import sys, time
import torch, transformers
from pathlib import Path
from tests.systems import tiny

tiny.make("causal", Path("start"))
model = transformers.AutoModelForCausalLM.from_pretrained("start")
rows = [{"input_ids": [5, 6, 7], "labels": [5, 6, 7]}] * 24
class Slowly(transformers.TrainerCallback):
    def on_step_end(self, *_, **__): time.sleep(0.3)
arguments = transformers.TrainingArguments(
    "out", max_steps=9, save_steps=3, per_device_train_batch_size=2, report_to=[], disable_tqdm=True, use_cpu=True
)
words = transformers.AutoTokenizer.from_pretrained("start")
transformers.Trainer(model, arguments, train_dataset=rows, processing_class=words, callbacks=[Slowly()]).train()
"""


@pytest.mark.slow
def test_beside_a_real_trainer(tmp_path: Path, cli: Cli) -> None:
    """It begins before the first checkpoint and ends by itself after the last."""
    write_jsonl(tmp_path / "dev.jsonl", [{"id": "1", "source": "w1 w2", "references": ["w3"]}])
    path = os.pathsep.join([str(Path(__file__).parents[2]), *filter(None, sys.path)])
    environment = {**os.environ, "PYTHONPATH": path}
    with subprocess.Popen([sys.executable, "-c", TRAINING], cwd=tmp_path, env=environment) as trainer:
        called = cli(*RUN, "system=checkpoints", "system.path=out/checkpoint-*", "system.max_new_tokens=4", "watch=true",
                     "watch_idle=3")  # fmt: skip
    assert trainer.returncode == 0
    assert called.code == 0, called.err
    assert "the trainer's last step is evaluated: training is over" in called.err
    steps = [json.loads(path.read_text())["system"]["step"] for path in tmp_path.glob("runs/*/*/manifest.json")]
    assert sorted(steps) == [3, 6, 9]
