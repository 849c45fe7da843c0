"""What lets a command start sooner."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

THREADS = "OPENBLAS_NUM_THREADS"


@contextmanager
def importing() -> Iterator[None]:
    """While thousands of classes and functions are made, none of which is ever thrown away, nobody looks for garbage.

    NumPy comes with one thread for its BLAS: it would start one for each core, which spin while they wait, and no
    command multiplies matrices that are worth it. What programs of the user's own inherit stays as it was.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        if THREADS not in os.environ and "numpy" not in sys.modules:
            os.environ[THREADS] = "1"
            try:
                import numpy  # noqa: F401
            finally:
                del os.environ[THREADS]
        yield
    finally:
        if was_on:
            gc.enable()


def started() -> None:
    """All is imported: the work begins."""
    gc.enable()
