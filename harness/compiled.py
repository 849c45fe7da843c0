"""How a kernel is compiled. Numba is imported here, so only kernels import this module."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from importlib import import_module
from importlib.machinery import PathFinder
from types import ModuleType
from typing import Any

THREADS = "OPENBLAS_NUM_THREADS"


def _load_blas_alone() -> None:
    """Loads the one module of scipy.linalg that Numba looks for when it starts. All of scipy.linalg would come with it,
    which takes as long as Numba itself and is needed by nobody here; whoever imports it later gets it as ever."""
    package, module = "scipy.linalg", "scipy.linalg.cython_blas"
    if package in sys.modules or THREADS in os.environ:
        return
    spec = PathFinder.find_spec(package, import_module("scipy").__path__)
    if spec is None or spec.submodule_search_locations is None:
        return
    stand_in = ModuleType(package)
    stand_in.__path__ = list(spec.submodule_search_locations)
    sys.modules[package] = stand_in
    os.environ[THREADS] = "1"  # nothing is computed with it, and idle threads take time too
    try:
        import_module(module)
    except ImportError:  # then Numba imports it in its own way
        sys.modules.pop(module, None)
    finally:
        del sys.modules[package], os.environ[THREADS]


_load_blas_alone()

from numba import njit  # noqa: E402  (after what it would look for)


def compiled(function: Callable[..., Any]) -> Any:
    """Compiled on the first call, without the interpreter's lock, and kept on disk where that is possible."""
    try:
        return njit(cache=True, nogil=True, error_model="numpy")(function)
    except RuntimeError:  # neither the package's folder nor the user's cache can be written: compile in every process
        return njit(nogil=True, error_model="numpy")(function)
