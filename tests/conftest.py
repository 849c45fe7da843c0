"""Shared by all tests: no model hub, and the command line in this process."""

from __future__ import annotations

import gc
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["HARNESS_PROGRESS"] = "0"  # on a busy machine any stage can take ten seconds
os.environ["OMP_NUM_THREADS"] = "1"  # tests run beside each other: two threads a tiny model take six times as long
os.environ.pop("MLFLOW_TRACKING_URI", None)
os.environ.pop("HYDRA_FULL_ERROR", None)

import pytest
from hypothesis import settings

from harness.types import Example

settings.register_profile("default", deadline=None)
settings.register_profile("fuzz", deadline=None, max_examples=5_000)  # make fuzz
settings.load_profile("default")

POSIX = {
    "cli/test_launchers.py", "cli/test_main.py", "cli/test_merge.py", "cli/test_watching.py", "engines/test_lost.py",
    "hostile/test_asked_to_end.py", "hostile/test_bounds.py", "hostile/test_controls.py",
    "hostile/test_endless_programs.py", "hostile/test_received_configs.py", "hostile/test_received_folders.py",
    "inputs/test_kept.py", "inputs/test_locks.py", "metrics/test_command.py", "run/test_generation.py",
    "run/test_killed.py", "store/test_arrays.py", "store/test_index.py", "systems/test_command.py",
    "systems/test_predictions.py", "systems/test_real_servers.py", "systems/test_server.py", "test_docs.py",
    "test_wheel.py", "tracking/test_on_a_server.py",
}  # fmt: skip
"""Tests that end processes by signals, make links, or call a shell: what is tested is promised on Linux and macOS."""


@pytest.hookimpl(tryfirst=True)  # before -m looks at the marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    root = Path(__file__).parent
    for item in items:
        if item.path.is_relative_to(root) and item.path.relative_to(root).as_posix() in POSIX:
            item.add_marker(pytest.mark.posix)
            if sys.platform == "win32":
                item.add_marker(pytest.mark.skip(reason="needs POSIX"))


@dataclass
class Called:
    code: int
    out: str
    err: str


@pytest.fixture(scope="module", autouse=True)
def _all_so_far_is_left_alone() -> None:
    """By the garbage collector, which would go through five thousand tests and all imports time and again."""
    gc.freeze()


@pytest.fixture(autouse=True)
def _nothing_kept() -> Iterator[None]:
    """No test gets a model that another one had in its hands."""
    yield
    from harness.inputs import shelf

    shelf.kept = shelf.Shelf()  # resizing it would collect garbage, after each of thousands of tests


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Called]:
    """`harness ARGUMENTS…` called in an empty folder, in this process."""
    from harness.cli.main import main

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["harness"])
    monkeypatch.setattr("sys.path", list(__import__("sys").path))

    def call(*arguments: str) -> Called:
        capsys.readouterr()
        code = 0
        try:
            main(list(arguments))
        except SystemExit as ended:
            code = int(ended.code or 0)
        captured = capsys.readouterr()
        return Called(code, captured.out, captured.err)

    return call


def called_in(folder: Path, *arguments: str) -> None:
    """`harness ARGUMENTS…` in a folder, in this process: for runs that the tests of a module share."""
    from harness.cli.main import main

    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr("sys.argv", ["harness"])
        patch.setattr("sys.path", list(sys.path))
        code: object = 0
        try:
            main(list(arguments))
        except SystemExit as ended:
            code = ended.code
    assert not code, f"harness {' '.join(arguments)} ends with {code}"


@contextmanager
def interrupted(after: int) -> Iterator[None]:
    """Ctrl-C comes instead of the next run, after so many."""
    from harness.run import runner

    run, left = runner.run, [after]

    def counted(job: Any, progress: Any) -> Any:
        left[0] -= 1
        if left[0] < 0:
            raise KeyboardInterrupt
        return run(job, progress)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runner, "run", counted)
        yield


def gone(processes: list[int], patience: float = 60) -> bool:
    """Whether these have ended, or do so soon: a signal takes its time. A zombie, whose exit code nobody has asked for,
    has ended."""
    end = time.monotonic() + patience
    while any(map(_alive, processes)) and time.monotonic() < end:
        time.sleep(0.05)
    return not any(map(_alive, processes))


def _alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def needs_plugin(name: str) -> None:
    """Skips a test where Hydra lacks a plug-in. It is not imported here: Hydra does so anew, and classes of the first
    import could not be pickled any more."""
    if find_spec(f"hydra_plugins.{name}") is None:
        pytest.skip(f"{name} is not installed")


def no_workers() -> None:
    """Ends joblib's processes, which go on in the folder of the test that they were started by."""
    from joblib.externals.loky import get_reusable_executor

    get_reusable_executor().shutdown(wait=True)


def write_jsonl(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


ROWS = [
    {"id": "a", "source": "The cat sat.", "references": ["the cat sat down", "a cat was sitting"], "topic": "pets"},
    {"id": "b", "source": "It rains.", "references": ["it is raining", "rain falls"], "topic": "weather"},
    {"id": "c", "source": "Dogs bark loudly.", "references": ["dogs bark", "the dogs are loud"], "topic": "pets"},
    {
        "id": "d",
        "source": "Snow fell all night.",
        "references": ["it snowed all night", "snow fell"],
        "topic": "weather",
    },
]
GOOD = ["the cat sat down", "it is raining", "dogs bark", "snow fell all night"]
BAD = ["a dog stood up", "it is raining", "cats meow loudly", "sun shone at noon"]


def write_files(folder: Path) -> Path:
    """dev.jsonl with four examples, good.jsonl and bad.jsonl with outputs for them."""
    write_jsonl(folder / "dev.jsonl", ROWS)
    for name, outputs in (("good", GOOD), ("bad", BAD)):
        rows = [{"id": row["id"], "output": output} for row, output in zip(ROWS, outputs, strict=True)]
        write_jsonl(folder / f"{name}.jsonl", rows)
    return folder


@pytest.fixture
def files(tmp_path: Path) -> Path:
    return write_files(tmp_path)


def example(id_: str = "1", source: str | None = "s", *references: str, **metadata: Any) -> Example:
    return Example(id_, source, references, metadata)
