"""A kernel's machine code: what is kept on disk, and how that becomes a function again, which takes llvmlite alone."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import suppress
from ctypes import CFUNCTYPE, byref, c_double, c_int32, c_int64, c_uint64, c_void_p
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

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
    """The first that can be written; none for a function of no file."""
    name: str
    """The same for all versions of the kernel, so that a new one takes the place of the last."""
    definition: str
    """Digest of this version."""

    @classmethod
    def of(cls, function: Callable[..., Any], definition: str, kinds: Kinds) -> Place:
        file = Path(function.__code__.co_filename)
        digest = _digest([str(file.parent), kinds, machine(), tools()])
        return cls(_folders(file), f"{file.stem}.{function.__name__}-{digest[:16]}.kernel", _digest(definition))

    def read(self) -> Object | None:
        """What is kept; None where there is nothing, or of another version, or damaged."""
        for folder in self.folders:
            with suppress(OSError, ValueError, KeyError):
                head, _, code = (folder / self.name).read_bytes().partition(b"\n")
                fields = json.loads(head)
                if (fields["definition"], fields["code"]) == (self.definition, sha256(code).hexdigest()):
                    return Object(code, fields["returns"])
        return None

    def kept(self, made: Object) -> Object:
        """The same, on disk where that is possible."""
        digests = {"definition": self.definition, "code": sha256(made.code).hexdigest()}
        head = json.dumps({**digests, "returns": made.returns}).encode()
        for folder in self.folders:
            with suppress(OSError):
                folder.mkdir(parents=True, exist_ok=True)
                new = folder / f"{self.name}.{os.getpid()}"
                new.write_bytes(head + b"\n" + made.code)
                new.replace(folder / self.name)
                break
        return made


def _folders(file: Path) -> tuple[Path, ...]:
    if not file.exists():
        return ()
    if chosen := os.environ.get(FOLDER):
        return (Path(chosen),)
    shared = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return file.parent / "__pycache__", shared / "harness" / "kernels"


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
