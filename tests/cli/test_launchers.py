"""Cells of a multirun under any launcher: one that fails ends itself only, is named with its reason, and leaves nothing
behind that tells a secret."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hydra.core.plugins import Plugins

from harness.cli.hydra.marks import SLOWEST, Ended, Marks
from tests.conftest import Called, needs_plugin, no_workers

Cli = Callable[..., Called]
ROOT = Path(__file__).parents[2]
RUN = ("run", "dataset=file", "dataset.path=dev.jsonl", "metrics=bleu", "tracking=none", "stats.resamples=50")
CELLS = (*RUN, "--multirun", "system=predictions", "system.path=good.jsonl,bad.jsonl")
FUNCTIONS = """
import os, signal, sys

def copy(example, **options):
    return example["source"]

def shout(example, **options):
    return example["source"].upper()

def kill(example):
    os.kill(os.getpid(), signal.SIGKILL)

def refused(example, ask):
    if ask == 2 and not os.path.exists("mended"):
        raise ValueError("no quota")
    return example["source"]
"""
SLOW = """
import time

def slow(example):
    time.sleep(0.5)
    with open("calls.txt", "a") as file:
        file.write("called\\n")
    return example["source"]
"""
RESULT = ("scores.json", "examples.parquet", "statistics.parquet")


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """submitit waits long for the results of a job that is gone."""
    submitit = pytest.importorskip("submitit")
    monkeypatch.setattr(submitit.core.core.Job, "_results_timeout_s", 0.5)
    no_workers()


@pytest.fixture
def basic() -> Any:
    """Hydra's launcher for this process; Hydra imports its plug-ins anew when it looks for them."""
    Plugins.instance()
    return sys.modules["hydra._internal.core_plugins.basic_launcher"].BasicLauncher


def results(below: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(below)): path.read_bytes() for name in RESULT for path in sorted(below.glob(f"*/{name}"))
    }


# ---------------------------------------------------------------- the same whoever launches


def same_under(launcher: str, cli: Cli, *sweep: str) -> None:
    assert cli(*RUN, "--multirun", *sweep, "output_dir=here").code == 0
    called = cli(*RUN, "--multirun", *sweep, "output_dir=there", f"hydra/launcher={launcher}")
    assert called.code == 0, called.err
    assert results(Path("there")) == results(Path("here")) != {}
    lines = re.findall(r"^(\d+)/(\d+)  .*  there/\S+$", called.out, re.MULTILINE)
    cells = len(list(Path("there").iterdir()))
    assert lines == [(str(i), str(cells)) for i in range(1, cells + 1)]  # told as they end
    assert not Path("runs/.multirun").exists()


@pytest.mark.parametrize("launcher", ["joblib", "submitit_local"])
def test_two_cells_are_the_same_in_other_processes(launcher: str, files: Path, cli: Cli) -> None:
    same_under(launcher, cli, "system=predictions", "system.path=good.jsonl,bad.jsonl")


@pytest.mark.slow
@pytest.mark.parametrize("launcher", ["joblib", "submitit_local", "ray"])
def test_twelve_cells_are_the_same_in_other_processes(launcher: str, files: Path, cli: Cli) -> None:
    needs_plugin(f"hydra_{launcher.removesuffix('_local')}_launcher")
    same_under(launcher, cli, "system=lead,lexrank", "system.sentences=1,2,3", "postprocess.lowercase=true,false")


# ---------------------------------------------------------------- one cell fails


