"""Kernels to machine code, by Numba. Imported only where no code is on disk: Numba takes longer to import than most
kernels run.

Numba's function is called as `numba.core.callconv.CPUCallConv` says: where the result goes, where a failure goes, then
the arguments, an array taken apart. `_entry` takes NumPy's arrays apart, so that a call from Python passes one address
for each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from numba import from_dtype, njit, types

from harness.compiled.machine_code import (
    ALIGNED,
    CONTIGUOUS,
    ENTRY,
    WRITEABLE,
    Kind,
    Kinds,
    Object,
    llvm,
    target,
)

OPTIONS = {"nogil": True, "error_model": "numpy", "_nrt": False, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
"""Nothing is allocated and nothing of Python's is called: the code needs no library of Numba's."""
DATA, SHAPE, STRIDES = (object.__basicsize__ + offset for offset in (0, 16, 24))
"""Where these stand in NumPy's object (PyArrayObject_fields, which every compiled extension relies on)."""


@cache
def dispatcher(function: Callable[..., Any]) -> Any:
    """What Numba makes of a function before it knows the types of arguments."""
    return njit(**OPTIONS)(function)


def routine(function: Callable[..., Any]) -> Any:
    """A function as Numba compiles and calls it, kept on disk where that is possible."""
    options = {"nogil": True, "error_model": "numpy"}
    try:
        return njit(cache=True, **options)(function)
    except RuntimeError:  # neither the package's folder nor the user's cache can be written: compile in every process
        return njit(**options)(function)


def translated(function: Callable[..., Any], kinds: Kinds) -> Object:
    """A function's code for arguments of these kinds."""
    numba, signature = dispatcher(function), tuple(map(_type, kinds))
    numba.compile(signature)
    made = numba.overloads[signature]
    entry = "\n".join(_entry(made.fndesc.llvm_func_name, kinds))
    module = llvm().parse_assembly(f"{made.library.get_llvm_str()}\n{entry}")
    needed = [f.name for f in module.functions if f.is_declaration and not f.name.startswith("llvm.")]
    returned = made.signature.return_type
    if needed or returned not in (types.none, types.int64):
        raise TypeError(
            f"{function.__name__} returns {returned} and calls {', '.join(needed) or 'no library'}; "
            "expected nothing or a whole number, and no library"
        )
    return Object(target().emit_object(module), returned == types.int64)


def _type(kind: Kind) -> Any:
    if isinstance(kind, str):
        return getattr(types, kind)
    items, dimensions, flags = kind
    layout = "C" if flags & CONTIGUOUS else "A"
    readonly, aligned = not flags & WRITEABLE, bool(flags & ALIGNED)
    return types.Array(from_dtype(items), dimensions, layout, readonly=readonly, aligned=aligned)


def _entry(symbol: str, kinds: Kinds) -> Iterator[str]:
    """LLVM's text of a function that calls another one with the parts of its arrays: two pointers to who counts their
    users, which nobody does here, the number of items, their size, where they begin, shape and strides."""
    names = [f"double %a{i}" if kind == "float64" else f"i64 %a{i}" for i, kind in enumerate(kinds)]
    yield f"define i32 @{ENTRY}(ptr %result, ptr %failure, {', '.join(names)}) {{"
    parts = ["ptr %result", "ptr %failure"]
    for i, kind in enumerate(kinds):
        if isinstance(kind, str):
            parts.append(names[i])
            continue
        items, dimensions, _ = kind
        for name, offset in (("data", DATA), ("shape", SHAPE), ("strides", STRIDES)):
            yield f"%{name}{i}at = add i64 %a{i}, {offset}"
            yield f"%{name}{i}in = inttoptr i64 %{name}{i}at to ptr"
            yield f"%{name}{i} = load ptr, ptr %{name}{i}in"
        yield f"%size{i}.0 = add i64 0, 1"
        for d in range(dimensions):
            for name in ("shape", "strides"):
                yield f"%{name}{i}in{d} = getelementptr i64, ptr %{name}{i}, i64 {d}"
                yield f"%{name}{i}.{d} = load i64, ptr %{name}{i}in{d}"
            yield f"%size{i}.{d + 1} = mul i64 %size{i}.{d}, %shape{i}.{d}"
        parts += ["ptr null", "ptr null", f"i64 %size{i}.{dimensions}", f"i64 {items.itemsize}", f"ptr %data{i}"]
        parts += [f"i64 %{name}{i}.{d}" for name in ("shape", "strides") for d in range(dimensions)]
    yield f'%status = call i32 @"{symbol}"({", ".join(parts)})'
    yield "ret i32 %status"
    yield "}"
