"""One process at a time: a lock on a file, which ends with the process that holds it, however that ends."""

from __future__ import annotations

import errno
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

NO_LOCKS = {errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOTSUP}


class NoLocks(OSError):
    """The file system has no locks."""


@contextmanager
def held(path: Path, patience: float) -> Iterator[None]:
    """Holds the file, which is made, with its folder, where it is not there, and is left there.

    TimeoutError: another process held it for `patience` seconds. NoLocks: its file system has none. Another OSError: it
    cannot be written.
    """
    from filelock import FileLock, Timeout

    # a lock that is nothing but a file's being there would outlive a process that was killed
    lock = FileLock(path, patience, thread_local=False, fallback_to_soft=False, preserve_lock_file=True)
    try:
        lock.acquire()
    except Timeout:
        fault = _fault(path.parent)
        if fault is not None:  # some file systems refuse locks with the number that others have for a held one
            raise NoLocks(fault.errno, fault.strerror, str(path)) from None
        raise TimeoutError(f"another process holds {path}") from None
    except OSError as error:
        if error.errno in NO_LOCKS:
            raise NoLocks(error.errno, error.strerror, str(path)) from None
        raise
    try:
        yield
    finally:
        lock.release()


def without_record_locks(folder: Path) -> OSError | None:
    """Why a part of a new file in the folder cannot be locked, as SQLite does it; None where it can."""
    try:
        import fcntl
    except ImportError:  # Windows, whose file systems have locks
        return None
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1)
    except OSError as error:
        return error if error.errno in NO_LOCKS else None
    return None


def _fault(folder: Path) -> OSError | None:
    """Why a new file in the folder, which nobody else can hold, cannot be locked; None where it can."""
    try:
        import fcntl
    except ImportError:  # Windows, whose file systems have locks
        return None
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return error
    return None
