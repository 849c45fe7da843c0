"""What lets a command start sooner, and end sooner."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from harness.inputs.garbage import left_alone

THREADS = "OPENBLAS_NUM_THREADS"


@contextmanager
def importing() -> Iterator[None]:
    """Until the work begins (`started`) nobody looks for garbage.

    NumPy comes with one thread for its BLAS: it would start one for each core, which spin while they wait, and no
    command multiplies matrices that are worth it. What programs of the user's own inherit stays as it was.
    """
    with left_alone():
        if THREADS not in os.environ and "numpy" not in sys.modules:
            os.environ[THREADS] = "1"
            try:
                import numpy  # noqa: F401
            finally:
                del os.environ[THREADS]
        yield


def started() -> None:
    """All is imported: the work begins."""
    gc.enable()


def left_as_it_is() -> None:
    """The process ends: nobody looks for garbage among what ends with it. Python would do so, several times; with all
    of MLflow in memory that takes almost a second."""
    gc.freeze()
