"""An Optuna study: opened or found again, asked for trials, told what they came to.

Each trial's sampler is seeded by the number of that trial, and what a sampler knows is in the storage: a sweep that was
killed goes on as if nothing had been. A trial that was running then is run again, with the same parameters; what its
cell finished is in its run folder. Several processes and machines may work on one study: a trial is theirs while they
are seen.
"""

from __future__ import annotations

import json
import os
import socket
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.cli.hydra.space import Space
from harness.inputs.files import digest
from harness.inputs.living import is_alive
from harness.inputs.locks import NoLocks, held
from harness.inputs.project import runs_folder
from harness.types import HarnessError, check_choice, check_least

SAMPLERS = ("tpe", "cmaes", "nsgaii", "grid", "random")
STUDIES = ".studies"
OWNER, SEEN, SPACE, RETRY = "harness:owner", "harness:seen", "harness:space", "harness:retry"
FIXED = "fixed_params"
"""Where Optuna keeps the parameters of a trial that are not for a sampler to choose."""
BEAT = 30.0
"""Seconds between two signs of life."""
LOST = 600.0
"""Seconds without one after which a trial of another machine is taken over."""
CONTESTED = ("already exists", "unique constraint failed", "duplicate key", "database is locked")
"""What databases say where several processes make the same tables at once."""
PAUSES = (0.5, 1.0, 2.0)
"""Seconds before each further try to open such a database."""


@dataclass(frozen=True)
class Wanted:
    """The options of `hydra/sweeper=harness`."""

    sampler: str
    trials: int | None
    at_once: int
    seed: int
    study: str | None
    storage: str | None
    options: Mapping[str, Any]

    def __post_init__(self) -> None:
        check_choice("hydra.sweeper.sampler", self.sampler, SAMPLERS)
        check_least("hydra.sweeper.trials", self.trials)
        check_least("hydra.sweeper.at_once", self.at_once)
        if self.study is not None and self.storage is None and Path(self.study).name != self.study:
            raise HarnessError(
                f"hydra.sweeper.study={self.study}; expected a name that a file can have, without slashes"
            )
        if self.trials is None and self.sampler != "grid":
            raise HarnessError(f"hydra.sweeper.trials=null with the sampler {self.sampler}; expected how many to try")
        if self.options and self.sampler == "grid":
            raise HarnessError("hydra.sweeper.options with the sampler grid, which has none; expected none")


