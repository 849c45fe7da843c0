"""Code in a process of its own, with so much memory and time that only work without bounds exceeds it."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
GIB = 2**30


def run(code: str, *arguments: str, memory: int = 3 * GIB, seconds: float = 120, folder: Path | None = None) -> str:
    """What a piece of Python prints; it fails where it needs more address space or time, or raises.

    Address space is more than is used: libraries reserve about 1.5 GiB of it.
    """
    try:
        process = subprocess.run(
            [sys.executable, "-c", code, *arguments],
            cwd=folder, env=os.environ | {"PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1"}, capture_output=True,
            text=True, timeout=seconds, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (memory, memory)),
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise AssertionError(f"not done after {seconds:g} s: {code[:200]}") from None
    assert not process.returncode, process.stdout[-2000:] + process.stderr[-2000:]
    return process.stdout


def harness(
    *arguments: str, memory: int = 3 * GIB, seconds: float = 120, folder: Path | None = None
) -> tuple[int, str]:
    """(exit code, all that is printed) of a command."""
    code = (
        "import sys\nfrom harness.cli.main import main\nsys.stderr = sys.stdout\ncode = 0\n"
        "try:\n    main(sys.argv[1:])\nexcept SystemExit as ended:\n    code = ended.code or 0\nprint('exit', code)"
    )
    printed, _, ended = (
        run(code, *arguments, memory=memory, seconds=seconds, folder=folder).rstrip().rpartition("exit ")
    )
    return int(ended), printed
