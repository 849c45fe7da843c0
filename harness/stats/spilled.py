"""Arrays by key, of any number: in memory up to a bound, beyond it in a file that ends with the process.

The rows and replicates of three hundred systems, and the draws of all their pairs under the null hypothesis, are more
than a machine has memory; each is read two or three times.

>>> arrays = Spilled(memory=20)
>>> arrays["a"], arrays["b"] = np.arange(2.0), np.ones((2, 2))  # 16 bytes, and 32 in the file
>>> arrays["a"].tolist(), arrays["b"].tolist(), "c" in arrays
([0.0, 1.0], [[1.0, 1.0], [1.0, 1.0]], False)
"""

from __future__ import annotations

import tempfile
import weakref
from collections.abc import Hashable
from typing import IO

import numpy as np

from harness.types import Array, HarnessError

MEMORY = 2**26
"""Bytes of one collection that stay in memory: 64 MiB, the replicates of 800 systems by one score."""


class Spilled:
    def __init__(self, memory: int | None = None) -> None:
        """`memory`: bytes that stay in memory, MEMORY by default."""
        self._room = MEMORY if memory is None else memory
        self._arrays: dict[Hashable, Array] = {}
        self._places: dict[Hashable, tuple[int, tuple[int, ...]]] = {}
        """(where an array begins in the file, its shape)."""
        self._file: IO[bytes] | None = None

    def __contains__(self, key: Hashable) -> bool:
        return key in self._arrays or key in self._places

    def __setitem__(self, key: Hashable, array: Array) -> None:
        """Keeps an array; one that is there already stays."""
        if key in self:
            return
        array = np.ascontiguousarray(array, dtype=np.float64)
        if array.nbytes <= self._room:
            self._room -= array.nbytes
            self._arrays[key] = array
            return
        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile(prefix="harness-")  # noqa: SIM115  (open as long as this is used)
                weakref.finalize(self, self._file.close)
            place = self._file.seek(0, 2)
            self._file.write(array.data)
            self._file.flush()
        except OSError as error:
            raise HarnessError(
                f"{tempfile.gettempdir()} has no room for the resamples of so many systems "
                f"({error.strerror or error}); expected more there, or fewer systems, scores or resamples "
                "(TMPDIR names another folder)"
            ) from None
        self._places[key] = (place, array.shape)

    def __getitem__(self, key: Hashable) -> Array:
        if key in self._arrays:
            return self._arrays[key]
        place, shape = self._places[key]
        array = np.empty(shape)
        assert self._file is not None
        self._file.seek(place)
        self._file.readinto(array.data.cast("B"))  # type: ignore[attr-defined]
        return array
