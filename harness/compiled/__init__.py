"""Kernels: functions of arrays and numbers that are translated to machine code on first use and kept on disk.

kernel.py        a function as it is called
routine.py       a function that does more than a kernel may, and is called through Numba
made_once.py     what is made once on a machine and kept
machine_code.py  what is kept of it, and how it is loaded: by llvmlite alone
translation.py   how it is made: by Numba, which no other module imports
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from harness.compiled.kernel import Kernel
from harness.compiled.routine import Routine

__all__ = ["compiled", "compiled_routine"]


def compiled(function: Callable[..., Any]) -> Any:
    """The function as a kernel: what `Kernel` says of it holds."""
    return Kernel(function)


def compiled_routine(function: Callable[..., Any]) -> Any:
    """The function as a routine: it may do more than a kernel, and takes Numba whenever it is called."""
    return Routine(function)
