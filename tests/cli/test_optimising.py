"""`objective=…` and `hydra/sweeper=harness`: what is returned, what is refused, and that a killed study goes on as if
nothing had been."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.cli.hydra.space import space
from harness.cli.hydra.studies import Trials, Wanted
from tests.conftest import Called, interrupted

optuna = pytest.importorskip("optuna")
Cli = Callable[..., Called]
RUN = ("run", "dataset=file", "dataset.path=dev.jsonl", "metrics=[bleu,ter]", "tracking=none", "stats.resamples=20")
SWEEP = (*RUN, "--multirun", "hydra/sweeper=harness", "hydra.sweeper.study=trial", "progress=false")
TOY = (*SWEEP, "system=python", "system.function=toy.py:answer", "+system.options.x=interval(0.0,1.0)")
FUNCTION = """
def answer(example, x):
    '''Good near 0.3: the right words, and the more wrong ones the further away.'''
    if x > 2:
        raise RuntimeError("too far")
    return " ".join(["the cat sat down"] + ["wrong"] * round(abs(x - 0.3) * 40))
"""


@pytest.fixture
def toy(files: Path) -> Path:
    (files / "toy.py").write_text(FUNCTION)
    return files


def study(name: str = "trial") -> Any:
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend

    return optuna.load_study(
        study_name=name, storage=JournalStorage(JournalFileBackend(f"runs/.studies/{name}.journal"))
    )


def tried() -> list[tuple[Any, ...]]:
    return [(trial.number, trial.params, trial.values, trial.state.name) for trial in study().trials]


def test_the_best_is_found(toy: Path, cli: Cli) -> None:
    called = cli(*TOY, "objective=bleu", "hydra.sweeper.trials=15")
    assert called.code == 0, called.err
    best = study().best_trial
    assert abs(best.params["+system.options.x"] - 0.3) < 0.1
    assert f"(trial {best.number})" in called.out
    assert "15/15" in called.out


SAMPLERS = ["tpe", *(pytest.param(name, marks=pytest.mark.slow) for name in ("cmaes", "nsgaii", "random"))]


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_a_killed_study_goes_on_as_if_nothing_had_been(sampler: str, toy: Path, cli: Cli) -> None:
    options = (*TOY, "objective=bleu", f"hydra.sweeper.sampler={sampler}", "hydra.sweeper.trials=6")
    options = (*options, "hydra.sweeper.at_once=2", "limit=2", "metrics=bleu", "+system.options.y=interval(0,9)")
    (toy / "toy.py").write_text(FUNCTION.replace("example, x", "example, x, y"))
    assert cli(*options).code == 0
    whole = tried()
    Path("runs").rename("whole")
    with interrupted(after=3):
        assert cli(*options).code == 130
    assert len([state for *_, state in tried() if state == "RUNNING"]) == 2
    assert cli(*options).code == 0
    assert tried() == whole


@pytest.mark.slow
def test_a_trial_whose_process_ended_while_it_asked(toy: Path, cli: Cli) -> None:
    options = (*TOY, "objective=bleu", "hydra.sweeper.trials=3")
    assert cli(*options).code == 0
    whole = tried()
    Path("runs").rename("whole")
    assert cli(*TOY, "objective=bleu", "hydra.sweeper.trials=2").code == 0
    unasked = study()
    unasked._storage.create_new_trial(unasked._study_id)
    assert cli(*options).code == 0
    assert tried() == whole


def test_failed_trials_are_told_as_failed_and_tried_again(toy: Path, cli: Cli) -> None:
    options = (
        *SWEEP,
        "system=python",
        "system.function=toy.py:answer",
        "+system.options.x=0.5,3,0.3",
        "objective=bleu",
    )
    options = (*options, "hydra.sweeper.sampler=grid", "hydra.sweeper.trials=null")
    called = cli(*options)
    assert called.code == 1
    assert [state for *_, state in tried()] == ["COMPLETE", "FAIL", "COMPLETE"]
    assert "cell 1 (" in called.err and "all 4 examples failed" in called.err
    assert called.err.rstrip().endswith("retry_failed=true")  # the same command takes it for told
    nothing_left = cli(*options)
    assert nothing_left.code == 0 and "2 complete, 1 failed (retry_failed=true tries" in nothing_left.out
    (toy / "toy.py").write_text(FUNCTION.replace("x > 2", "x > 5"))
    assert cli(*options, "retry_failed=true").code == 0
    assert [state for *_, state in tried()] == ["COMPLETE", "FAIL", "COMPLETE", "COMPLETE"]
    assert tried()[3][1] == tried()[1][1]


def test_several_objectives_and_their_directions(toy: Path, cli: Cli) -> None:
    called = cli(
        *TOY, "objective=[bleu.low,ter,-generation/seconds]", "hydra.sweeper.sampler=nsgaii", "hydra.sweeper.trials=2"
    )
    assert called.code == 0, called.err
    assert [direction.name for direction in study().directions] == ["MAXIMIZE", "MINIMIZE", "MAXIMIZE"]
    assert all(len(trial.values) == 3 and trial.values[2] <= 0 for trial in study().trials)
    assert "\nnot beaten in all of them at once:\n  -  " in called.out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("objective=bleuu",), "objective=bleuu: no chosen metric has it (did you mean 'bleu'?); expected bleu, ter"),
        (("objective=[bleu,rouge1]",), "objective=rouge1: no chosen metric has it"),
        (("objective=bleu.low", "stats.resamples=0"), "objective=bleu.low with stats.resamples=0"),
        (("objective=[bleu,bleu]",), "objective=[bleu,bleu] has bleu twice; expected each once"),
        (("objective=3",), "objective=3; expected the name of a score, or a list of names"),
        (("objective=bleu", "metrics=[]"), "no metric was chosen"),
        ((), "hydra/sweeper=harness without an objective"),
        (("objective=bleu", "dry_run=true"), "dry_run with hydra/sweeper=harness"),
        (("objective=bleu", "hydra.sweeper.sampler=tpee"), "hydra.sweeper.sampler=tpee"),
        (("objective=bleu", "hydra.sweeper.sampler=grid"), "+system.options.x is an interval"),
        (("objective=bleu", "hydra.sweeper.study=../x"), "hydra.sweeper.study=../x; expected a name that a file can have"),
        (("objective=bleu", "+hydra.sweeper.options.no=1"), "expected options of the sampler"),
    ],
)  # fmt: skip
def test_refused_before_the_first_cell(words: tuple[str, ...], message: str, toy: Path, cli: Cli) -> None:
    called = cli(*TOY, *words)
    assert called.code == 1
    assert called.err.startswith("harness: ") and message in called.err
    assert called.err.count("\n") == 1
    assert not Path("runs/harness").exists()


def test_an_objective_is_checked_under_any_sweeper(files: Path, cli: Cli) -> None:
    called = cli(*RUN, "--multirun", "system=copy,lead", "objective=blue")
    assert (called.code, called.err.count("\n")) == (1, 1)
    assert "objective=blue: no chosen metric has it" in called.err


def test_an_objective_is_checked_in_a_run_alone(files: Path, cli: Cli) -> None:
    called = cli(*RUN, "system=copy", "objective=blue")
    assert (called.code, called.err.count("\n")) == (1, 1)
    assert "objective=blue: no chosen metric has it" in called.err and not Path("runs").exists()


def test_an_objective_that_is_missing_in_a_cell(files: Path, cli: Cli) -> None:
    called = cli(*RUN, "--multirun", "system=copy,lead", "objective=generation/cost")
    assert called.code == 1
    assert "cell 0 (copy) failed: objective=generation/cost is missing in dev-copy: its system says" in called.err


def test_the_lock_of_a_journal_lets_one_thread_in_and_leaves_nothing(tmp_path: Path) -> None:
    """filelock's own objects complain when Python ends while one is left."""
    import threading
    import time

    from harness.cli.hydra.studies import _Lock

    lock, inside, most = _Lock(str(tmp_path / "lock")), [0], [0]

    def work() -> None:
        for _ in range(20):
            lock.acquire()
            inside[0] += 1
            most[0] = max(most[0], inside[0])
            time.sleep(0.0005)
            inside[0] -= 1
            lock.release()

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1] and lock._lock is None


