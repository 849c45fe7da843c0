"""What is taken away while a run goes on: a node of a real cluster of two, the driver itself, by a kill or by Ctrl-C."""

from __future__ import annotations

import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.conftest import gone
from tests.engines.conftest import FILES

pytestmark = pytest.mark.slow
RUN = (
    "run", "dataset=file", "dataset.path=data.jsonl", "stats.resamples=200", "tracking=none", "cache=none", "progress=false",
)  # fmt: skip
STORED = (
    *RUN,
    "system=predictions",
    "system.path=outputs.jsonl",
    "metrics=[exact_match]",
    "+metrics.words._target_=mine.Slow",
)
GENERATED = (*RUN, "system=lead", "system._target_=mine.Answers", "~system.sentences", "metrics=[exact_match]")
SMALL = "import harness.types.text_columns as t; t.BLOCK = 7; from harness.cli.main import main; main()"
PATIENCE = 120


def wait(condition: Callable[[], object], what: str) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, f"in vain for {what}"
        time.sleep(0.05)


def descendants(process: int) -> list[int]:
    parents: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            child, parent = int(stat.parent.name), int(stat.read_text().rpartition(")")[2].split()[1])
        except (OSError, IndexError):
            continue
        parents.setdefault(parent, []).append(child)
    below = [process]
    for each in below:
        below += parents.get(each, [])
    return below


@dataclass
class Cluster:
    address: str
    environment: dict[str, str]
    node: subprocess.Popen[bytes]

    def take_the_second_node_away(self) -> None:
        for process in reversed(descendants(self.node.pid)):
            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                continue
        self.node.wait()


def ray_start(environment: dict[str, str], log: Path, *options: str) -> subprocess.Popen[bytes]:
    command = [
        sys.executable, "-m", "ray.scripts.scripts", "start", *options, "--num-cpus=1", "--object-store-memory=100000000",
        "--disable-usage-stats", "--block",
    ]  # fmt: skip
    with log.open("wb") as out:
        return subprocess.Popen(command, env=environment, stdout=out, stderr=subprocess.STDOUT)


@pytest.fixture
def two_nodes(tmp_path: Path) -> Iterator[Cluster]:
    """`ray start --head`, then `ray start --address`, each with a core."""
    pytest.importorskip("ray")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {
        **os.environ, "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(16), "RAY_worker_niceness": "0",
        "RAY_memory_monitor_refresh_ms": "0", "RAY_health_check_period_ms": "1000", "RAY_health_check_failure_threshold": "3",
        "NODE": "first",
    }  # fmt: skip
    address = f"127.0.0.1:{port}"
    head = ray_start(environment, tmp_path / "head.log", "--head", f"--port={port}", "--include-dashboard=false")
    processes = [head]
    try:
        wait(lambda: "Ray runtime started" in (tmp_path / "head.log").read_text(), "the head")
        second = {**environment, "NODE": "second"}
        node = ray_start(second, tmp_path / "node.log", f"--address={address}", "--node-ip-address=127.0.0.2")
        processes.append(node)
        wait(lambda: "Ray runtime started" in (tmp_path / "node.log").read_text(), "the second node")
        yield Cluster(address, environment, node)
    finally:
        for process in reversed(processes):
            left = descendants(process.pid)
            process.terminate()
            with suppress(subprocess.TimeoutExpired):
                process.wait(20)
            for each in left:
                try:
                    os.kill(each, signal.SIGKILL)
                except ProcessLookupError:
                    continue


def started(folder: Path, environment: dict[str, str], *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", SMALL, *arguments],
        cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def ended(run: subprocess.Popen[str], code: int = 0) -> str:
    _, errors = run.communicate(timeout=PATIENCE)
    assert run.returncode == code, errors
    return errors


def files(folder: Path) -> list[bytes]:
    return [(folder / name).read_bytes() for name in FILES]


@pytest.mark.parametrize("arguments", [STORED, GENERATED], ids=["scoring", "generation"])
def test_a_node_that_is_taken_away(arguments: tuple[str, ...], data: Path, two_nodes: Cluster) -> None:
    ended(started(data, dict(os.environ), *arguments, "output_dir=whole"))
    ray = ("engine=ray", f"engine.address={two_nodes.address}", "engine.replicas=2")
    run = started(data, {**two_nodes.environment, "NODE": "driver"}, *arguments, "output_dir=run", *ray)
    wait(lambda: (data / "at-work").exists() or run.poll() is not None, "the replica of the second node")
    two_nodes.take_the_second_node_away()
    errors = ended(run)
    assert files(data / "whole") == files(data / "run")
    manifest = json.loads((data / "run" / "manifest.json").read_text())
    assert manifest["engine"]["lost"] >= 1
    assert manifest["engine"]["again"] >= 1
    assert "lost; what was held there was done again" in errors
    assert "raylet" not in errors


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
def test_a_driver_that_ends_and_begins_again(number: signal.Signals, data: Path) -> None:
    """The cluster that it started ends with it; the command, given again, goes on from the journal."""
    pytest.importorskip("ray")
    ended(started(data, dict(os.environ), *GENERATED, "output_dir=whole"))
    (data / "calls.txt").unlink()
    slow = {**os.environ, "SECONDS_A_BATCH": "1.5"}
    ray = ("engine=ray", "engine.address=local", "engine.replicas=2")
    run = started(data, slow, *GENERATED, "output_dir=run", *ray)
    journal = data / "run" / "outputs.jsonl"
    wait(lambda: run.poll() is not None or (journal.exists() and b'"batch"' in journal.read_bytes()), "the first batch")
    processes = [each for each in descendants(run.pid) if "Agent" not in Path(f"/proc/{each}/cmdline").read_text()]
    assert len(processes) > 3  # Ray's own agents look for their parent once a minute
    run.send_signal(number)
    errors = ended(run, -9 if number == signal.SIGKILL else 128 + number)
    if number != signal.SIGKILL:
        assert "interrupted; every finished batch is kept. To go on from here:" in errors
    assert gone(processes)
    finished = journal.read_bytes().count(b'"batch"')
    assert 0 < finished < 8
    (data / "calls.txt").unlink()
    ended(started(data, dict(os.environ), *GENERATED, "output_dir=run", *ray))
    assert files(data / "whole") == files(data / "run")
    assert len((data / "calls.txt").read_text().splitlines()) == 8 - finished
