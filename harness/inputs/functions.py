"""Functions of the user's own, named `module:function` or `file.py:function`: found, and hashed with their files.

A leaf, for every room: a metric and a system can both be a function.

>>> from tempfile import TemporaryDirectory
>>> with TemporaryDirectory() as folder:
...     _ = Path(folder, "shout.py").write_text("def shout(example): return example['source'].upper()")
...     function, _ = load(f"{folder}/shout.py:shout")
>>> function({"source": "it rains"})
'IT RAINS'
"""

from __future__ import annotations

import importlib
import inspect
import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from harness.inputs import files
from harness.types import HarnessError, Output
from harness.types.admission import replaced

log = logging.getLogger(__name__)
ENDS_THE_RUN = (KeyboardInterrupt, GeneratorExit)
"""What ends the run, whoever's code it meets. All else is a fault of the code that raised it, also what is no
Exception: exit(), a cancelled task, a panic of a library in Rust."""


@contextmanager
def blamed(what: str) -> Iterator[None]:
    """Whatever the user's code raises becomes a message; --debug shows the traceback."""
    try:
        yield
    except (HarnessError, *ENDS_THE_RUN):
        raise
    except BaseException as error:
        raise HarnessError(f"{what} raised {_said(error)}") from error


class Failed:
    """Makes a failed output of what the user's code raised; the first time its traceback is shown."""

    def __init__(self, what: str) -> None:
        self.what, self.shown = what, False

    def __call__(self, error: BaseException) -> Output:
        if not self.shown:
            self.shown = True
            log.warning("%s raised, so an example failed; shown once:", self.what, exc_info=error)
        return Output(None, _said(error))


def _said(error: BaseException) -> str:
    """What the user's code raised; its text may be of any kind, or raise itself."""
    try:
        words = replaced(str(error)[:2000])
    except Exception:
        words = "an error that has no text"
    return f"{type(error).__name__}: {words}"


def together(call: Callable[[list[Any]], list[Output]], items: list[Any], failed: Failed) -> list[Output]:
    """An output for each item by one call for all of them; where that raises, by one call for each, so that none fails
    for another."""
    try:
        return call(items)
    except (HarnessError, *ENDS_THE_RUN):
        raise
    except BaseException as error:
        if len(items) == 1:
            return [failed(error)]
        return [output for item in items for output in together(call, [item], failed)]


def kind(value: Any) -> str:
    """A value for a message, whatever it is; a function by its name, not by its address.

    >>> kind(None), kind([1]), kind(kind)
    ('None', "list '[1]'", "function 'kind'")
    """
    if value is None:
        return "None"
    return f"{type(value).__name__} {(value.__name__ if inspect.isroutine(value) else str(value)[:40])!r}"


def load(place: str) -> tuple[Callable[..., Any], str]:
    """What `module:function` or `file.py:function` names, with a hash of its name and of the files that hold it."""
    where, _, name = place.rpartition(":")
    if not where or not name:
        raise HarnessError(f"{place!r} does not name a function; expected module:function or file.py:function")
    module = _from_file(where) if where.endswith(".py") else _imported(where)
    function = getattr(module, name, None)
    if not callable(function):
        callables = [key for key, value in vars(module).items() if callable(value) and not key.startswith("_")]
        raise HarnessError(
            f"{where} has no function {name!r}; expected one of {files.some(callables, 10) or 'its own'}"
        )
    defined = sys.modules.get(getattr(function, "__module__", None) or "", module)  # it may be imported there
    return function, files.digest([name, _hash(module), _hash(defined)])


def _from_file(path: str) -> ModuleType:
    """Run again where its text changed, so that a notebook scores by the code that is in the file."""
    file = files.existing(path, "a Python file").resolve()
    name = f"{file.stem}_{files.digest([str(file), files.file_digest(file)])[:12]}"  # hides no library
    if name not in sys.modules:
        module = sys.modules[name] = ModuleType(name)
        module.__file__ = str(file)
        try:
            with blamed(path):
                exec(compile(file.read_bytes(), str(file), "exec"), vars(module))
        except BaseException:
            del sys.modules[name]
            raise
    return sys.modules[name]


def _imported(name: str) -> ModuleType:
    importlib.invalidate_caches()  # it may have been written a moment ago
    try:
        return importlib.import_module(name)
    except ENDS_THE_RUN:
        raise
    except BaseException as error:
        raise HarnessError(
            f"the module {name} cannot be imported ({type(error).__name__}: {error}); expected one found from the "
            "folder the command is called in, or an installed package"
        ) from error


def _hash(module: ModuleType) -> str:
    """Hash of a module's file, if that is still what was imported."""
    try:
        now = files.file_digest(Path(module.__file__ or ""))
    except (AttributeError, OSError):  # built in
        return module.__name__
    if vars(module).setdefault("__harness_hash__", now) != now:
        raise HarnessError(
            f"{module.__file__} was changed after it was imported; expected a new process, or file.py:function, which "
            "is read again"
        )
    return now
