"""Jobs of submitit without secrets in clear: it keeps what a job calls and returns in pickles on disk, configs and all.

Here they are sealed (encrypted and signed) with a key that is in the environment of the command and of its jobs only,
so that what is left of a sweep that was killed tells nothing. And what a job comes to is told of that job alone:
submitit raises at the first that was killed, while the others still wait or run.
"""

from __future__ import annotations

import os
import pickle
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from hydra.core.utils import JobReturn

from harness.types import HarnessError

KEY = "HARNESS_SWEEP_KEY"
Lost = Callable[[int, str], JobReturn]
"""Of a cell that is lost, by its number and the reason."""
TAIL = 3
"""Lines of what a lost job said last."""


class Sealed:
    """A job, to be called where the key is known."""

    def __init__(self, content: bytes) -> None:
        self.content = content

    @classmethod
    def of(cls, function: Any, arguments: tuple[Any, ...]) -> Sealed:
        import cloudpickle

        return cls(_cipher().encrypt(cloudpickle.dumps((function, arguments))))

    def __call__(self) -> bytes:
        import cloudpickle

        function, arguments = pickle.loads(_cipher().decrypt(self.content))
        return bytes(_cipher().encrypt(cloudpickle.dumps(function(*arguments))))

    def checkpoint(self) -> Any:
        """For a job that its scheduler stops and starts again: what it finished is in its run's folder."""
        import submitit

        return submitit.helpers.DelayedSubmission(self)


class _Job:
    """A job that was submitted; its result, where it is lost too."""

    def __init__(self, job: Any, number: int, lost: Lost) -> None:
        self._job, self._number, self._lost = job, number, lost

    def results(self) -> list[JobReturn]:
        try:
            (content,) = self._job.results()
            return [pickle.loads(_cipher().decrypt(content))]
        except Exception as error:  # killed, out of memory or time: submitit says what it knows
            return [self._lost(self._number, _reason(error))]


@contextmanager
def sealing(lost: Lost) -> Iterator[None]:
    """Within, what Hydra hands to submitit is sealed."""
    import submitit
    from cryptography.fernet import Fernet

    original = submitit.AutoExecutor.map_array

    def submitted(executor: Any, function: Any, *arguments: Any) -> list[_Job]:
        rows = list(zip(*arguments, strict=True))
        jobs = executor.submit_array([Sealed.of(function, row) for row in rows])
        return [_Job(job, row[2], lost) for job, row in zip(jobs, rows, strict=True)]

    os.environ[KEY] = Fernet.generate_key().decode()
    submitit.AutoExecutor.map_array = submitted
    try:
        yield
    finally:
        submitit.AutoExecutor.map_array = original
        del os.environ[KEY]


def _cipher() -> Any:
    from cryptography.fernet import Fernet

    key = os.environ.get(KEY)
    if key is None:
        raise HarnessError(
            f"{KEY} is not in this job's environment; expected a scheduler that hands on the environment of the "
            "command (sbatch --export=ALL, its default)"
        )
    return Fernet(key)


def _reason(error: Exception) -> str:
    """What submitit knows of a lost job, and what that said last.

    >>> _reason(RuntimeError("Job 7 (task: 0) with path /x\\nhas not produced any output (state: OUT_OF_MEMORY)"))
    'submitit has no result of it (state: OUT_OF_MEMORY)'
    """
    text = str(error)
    state = re.search(r"\(state: .*?\)", text)
    said = [line.strip() for line in text.partition("Error stream produced:")[2].splitlines() if line.strip(" -")]
    known = [f"submitit has no result of it {state[0]}"] if state else text.strip().splitlines()[-1:]
    return "; ".join([*known, *said[-TAIL:]]) or type(error).__name__
