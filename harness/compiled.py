"""How a kernel is compiled. Numba is imported here, so only kernels import this module."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit


def compiled(function: Callable[..., Any]) -> Any:
    """Compiled on the first call, without the interpreter's lock, and kept on disk where that is possible."""
    try:
        return njit(cache=True, nogil=True, error_model="numpy")(function)
    except RuntimeError:  # neither the package's folder nor the user's cache can be written: compile in every process
        return njit(nogil=True, error_model="numpy")(function)