@pytest.fixture
def losing(basic: Any, monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """A launcher that breaks off, as joblib does, when the cell of bad.jsonl ends its process; the calls of it."""
    calls: list[list[str]] = []
    launch = basic.launch

    def broken(self: Any, job_overrides: Sequence[Sequence[str]], initial_job_idx: int) -> Any:
        calls.append([word for words in job_overrides for word in words if word.startswith("system.path")])
        returns = []
        for i, overrides in enumerate(job_overrides):
            if "system.path=bad.jsonl" in overrides:
                Marks(self.config.hydra.sweep.dir).begin(initial_job_idx + i)
                raise RuntimeError("a worker was killed\nmore of it")
            returns += launch(self, [overrides], initial_job_idx + i)
        return returns

    monkeypatch.setattr(basic, "launch", broken)
    return calls


def test_the_command_that_is_told_tries_a_failed_cell_again(files: Path, cli: Cli) -> None:
    """Also outputs that failed, which the command as it was typed takes for answered."""
    (files / "mine.py").write_text(FUNCTIONS)
    system = ("system=python", "system.function=mine.py:refused", "++system.options.ask=1,2")
    called = cli(*RUN, "--multirun", *system)
    assert called.code == 1
    assert "examples failed, the first with: ValueError: no quota" in called.err
    (files / "mended").touch()
    again = shlex.split(called.err.rpartition("To try these again:")[2])
    called = cli(*again[1:])
    assert called.code == 0, called.err


def test_a_cell_whose_process_is_lost_ends_no_other(files: Path, cli: Cli, losing: list[list[str]]) -> None:
    (files / "also.jsonl").write_bytes((files / "good.jsonl").read_bytes())
    called = cli(*RUN, "--multirun", "system=predictions", "system.path=good.jsonl,bad.jsonl,also.jsonl")
    assert called.code == 1
    assert "cell 1 (path=bad.jsonl) failed: its process was lost: a worker was killed" in called.err
    assert "1 of 3 cells failed:\n  1 path=bad.jsonl: its process was lost" in called.err
    assert "also" in called.out and "good" in called.out.partition("95% intervals")[2]
    paths = [f"system.path={name}.jsonl" for name in ("good", "bad", "also")]
    assert losing == [paths, paths[1:2], paths[2:]]  # what had begun alone, the rest together


@pytest.mark.slow
@pytest.mark.parametrize("launcher", ["joblib", "submitit_local"])
def test_a_killed_process(launcher: str, files: Path, cli: Cli) -> None:
    (files / "functions.py").write_text(FUNCTIONS)
    called = cli(
        *RUN, "--multirun", "--json", f"hydra/launcher={launcher}", "system=python",
        "system.function='functions.py:copy','functions.py:kill','functions.py:shout'", "system.batch_size=1,2",
    )  # fmt: skip
    assert called.code == 1
    answer = json.loads(called.out)
    assert [failure["cell"] for failure in answer["failures"]] == [2, 3]
    assert all("its process was lost" in failure["error"] for failure in answer["failures"])
    assert {run["system"] for run in answer["runs"]} == {"copy", "shout"}


def test_a_cell_that_leaves_no_word(files: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    end = Marks.end
    monkeypatch.setattr(
        Marks, "end", lambda self, ended: None if ended.value is None and ended.seconds else end(self, ended)
    )
    called = cli(*CELLS)
    assert called.code == 1
    assert "cell 0 (path=good.jsonl) failed: its process was lost: it left no word of how it ended" in called.err
    assert "2 of 2 cells failed" in called.err


def test_an_error_that_nobody_expected(files: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    from harness.run import runner

    run = runner.run

    def faulty(job: Any, progress: Any) -> Any:
        if job.system.name == "bad":
            raise TypeError("nobody thought of this")
        return run(job, progress)

    monkeypatch.setattr(runner, "run", faulty)
    called = cli(*CELLS, "--json")
    assert called.code == 1
    answer = json.loads(called.out)
    assert [run["system"] for run in answer["runs"]] == ["good"]
    assert answer["failures"] == [{"cell": 1, "label": "path=bad.jsonl", "error": "TypeError: nobody thought of this"}]
    assert "cell 1 (path=bad.jsonl) failed: TypeError: nobody thought of this" in called.err
    assert "Traceback" in called.err  # it is worth one
    assert "1 of 2 cells failed:\n  1 path=bad.jsonl" in called.err


@pytest.mark.slow
def test_submitit_says_why(files: Path, cli: Cli) -> None:
    called = cli(
        *RUN,
        "--multirun",
        "system=predictions",
        "system.path=nowhere.jsonl,good.jsonl",
        "hydra/launcher=submitit_local",
    )
    assert called.code == 1
    assert "cell 0 (path=nowhere.jsonl) failed: nowhere.jsonl does not exist" in called.err
    assert "1 of 2 cells failed:" in called.err


def test_a_folder_that_another_process_writes(files: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is waited for: what that process makes is the same run."""
    from harness.store import folder as store
    from harness.store.folder import opened

    assert cli(*CELLS, "output_dir=out").code == 0
    (folder,) = Path("out").glob("dev-bad-*")
    begun, awaited, held = threading.Event(), threading.Event(), store.held

    def write() -> None:
        with opened(folder):
            begun.set()
            awaited.wait(60)

    def waiting(path: Path, patience: float) -> Any:
        if patience == store.FOREVER:
            awaited.set()
        return held(path, patience)

    monkeypatch.setattr(store, "held", waiting)
    other = threading.Thread(target=write)
    other.start()
    begun.wait()
    called = cli(*CELLS, "output_dir=out")
    other.join()
    assert called.code == 0
    assert f"another process is writing the run folder {folder}, which is waited for" in called.err
    alone = ("run", *RUN[1:], "system=predictions", "system.path=bad.jsonl", f"output_dir={folder}")
    with opened(folder):
        refused = cli(*alone)
    assert refused.code == 1 and "expected to be the only one" in refused.err


def test_cells_that_are_one_run_at_the_same_time(files: Path, cli: Cli) -> None:
    """The second waits for the first and takes its result."""
    (files / "functions.py").write_text(SLOW)
    called = cli(
        *RUN, "--multirun", "hydra/launcher=joblib", "hydra.launcher.n_jobs=3", "system=python", "limit=1,2,2",
        "system.function=functions.py:slow", "cache=none", "output_dir=out",
    )  # fmt: skip
    assert called.code == 0, called.err
    assert "the cells 1 and 2 have the same key, and are one run: limit=2" in called.err
    assert len(results(Path("out"))) == 2 * len(RESULT)
    assert len(Path("calls.txt").read_text().splitlines()) == 3
    assert [cell["state"] for cell in json.loads(cli("sweep", "out", "--json").out)["cells"]] == ["done", "done"]


# ---------------------------------------------------------------- what is left on disk


@pytest.mark.slow
def test_jobs_of_submitit_hold_no_secret(files: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    (files / "functions.py").write_text(FUNCTIONS)
    secret = "sk-abcdefgh0123456789abcdefgh0123456789"
    monkeypatch.setattr(Marks, "remove", lambda self: None)  # as if it had been killed
    called = cli(
        *RUN, "--multirun", "hydra/launcher=submitit_local", "system=python", "system.function=functions.py:copy",
        f"+system.options.api_key={secret}", "limit=1,2",
    )  # fmt: skip
    assert called.code == 0, called.err
    left = [path for path in Path("runs").rglob("*") if path.is_file()]
    assert [path for path in left if path.name.endswith("_submitted.pkl")] != []
    assert [path for path in left if path.name.endswith("_result.pkl")] != []
    assert [path for path in left if secret.encode() in path.read_bytes()] == []


def test_rows_stand_in_the_sweeps_order(files: Path, cli: Cli, basic: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    launch = basic.launch

    def backwards(self: Any, job_overrides: Sequence[Sequence[str]], initial_job_idx: int) -> Any:
        """As where the first cell takes longest."""
        numbered = list(enumerate(job_overrides, start=initial_job_idx))
        return [launch(self, [overrides], number)[0] for number, overrides in reversed(numbered)][::-1]

    monkeypatch.setattr(basic, "launch", backwards)
    called = cli(*CELLS)
    rows = [line.split()[0] for line in called.out.partition("system ")[2].splitlines()[1:5:2]]
    assert rows == ["good", "bad"]


def submitted(sweep: Path, scheduler: str, job: str) -> Path:
    """A job that a scheduler has and that gave no result yet."""
    Marks(sweep).hand_over(scheduler)
    pickle = sweep / ".submitit" / job / f"{job}_submitted.pkl"
    pickle.parent.mkdir(parents=True)
    pickle.write_bytes(b"sealed")
    return pickle


def test_ctrl_c_leaves_what_queued_jobs_need(
    files: Path, cli: Cli, basic: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def queue(self: Any, job_overrides: Sequence[Sequence[str]], initial_job_idx: int) -> Any:
        submitted(Path(self.config.hydra.sweep.dir), "slurm", "7")
        raise KeyboardInterrupt

    monkeypatch.setattr(basic, "launch", queue)
    called = cli(*CELLS)
    assert called.code == 130
    (kept,) = Path("runs/.multirun").rglob("*_submitted.pkl")
    assert kept.read_bytes() == b"sealed"
    said = "interrupted (0 of 2 cells have ended; jobs that were submitted go on by themselves); every finished batch"
    assert said in called.err
    assert "--multirun system=predictions" in called.err  # the command that goes on


def test_leftovers_are_removed_by_the_next_sweep(files: Path, cli: Cli) -> None:
    below = Path("runs/.multirun")
    for name in ("killed", "ended", "old"):
        Marks(below / name).end(Ended(0))
    queued, running = (
        submitted(below / "queued", "slurm", "8_0"),
        submitted(below / "running", "local", str(os.getpid())),
    )
    submitted(below / "gone", "local", "999999999")
    old = submitted(below / "old", "slurm", "9")
    os.utime(old, (0, old.stat().st_mtime - SLOWEST - 1))
    with Marks(below / "held").kept():
        assert cli(*CELLS).code == 0
        assert sorted(path.name for path in below.iterdir()) == ["held", "queued", "running"]
    assert queued.exists() and running.exists()


# ---------------------------------------------------------------- Hydra 1.4, and plug-ins with pins of their own


@pytest.mark.slow
def test_hydras_own_optimiser(files: Path, cli: Cli) -> None:
    """It gets a number of each cell, and is told of those that failed."""
    needs_plugin("hydra_optuna_sweeper")
    called = cli(
        *RUN, "--multirun", "hydra/sweeper=optuna", "hydra.sweeper.n_trials=4", "hydra.sweeper.direction=maximize",
        "hydra.sweeper.storage=sqlite:///study.db", "hydra.sweeper.study_name=s", "objective=bleu", "system=lead",
        "hydra.sweeper.sampler.seed=1", "system.sentences=range(0,3)",
    )  # fmt: skip
    import optuna

    trials = optuna.load_study(study_name="s", storage="sqlite:///study.db").trials
    failed = [trial for trial in trials if trial.params["system.sentences"] == 0]
    assert [trial.state.name for trial in failed] == ["FAIL"] * len(failed)
    assert all(trial.state.name == "COMPLETE" and trial.values for trial in trials if trial not in failed)
    assert called.code == (1 if failed else 0)


@pytest.mark.slow
def test_hydras_own_optimiser_whose_cells_all_fail(files: Path, cli: Cli) -> None:
    """It then asks for the best of none, and falls over."""
    needs_plugin("hydra_optuna_sweeper")
    called = cli(
        *RUN, "--multirun", "hydra/sweeper=optuna", "hydra.sweeper.n_trials=2", "objective=bleu", "system=lead",
        "system.sentences=range(0,1)",
    )  # fmt: skip
    assert called.code == 1
    assert "the sweeper ended with ValueError: " in called.err and "best_trial" not in called.err
    assert "2 of 2 cells failed:\n  0 sentences=0: system.sentences=0; expected at least 1" in called.err


@pytest.mark.slow
def test_all_of_it_with_hydra_1_4(tmp_path: Path) -> None:
    plugins = ("hydra-joblib-launcher", "hydra-submitit-launcher", "hydra-ray-launcher", "hydra-optuna-sweeper")
    wanted = [f"{name}==1.4.0rc3" for name in ("hydra-core", *plugins)]
    pip = [sys.executable, "-m", "pip", "install", "-qq", "--no-deps", "--target", str(tmp_path)]
    installed = subprocess.run([*pip, *wanted, "omegaconf==2.4.1rc1"], capture_output=True, text=True)
    if installed.returncode:
        pytest.skip(f"Hydra 1.4 cannot be installed here: {installed.stderr.strip().splitlines()[-1]}")
    names = ("test_launchers", "test_optimising", "test_race", "test_shared_cells", "test_sweep", "test_varied")
    names += ("test_json", "test_loading_once", "test_reading_yaml")
    run = subprocess.run(
        [
            sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "",
            "--deselect", "tests/cli/test_launchers.py::test_all_of_it_with_hydra_1_4",
            *(f"tests/cli/{name}.py" for name in names),
        ],
        cwd=ROOT, env={**os.environ, "PYTHONPATH": str(tmp_path)}, capture_output=True, text=True,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout[-3000:]
