"""A kernel as it is called. Its code is looked for in this process, then on disk, and made where there is none.

>>> @Kernel
... def add(numbers, to):
...     for number in numbers:
...         to[0] += number
>>> total = np.zeros(1)
>>> add(np.array([1.0, 2.0]), total), total
(None, array([3.]))
"""

from __future__ import annotations

from collections.abc import Callable
from threading import RLock
from typing import Any

import numpy as np

from harness.compiled.machine_code import LAYOUT, Code, Kind, Kinds, Object, Place, runnable

NUMBERS: dict[type, tuple[str, type]] = {
    bool: ("int64", int), int: ("int64", int), np.bool: ("int64", int), np.int64: ("int64", int),
    np.uint64: ("uint64", int), float: ("float64", float), np.float64: ("float64", float),
}  # fmt: skip
"""How a number is passed: its type in the kernel, and what makes it a number of Python's."""
_LOCK = RLock()
"""Code is made ready by one thread at a time."""


class Kernel:
    """A function of arrays and numbers that fills some of the arrays, allocates none, and returns nothing or a whole
    number. It runs without the interpreter's lock. Other functions that it calls are kernels too."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.__doc__ = function.__doc__
        self._ready: dict[Kinds, Code] = {}

    def __call__(self, *arguments: Any) -> Any:
        kinds: list[Kind] = []
        values: list[Any] = []
        for argument in arguments:
            if isinstance(argument, np.ndarray):
                kinds.append((argument.dtype, argument.ndim, argument.flags.num & LAYOUT))
                values.append(id(argument))
            else:
                kind, plain = NUMBERS[type(argument)]
                kinds.append(kind)
                values.append(plain(argument))
        asked = tuple(kinds)
        code = self._ready.get(asked) or self._made_ready(asked)
        return code(values)

    def _made_ready(self, kinds: Kinds) -> Code:
        with _LOCK:
            if kinds not in self._ready:
                place = Place.of(self.function, self.definition, kinds)
                self._ready[kinds] = runnable(place.read() or place.kept(self._translated(kinds)), kinds)
            return self._ready[kinds]

    def _translated(self, kinds: Kinds) -> Object:
        from harness.compiled.translation import translated

        return translated(self.function, kinds)

    @property
    def definition(self) -> str:
        """What its code is made of: its own instructions, the numbers that they name, the kernels that they call."""
        code, scope = self.function.__code__, self.function.__globals__
        named = [scope.get(name) for name in code.co_names]
        meant = [value.definition if isinstance(value, Kernel) else value for value in named if _decides(value)]
        return repr([code.co_code, code.co_consts, code.co_names, code.co_varnames, meant])

    @property
    def _numba_type_(self) -> Any:
        """For Numba, when it translates a kernel that calls this one."""
        from harness.compiled.translation import dispatcher

        return dispatcher(self.function)._numba_type_


def _decides(value: object) -> bool:
    return isinstance(value, Kernel | int | float | np.number | type)
