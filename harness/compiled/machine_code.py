"""A kernel's machine code: what is kept on disk, and how that becomes a function again, which takes llvmlite alone."""

from __future__ import annotations

import os
from collections.abc import Callable
from ctypes import CFUNCTYPE, byref, c_double, c_int32, c_int64, c_uint64, c_void_p
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from harness.compiled import made_once

Kind = str | tuple[np.dtype[Any], int, int]
"""Of an argument: a number's type, or of an array the items' type, the dimensions and the flags (`LAYOUT`)."""
Kinds = tuple[Kind, ...]
CONTIGUOUS, ALIGNED, WRITEABLE = 0x1, 0x100, 0x400
"""Flags of an array, as NumPy numbers them."""
LAYOUT = CONTIGUOUS | ALIGNED | WRITEABLE
Code = Callable[[list[Any]], int | None]
"""Takes the numbers, and of an array the address of NumPy's object; gives what the kernel returns."""
ENTRY = "entry"
"""The function of an object file that is called: the places of the result and of a failure, then the arguments. It
gives 0 where all went well."""
FOLDER = "NUMBA_CACHE_DIR"
"""The variable that says where code is kept, as it does for what Numba keeps itself."""
RETURNS = "returns"
PASSED: dict[str, Any] = {"int64": c_int64, "uint64": c_uint64, "float64": c_double}


@dataclass(frozen=True)
class Object:
    """An object file, and whether its function returns a number."""

    code: bytes
    returns: bool


@dataclass(frozen=True)
class Place:
    """Where a kernel's code for arguments of some kinds is kept."""

    folders: tuple[Path, ...]
    name: str
    """The same for all versions of the kernel, so that a new one takes the place of the last."""
    definition: str
    """Digest of this version."""

    @classmethod
    def of(cls, function: Callable[..., Any], definition: str, kinds: Kinds) -> Place:
        file, chosen = function.__code__.co_filename, os.environ.get(FOLDER)
        digest = _digest([os.path.dirname(file), kinds, machine(), tools()])
        name = f"{Path(file).stem}.{function.__name__}-{digest[:16]}.kernel"
        return cls((Path(chosen),) if chosen else made_once.folders(file), name, _digest(definition))

    def read(self) -> Object | None:
        """What is kept; None where there is nothing, or another version."""
        head, _, code = (made_once.read(self.folders, self.name) or b"").partition(b"\n")
        definition, _, returns = head.decode().partition(" ")
        return Object(code, returns == RETURNS) if definition == self.definition else None

    def kept(self, made: Object) -> Object:
        """The same, on disk where that is possible."""
        head = f"{self.definition} {RETURNS if made.returns else ''}\n"
        made_once.keep(self.folders, self.name, head.encode() + made.code)
        return made


def _digest(content: object) -> str:
    return sha256(repr(content).encode()).hexdigest()


# ---------------------------------------------------------------- llvmlite


@cache
def llvm() -> Any:
    """llvmlite's bindings, ready for this processor."""
    import llvmlite.binding

    llvmlite.binding.initialize_native_target()
    llvmlite.binding.initialize_native_asmprinter()
    return llvmlite.binding


@cache
def machine() -> tuple[str, str, str]:
    """What code is made for: the kind of system, the processor and what that can do."""
    return llvm().get_process_triple(), llvm().get_host_cpu_name(), llvm().get_host_cpu_features().flatten()


@cache
def tools() -> tuple[str, ...]:
    """The versions of what makes code, and of what it reads arrays of."""
    return version("numba"), version("llvmlite"), version("numpy"), str(object.__basicsize__)


def target() -> Any:
    """A new one: an engine takes it as its own."""
    triple, processor, features = machine()
    return llvm().Target.from_triple(triple).create_target_machine(processor, features, opt=3, jit=True)


def runnable(made: Object, kinds: Kinds) -> Code:
    """The function of an object file."""
    engine = llvm().create_mcjit_compiler(llvm().parse_assembly(""), target())
    engine.add_object_file(llvm().ObjectFileRef.from_data(made.code))
    engine.finalize_object()
    passed = [PASSED[kind] if isinstance(kind, str) else c_void_p for kind in kinds]
    function = CFUNCTYPE(c_int32, c_void_p, c_void_p, *passed)(engine.get_function_address(ENTRY))

    def call(values: list[Any], engine: Any = engine) -> int | None:  # the code lives as long as its engine
        result, failure = c_int64(), c_void_p()
        if function(byref(result), byref(failure), *values):
            raise RuntimeError("a kernel raised an error; expected none that does")
        return result.value if made.returns else None

    return call
