"""Plain files only: a folder that may come from anyone can hold a symbolic link to a file of the reader's own, or a
pipe that never ends.

>>> import tempfile
>>> with tempfile.TemporaryDirectory() as folder:
...     place = Path(folder) / "outputs.jsonl"
...     place.symlink_to("/etc/passwd")
...     irregular(place)
'a symbolic link'
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable
from pathlib import Path

KINDS = {
    stat.S_IFLNK: "a symbolic link",
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
}
NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)
BINARY = getattr(os, "O_BINARY", 0)
"""Where a system would else change the ends of lines."""
"""For opening a file to write where no link may be followed; not on every system."""


def irregular(path: Path) -> str | None:
    """What is there instead of a plain file; None where there is one, or nothing."""
    try:
        mode = os.lstat(path).st_mode
    except OSError:
        return None
    return None if stat.S_ISREG(mode) else KINDS.get(stat.S_IFMT(mode), "a device")


def read(path: Path) -> bytes:
    """The bytes of a plain file; OSError where it is none, for the caller to put into a message."""
    check(path)
    return path.read_bytes()


def check(path: Path) -> None:
    """OSError where something is there that is no plain file."""
    kind = irregular(path)
    if kind is not None:
        raise OSError(errno.EINVAL, f"it is {kind}, expected a plain file", str(path))


def first_irregular(folder: Path, names: Iterable[str]) -> str | None:
    """What is wrong with the first of these files of a folder that is no plain one."""
    for name in names:
        kind = irregular(folder / name)
        if kind is not None:
            return f"{folder / name} is {kind}; expected a plain file, as a run leaves it"
    return None
