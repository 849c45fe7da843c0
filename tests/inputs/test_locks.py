"""A lock keeps other processes out for as long as its own lives, and says what is wrong where it cannot."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from harness.inputs.locks import NoLocks, held

HOLD = """
import sys, time
from pathlib import Path
from harness.inputs.locks import held
with held(Path(sys.argv[1]), 0):
    print("held", flush=True)
    time.sleep(600)
"""


@contextmanager
def holder(path: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process, which holds the lock."""
    with subprocess.Popen([sys.executable, "-c", HOLD, str(path)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == "held\n"
            yield process
        finally:
            process.kill()


def test_a_lock_is_held_by_one_and_ends_with_its_process(tmp_path: Path) -> None:
    path = tmp_path / ".lock"
    with holder(path) as other:
        for patience in (0, 0.2):
            with pytest.raises(TimeoutError, match=r"another process holds .*\.lock"), held(path, patience):
                pass
        other.kill()
        with held(path, 30):
            pass
    assert path.exists()


def test_a_lock_is_free_after_an_error(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), held(tmp_path / ".lock", 0):
        raise ZeroDivisionError
    with held(tmp_path / ".lock", 0), pytest.raises(TimeoutError), held(tmp_path / ".lock", 0):
        pass


@pytest.mark.skipif(os.name != "posix", reason="the lock of POSIX")
@pytest.mark.parametrize("number", [errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP])
def test_a_file_system_without_locks(number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def flock(descriptor: int, operation: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("fcntl.flock", flock)
    with pytest.raises(NoLocks, match=os.strerror(number)), held(tmp_path / ".lock", 0):
        pass


def test_a_folder_is_made_where_it_can_be(tmp_path: Path) -> None:
    with held(tmp_path / "new" / ".lock", 0):
        assert (tmp_path / "new" / ".lock").exists()
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="file"), held(tmp_path / "file" / ".lock", 0):
        pass
