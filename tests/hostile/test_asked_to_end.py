"""Asked to end by a signal, as a scheduler or a closed terminal does: a message, no program left behind, and the same
command goes on where it was. Every case is a real process with real children."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from harness.cli.signals import heeded
from tests.conftest import ROWS, gone, write_jsonl

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
PATIENCE = 120
SLOW_CHILD = """
import json, os, subprocess, sys, time
started = subprocess.Popen(["sleep", "600"])
with open("children.txt", "a") as file:
    print(os.getpid(), started.pid, file=file)
for number, line in enumerate(sys.stdin):
    fields = json.loads(line)
    with open("asked.txt", "a") as file:
        print(fields.get("id", number), file=file)
    if number == 2 and not os.path.exists("go"):
        time.sleep(600)
    print(json.dumps({"id": fields.get("id"), "output": "x", "score": 1.0}), flush=True)
started.kill()
"""
CHILD = f"[{sys.executable},child.py]"
RUN = ("run", "dataset=file", "dataset.path=dev.jsonl", "tracking=none", "progress=false")
SYSTEM = (*RUN, "system=command", f"system.command={CHILD}", "system.batch_size=1", "metrics=exact_match")
METRIC = (*RUN, "system=lead", "metrics=command", "metrics.command.name=slow", f"metrics.command.command={CHILD}")


@contextmanager
def harness(folder: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """`harness ARGUMENTS…` in a process group of its own, as a job of a shell is."""
    path = os.pathsep.join([str(Path(__file__).parents[2]), *filter(None, sys.path)])
    environment = {**os.environ, "PYTHONPATH": path}
    command = [sys.executable, "-m", "harness", *arguments]
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, cwd=folder, env=environment, stdout=pipe, stderr=pipe, text=True, process_group=0
    ) as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.fixture(autouse=True)
def heard() -> Iterator[None]:
    """Whoever started the tests may ignore signals (`nohup`, a job in the background), and children would do so too."""
    numbers = {signal.SIGHUP: signal.SIG_DFL, signal.SIGTERM: signal.SIG_DFL, signal.SIGINT: signal.default_int_handler}
    before = {number: signal.signal(number, handler) for number, handler in numbers.items()}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def until(true: Callable[[], object], process: subprocess.Popen[str]) -> None:
    end = time.monotonic() + PATIENCE
    while not true():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end
        time.sleep(0.02)


def words(path: Path) -> list[str]:
    return path.read_text().split() if path.exists() else []


@pytest.fixture
def prepared(tmp_path: Path) -> Iterator[Path]:
    write_jsonl(tmp_path / "dev.jsonl", ROWS)
    (tmp_path / "child.py").write_text(SLOW_CHILD)
    yield tmp_path
    for child in words(tmp_path / "children.txt"):  # where the test failed
        with suppress(ProcessLookupError):
            os.kill(int(child), signal.SIGKILL)


CASES = [
    (signal.SIGTERM, SYSTEM),
    (signal.SIGHUP, (*SYSTEM, "--multirun", "name=first,second")),
    (signal.SIGINT, SYSTEM),
    (signal.SIGTERM, METRIC),
]


@pytest.mark.slow
@pytest.mark.parametrize(("number", "arguments"), CASES, ids=["SIGTERM", "SIGHUP-multirun", "SIGINT", "SIGTERM-metric"])
def test_programs_end_with_the_run(prepared: Path, number: signal.Signals, arguments: tuple[str, ...]) -> None:
    with harness(prepared, *arguments) as process:
        until(lambda: len(words(prepared / "asked.txt")) == 3, process)
        process.send_signal(number)
        out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 128 + number
    cells = " (0 of 2 cells have ended)" if "--multirun" in arguments else ""
    said = f"harness: interrupted{cells}; every finished batch is kept. To go on from here:\n  python -m harness run"
    assert err.count(said) == 1
    assert "Traceback" not in err
    assert out == ""
    children = [int(word) for word in words(prepared / "children.txt")]
    assert len(children) == 2
    assert gone(children)
    assert not list(prepared.rglob("scores.json"))

    (prepared / "go").touch()
    with harness(prepared, *arguments) as process:
        _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, err
    if arguments[:-2] == SYSTEM:  # the second of the multirun has a journal of its own
        assert words(prepared / "asked.txt") == ["a", "b", "c", "c", "d", "a", "b", "c", "d"]
    elif arguments == SYSTEM:
        assert words(prepared / "asked.txt") == ["a", "b", "c", "c", "d"]
    assert gone([int(word) for word in words(prepared / "children.txt")])


def children_of(process: int) -> list[int]:
    listed = subprocess.run(["ps", "-A", "-o", "pid=,ppid="], capture_output=True, text=True, check=True).stdout
    return [int(own) for own, parent in map(str.split, listed.splitlines()) if int(parent) == process]


def test_a_terminal_that_is_closed(prepared: Path) -> None:
    """It sends SIGHUP, and whatever is still written to it fails."""
    import pty

    path = os.pathsep.join([str(Path(__file__).parents[2]), *filter(None, sys.path)])
    shown = [word for word in SYSTEM if word != "progress=false"]
    process, terminal = pty.fork()
    if process == 0:
        os.chdir(prepared)
        os.execve(sys.executable, [sys.executable, "-m", "harness", *shown], {**os.environ, "PYTHONPATH": path})
    end = time.monotonic() + PATIENCE
    while len(words(prepared / "asked.txt")) < 3 and time.monotonic() < end:
        if select.select([terminal], [], [], 0.05)[0]:
            os.read(terminal, 1000)
    os.close(terminal)
    _, status = os.waitpid(process, 0)
    assert os.waitstatus_to_exitcode(status) == 128 + signal.SIGHUP
    children = [int(word) for word in words(prepared / "children.txt")]
    assert len(children) == 2
    assert gone(children)


SERVER = """
import subprocess, sys, time
worker = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
print(worker.pid, flush=True)
time.sleep(600)
"""
SERVED = "import sys; from harness.cli.commands.ui import served; from harness.cli.signals import heeded\n"
SERVED += "with heeded(): served([sys.executable, '-c', sys.argv[1]])"


def test_a_server_ends_with_its_workers(tmp_path: Path) -> None:
    path = os.pathsep.join([str(Path(__file__).parents[2]), *filter(None, sys.path)])
    command = [sys.executable, "-c", SERVED, SERVER]
    pipe = subprocess.PIPE
    environment = {**os.environ, "PYTHONPATH": path}
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=environment) as process:
        assert process.stdout is not None
        worker = int(process.stdout.readline())
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=PATIENCE)
    assert process.returncode != 0
    assert gone([worker])


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_the_pages_of_mlflow_end(tmp_path: Path, number: signal.Signals) -> None:
    from mlflow import MlflowClient

    MlflowClient(f"sqlite:///{tmp_path}/store.db").search_experiments()
    with harness(tmp_path, "ui", "--uri", f"sqlite:///{tmp_path}/store.db", "--port", "0") as process:
        until(lambda: any(children_of(child) for child in children_of(process.pid)), process)
        (server,) = children_of(process.pid)
        everybody = [server, *children_of(server)]
        process.send_signal(number)
        process.communicate(timeout=PATIENCE)
    assert process.returncode == 128 + number
    assert gone(everybody)


def test_what_is_ignored_stays_ignored() -> None:
    """As after `nohup`."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with heeded():
            assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
            assert signal.getsignal(signal.SIGTERM) not in (signal.SIG_DFL, signal.SIG_IGN)
        assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    finally:
        signal.signal(signal.SIGHUP, before)


def test_another_signal_does_not_break_off_the_end() -> None:
    ended = []

    def work() -> None:
        try:
            signal.raise_signal(signal.SIGTERM)
        finally:
            signal.raise_signal(signal.SIGHUP)
            ended.append("in good order")

    with pytest.raises(KeyboardInterrupt, match="SIGTERM"), heeded():
        work()
    assert ended == ["in good order"]
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a process that was asked to end leaves it as it is
