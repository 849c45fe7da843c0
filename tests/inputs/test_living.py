"""Whether a process still runs, on any system; and that the list of tests that need POSIX names tests."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from harness.inputs.living import is_alive
from tests.conftest import POSIX


def test_a_process_lives_until_it_has_ended() -> None:
    program = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    assert is_alive(program.pid)
    program.communicate(b"\n")
    assert not is_alive(program.pid)
    assert not is_alive(0) and not is_alive(-1)


def test_tests_that_need_posix_are_there() -> None:
    tests = Path(__file__).parents[1]
    assert [name for name in sorted(POSIX) if not (tests / name).is_file()] == []
