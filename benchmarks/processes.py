"""A command measured from its start to its end: `python -m benchmarks.processes COMMAND …` prints what it used as JSON.

The command is started by this module in a small process of its own: a process counts the memory that its parent had
when it was started as its own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}
"""A command in any folder finds this package and no installed one."""


class Used(NamedTuple):
    """What a piece of work took; memory is that of the largest process, where the work is a command."""

    processor: float
    """Seconds, of all threads and of the processes that it waited for."""
    wall: float
    """Seconds."""
    peak: float | None = None
    """GB."""


def measured(command: list[str], folder: Path) -> Used:
    """What a command used in a folder; a command that fails ends the benchmark with what it wrote."""
    around = [sys.executable, "-m", "benchmarks.processes", *command]
    ended = subprocess.run(around, cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, check=False)
    if ended.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {ended.returncode}:\n{ended.stderr}")
    return Used(**json.loads(ended.stdout))


def main(command: list[str]) -> int:
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)  # so that it is not waited for again
    unit = 1 if sys.platform == "darwin" else 1024
    print(json.dumps(Used(usage.ru_utime + usage.ru_stime, wall, usage.ru_maxrss * unit / 1e9)._asdict()))
    return process.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