def test_nothing_to_vary(toy: Path, cli: Cli) -> None:
    called = cli(*SWEEP, "system=lead", "objective=bleu")
    assert (called.code, called.err.count("\n")) == (1, 1)
    assert "the sweep varies nothing" in called.err


def test_a_study_of_another_space(toy: Path, cli: Cli) -> None:
    assert cli(*TOY, "objective=bleu", "hydra.sweeper.trials=1").code == 0
    for more in (("objective=ter",), ("objective=bleu", "+system.options.x=interval(0.0,2.0)")):
        called = cli(*TOY, *more, "hydra.sweeper.trials=1")
        assert (called.code, called.err.count("\n")) == (1, 1)
        assert "the study trial in runs/.studies/trial.journal is of another space" in called.err
    assert len(study().trials) == 1


def test_the_space_in_hydras_syntax() -> None:
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    words = [
        "a=1,b",
        "c=range(1,9,2)",
        "d=int(interval(0,1))",
        "e=interval(0.5,2)",
        "f=tag(log,int(interval(1,100)))",
        "g=7",
    ]
    words += ["h=range(0,1,0.25)", "i=tag(log,interval(0.001,1.0))", "j=choice(true,no)"]
    made = space(words, None)
    assert made.fixed == ["g=7"]
    assert made.parameters == {
        "a": CategoricalDistribution(["1", "b"]),
        "c": IntDistribution(1, 7, step=2),
        "d": IntDistribution(0, 1),
        "e": FloatDistribution(0.5, 2.0),
        "f": IntDistribution(1, 100, log=True),
        "h": FloatDistribution(0.0, 0.75, step=0.25),
        "i": FloatDistribution(0.001, 1.0, log=True),
        "j": CategoricalDistribution(["True", "no"]),
    }
    grid = space(["a=1,b", "c=range(1,4)"], None).grid
    assert grid == [{"a": a, "c": c} for a in ("1", "b") for c in (1, 2, 3)]
    assert space(["a=x,y", "z=1"], None).overrides({"a": "y"}) == ["z=1", "a=y"]


