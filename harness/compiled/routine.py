"""A compiled function that makes arrays, takes records of them or returns several: what a kernel may not do.

It is called through Numba, which is imported when it is first called: for what few commands need.

>>> @Routine
... def squares(n):
...     return np.arange(n) ** 2
>>> squares(3).tolist()
[0, 1, 4]
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np  # noqa: F401  (for the example above)


class Routine:
    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.__doc__ = function.__doc__

    def __call__(self, *arguments: Any) -> Any:
        return self._dispatcher(*arguments)

    @cached_property
    def _dispatcher(self) -> Any:
        from harness.compiled.translation import routine

        return routine(self.function)

    @property
    def _numba_type_(self) -> Any:
        """For Numba, when it translates a routine that calls this one."""
        return self._dispatcher._numba_type_