class Trials:
    """The trials of a study."""

    def __init__(self, wanted: Wanted, space: Space, directions: Mapping[str, str], name: str) -> None:
        """`directions`: `maximize` or `minimize` of each objective."""
        self.wanted, self.space, self.name = wanted, space, wanted.study or name
        self.grid = space.grid if wanted.sampler == "grid" else []
        self.total = len(self.grid) if self.grid and wanted.trials is None else int(wanted.trials or 0)
        if self.grid:
            self.total = min(self.total, len(self.grid))
        self.place = wanted.storage or str(runs_folder() / STUDIES / f"{self.name}.journal")
        self.study = self._opened(directions)

    def _opened(self, directions: Mapping[str, str]) -> Any:
        try:
            with self._alone():
                study = self._made(list(directions.values()))
                described = self._described(directions)
                known = study.user_attrs.get(SPACE, described if not study.trials else None)
                if known != described:
                    raise HarnessError(
                        f"the study {self.name} in {self.place} is of another space{_difference(known, described)}; "
                        "expected the same parameters and objectives, or another name (hydra.sweeper.study=…)"
                    )
                study.set_user_attr(SPACE, described)
        except (HarnessError, NoLocks):
            raise
        except Exception as error:  # of the database's own kind
            raise HarnessError(
                f"the study {self.name} cannot be opened in {self.place} ({str(error).splitlines()[0]}); expected a "
                "file that can be written, or the URL of a database (sqlite:///…, postgresql://…)"
            ) from error
        return study

    def _made(self, directions: Sequence[str]) -> Any:
        """The study, new or as it is; of processes that make a new database's tables at once, only one is served at
        first."""
        import optuna

        optuna.logging.set_verbosity(optuna.logging.WARNING)
        for pause in (*PAUSES, None):
            try:
                return optuna.create_study(
                    study_name=self.name, storage=self._storage(), directions=list(directions), load_if_exists=True
                )
            except Exception as error:
                if pause is None or not any(word in str(error).lower() for word in CONTESTED):
                    raise
                time.sleep(pause)
        raise AssertionError("the last try returns or raises")

    def _storage(self) -> Any:
        from optuna.storages import JournalStorage
        from optuna.storages.journal import JournalFileBackend

        if "://" in self.place:
            return self.place
        Path(self.place).parent.mkdir(parents=True, exist_ok=True)
        return JournalStorage(JournalFileBackend(self.place, lock_obj=_Lock(f"{self.place}.lock")))

    def _described(self, directions: Mapping[str, str]) -> dict[str, Any]:
        from optuna.distributions import distribution_to_json

        parameters = {name: json.loads(distribution_to_json(own)) for name, own in self.space.parameters.items()}
        return {"parameters": parameters, "objectives": dict(directions)}

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """One process at a time asks, where the study is a file; a database has its own order."""
        if "://" in self.place:
            yield
            return
        with held(Path(f"{self.place}.asking"), LOST):
            yield

    # ------------------------------------------------------------ asking

    @property
    def left(self) -> int:
        """How many have not ended, those to be tried once more among them."""
        trials = self.study.get_trials(deepcopy=False)
        ended = [trial for trial in trials if _first(trial) and trial.state.is_finished()]
        waiting = [trial for trial in trials if trial.state.name == "WAITING"]
        return self.total - len(ended) + len(waiting)

    def batch(self) -> list[Any]:
        """The next trials to run at once: first those whose process is gone, then new ones; empty where all are."""
        with self._alone():
            trials = self.study.get_trials(deepcopy=False)
            lost = [trial for trial in trials if self._lost(trial)][: self.wanted.at_once]
            chosen = [self._taken_over(trial) for trial in lost]
            waiting = sum(trial.state.name == "WAITING" for trial in trials)  # to be tried once more
            count, number = sum(map(_first, trials)), len(trials)
            while len(chosen) < self.wanted.at_once and (waiting or count < self.total):
                if chosen and not waiting and number % self.wanted.at_once == 0:  # the batch that was broken off
                    break
                trial = self._asked()
                if trial is None:
                    break
                chosen.append(trial)
                waiting, count, number = (waiting - 1, count, number) if waiting else (0, count + 1, number + 1)
        return chosen

    def _asked(self) -> Any:
        """The next trial that waits, or a new one; None where other processes have asked for the last ones.

        Its number is known before anything is chosen by it: in a database another process may ask at the same time.
        """
        from optuna.samplers import RandomSampler
        from optuna.trial import TrialState

        self.study.sampler = RandomSampler()  # which chooses nothing before it is asked to
        asked = self.study.ask().number
        trials = self.study.get_trials(deepcopy=False)
        if _first(trials[asked]) and self._place(asked) >= self.total:
            self.study.tell(asked, state=TrialState.FAIL)
            return None
        return self._taken_over(trials[asked])

    def _place(self, number: int) -> int:
        """Of a trial among those that are wanted: which of a grid it is."""
        return sum(map(_first, self.study.get_trials(deepcopy=False)[:number]))

    def _taken_over(self, lost: Any) -> Any:
        """A trial whose process is gone, with all its parameters: it may have ended while it asked for them."""
        from optuna.trial import Trial

        self._claim(lost)
        if self.grid and FIXED not in lost.system_attrs:
            self.study._storage.set_trial_system_attr(lost._trial_id, FIXED, self.grid[self._place(lost.number)])
        self.study.sampler = self._sampler(lost.number)
        trial = Trial(self.study, lost._trial_id)
        for name, distribution in self.space.parameters.items():
            trial._suggest(name, distribution)  # what it has stays
        return self.study.get_trials(deepcopy=False)[lost.number]

    def _sampler(self, number: int) -> Any:
        from optuna import samplers

        seed = int(digest([self.wanted.seed, number])[:8], 16)
        options = dict(self.wanted.options)
        try:
            if self.wanted.sampler == "cmaes":
                chance = samplers.RandomSampler(seed)
                return samplers.CmaEsSampler(
                    seed=seed, independent_sampler=chance, warn_independent_sampling=False, **options
                )
            kinds = {"tpe": samplers.TPESampler, "nsgaii": samplers.NSGAIISampler}
            return kinds.get(self.wanted.sampler, samplers.RandomSampler)(seed=seed, **options)
        except TypeError as error:
            raise HarnessError(f"hydra.sweeper.options={options}: {error}; expected options of the sampler") from None

    def again(self) -> None:
        """Trials that failed are tried once more, with the same parameters."""
        from optuna.trial import TrialState

        with self._alone():
            trials = self.study.get_trials(deepcopy=False)
            retried = {trial.user_attrs.get(RETRY) for trial in trials}
            for trial in trials:
                if trial.state == TrialState.FAIL and trial.params and trial.number not in retried:
                    self.study.enqueue_trial(trial.params, user_attrs={RETRY: trial.number})

    # ------------------------------------------------------------ telling

    def tell(self, number: int, value: float | Sequence[float] | None) -> None:
        """What a trial came to; None: it failed."""
        from optuna.trial import TrialState

        self.study.sampler = self._sampler(number)
        with suppress(ValueError):  # told by another machine, which had taken it over
            if value is None:
                self.study.tell(number, state=TrialState.FAIL)
            else:
                self.study.tell(number, value)

    @property
    def best(self) -> list[Any]:
        """The best trial, or those of the Pareto front."""
        return list(self.study.best_trials)

    @property
    def counts(self) -> dict[str, int]:
        states = [trial.state.name for trial in self.study.get_trials(deepcopy=False) if not _spare(trial)]
        return {state: states.count(state) for state in dict.fromkeys(states)}

    # ------------------------------------------------------------ whose trials they are

    def _lost(self, trial: Any) -> bool:
        """Whether a trial is running for nobody. One of this process is: it asks when it has told of all it asked for.
        In a database one that has no owner yet may be another process's, which is asking."""
        if trial.state.name != "RUNNING":
            return False
        host, process = trial.user_attrs.get(OWNER, ("", 0))
        if host == socket.gethostname():
            return process == os.getpid() or not is_alive(process)
        began = trial.datetime_start.timestamp() if "://" in self.place else 0.0
        return bool(time.time() - trial.user_attrs.get(SEEN, began) > LOST)

    def _claim(self, trial: Any) -> None:
        self._note(trial, OWNER, [socket.gethostname(), os.getpid()])
        self._note(trial, SEEN, time.time())

    def _note(self, trial: Any, name: str, value: Any) -> None:
        self.study._storage.set_trial_user_attr(trial._trial_id, name, value)

    @contextmanager
    def alive(self, trials: Sequence[Any]) -> Iterator[None]:
        """Signs of life while trials are run."""
        done = threading.Event()

        def beat() -> None:
            while not done.wait(BEAT):
                for trial in trials:
                    with suppress(Exception):  # a storage that is busy now is not worth the trial
                        self._note(trial, SEEN, time.time())

        thread = threading.Thread(target=beat, daemon=True)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()


def _first(trial: Any) -> bool:
    """Whether it is one of those that are wanted, and not one of them tried once more."""
    return RETRY not in trial.user_attrs and not _spare(trial)


def _spare(trial: Any) -> bool:
    """Whether it was one too many."""
    return trial.state.name == "FAIL" and not trial.params


class _Lock:
    """For Optuna's journal: a lock that ends with the process that holds it; Optuna's own outlives one."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._lock: Any = None
        """While it is held: one that outlived the study would complain when Python ends."""

    def acquire(self) -> bool:
        from filelock import FileLock

        lock = FileLock(self._path, thread_local=False, fallback_to_soft=False, preserve_lock_file=True)
        lock.acquire()
        self._lock = lock
        return True

    def release(self) -> None:
        lock, self._lock = self._lock, None  # before another thread has it
        lock.release()


def _difference(known: Mapping[str, Any] | None, wanted: Mapping[str, Any]) -> str:
    """What is not the same."""
    for part in ("objectives", "parameters"):
        there, here = (known or {}).get(part, {}), wanted[part]
        for name in sorted({*there, *here}):
            if name not in here:
                return f" (with {name})"
            if there.get(name) != here[name]:
                return f" ({name} is {'another there' if name in there else 'not in it'})"
    return ""