def test_another_process_may_make_the_same_tables(toy: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    create, refusals = optuna.create_study, ["UNIQUE constraint failed: alembic_version", "table x already exists"]

    def contested(**options: Any) -> Any:
        if refusals:
            raise RuntimeError(refusals.pop())
        return create(**options)

    monkeypatch.setattr(optuna, "create_study", contested)
    monkeypatch.setattr("harness.cli.hydra.studies.PAUSES", (0.0, 0.0))
    called = cli(*TOY, "objective=bleu", "hydra.sweeper.trials=1", "hydra.sweeper.storage=sqlite:///study.db")
    assert called.code == 0, called.err


@pytest.mark.parametrize("sampler", ["random", "grid"])
def test_processes_that_ask_at_once_get_what_one_would(
    sampler: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a database: a trial's number is known only when it is there."""
    searched = space(["x=range(0,40)"], None)

    def trials(name: str, total: int = 3) -> Trials:
        options = Wanted(sampler, total, 1, 0, "s", f"sqlite:///{tmp_path}/{name}.db", {})
        return Trials(options, searched, {"bleu": "maximize"}, "s")

    def asked(trials: Trials) -> list[Any]:
        return [(trial.number, trial.params["x"]) for trial in trials.batch()]

    monkeypatch.setattr(Trials, "_lost", lambda self, trial: False)  # each is another process, and lives
    alone, first, second = trials("alone"), trials("shared"), trials("shared")
    expected = [asked(alone) for _ in range(3)]
    ask = first.study.ask
    monkeypatch.setattr(first.study, "ask", lambda: (meanwhile.append(asked(second)), ask())[1])
    meanwhile: list[Any] = []
    assert asked(first) == expected[1]
    assert meanwhile == expected[:1]
    assert asked(first) == []  # the other one has asked for the last one
    assert meanwhile[1:] == expected[2:]
    assert first.counts == {"RUNNING": 3}
    first.again()
    assert len(first.study.trials) == 4  # the spare one is none that failed


def test_trials_that_are_tried_again_at_once_bring_no_others(toy: Path, cli: Cli) -> None:
    options = (*SWEEP, "system=python", "system.function=toy.py:answer", "+system.options.x=3,4,0.3,0.4,0.5,0.6")
    options = (*options, "objective=bleu", "hydra.sweeper.sampler=grid", "hydra.sweeper.trials=null")
    assert cli(*options).code == 1
    assert cli(*options, "hydra.sweeper.at_once=4", "retry_failed=true").code == 1
    failed = ["FAIL", "FAIL"]
    assert [state for *_, state in tried()] == [*failed, *["COMPLETE"] * 4, *failed]


@pytest.mark.slow
def test_a_study_in_a_database_of_two_processes(toy: Path) -> None:
    import subprocess

    words = (*TOY, "objective=bleu", "hydra.sweeper.trials=8", "hydra.sweeper.storage=sqlite:///study.db")
    workers = [subprocess.Popen([sys.executable, "-m", "harness", *words], cwd=toy) for _ in range(2)]
    assert [worker.wait() for worker in workers] == [0, 0]
    both = optuna.load_study(study_name="trial", storage=f"sqlite:///{toy}/study.db")
    states = [trial.state.name for trial in both.trials]
    assert states.count("COMPLETE") == 8


@pytest.mark.parametrize("sweeper", ["basic", "race"])
def test_an_interval_is_nothing_for_a_grid(sweeper: str, cli: Cli) -> None:
    called = cli("run", "--multirun", f"hydra/sweeper={sweeper}", "system=lexrank", "system.threshold=interval(0,1)")
    assert called.code == 1
    assert called.err.startswith("harness: a grid tries every value, and an interval has no end of them; expected")


def test_what_goes_on_counts_the_trials_that_are_left(toy: Path, cli: Cli) -> None:
    assert "\n2/2  " in cli(*TOY, "objective=bleu", "hydra.sweeper.trials=2").out
    assert cli(*TOY, "objective=bleu", "hydra.sweeper.trials=3").out.startswith("1/1  ")
