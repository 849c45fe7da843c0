"""Whether a process of this machine still runs, on Linux, macOS and Windows.

>>> import os
>>> is_alive(os.getpid())
True
"""

from __future__ import annotations

import os
import sys

QUERY, STILL_ACTIVE = 0x1000, 259
"""Of Windows: the least right that tells of a process, and the exit code of one that runs."""


def is_alive(process: int) -> bool:
    if process <= 0:
        return False
    if sys.platform == "win32":  # where os.kill(…, 0) would end it
        import ctypes

        kernel, code = ctypes.windll.kernel32, ctypes.c_ulong()
        handle = kernel.OpenProcess(QUERY, False, process)
        if not handle:
            return False
        try:
            return bool(kernel.GetExitCodeProcess(handle, ctypes.byref(code))) and code.value == STILL_ACTIVE
        finally:
            kernel.CloseHandle(handle)
    try:
        os.kill(process, 0)
    except PermissionError:  # of another user
        return True
    except OSError:
        return False
    return True
