"""Writing a file so that a kill at any moment leaves the old one or the new one, never half of one."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

SUFFIX = ".harness-unfinished"
"""Of the names of temporary files: a run folder may be one in which other programs keep theirs."""


def write(path: Path, content: bytes) -> None:
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=SUFFIX)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        replace(Path(temporary), path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def replace(temporary: Path, path: Path) -> None:
    """Puts a file that is safely on disk in its place."""
    os.chmod(temporary, 0o666 & ~_umask())
    os.replace(temporary, path)
    sync_folder(path.parent)


def sweep(folder: Path) -> None:
    """Removes what a kill in the middle of a write left."""
    for leftover in folder.glob(f".*{SUFFIX}"):
        if leftover.is_file():
            leftover.unlink(missing_ok=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def sync_folder(folder: Path) -> None:
    """A new file is only safe once its folder is."""
    if os.name == "posix":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
