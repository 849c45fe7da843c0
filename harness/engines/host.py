"""A process of a Ray cluster, which holds a replica: what runs at the other end of harness/engines/ray.py.

What goes to and fro is pickled here, not by Ray: its arrays would come out of shared memory, and be read-only.
"""

from __future__ import annotations

import gc
import importlib
import logging
import os
import pickle
import socket
import sys
import traceback
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from typing import Any

from harness.inputs.cores import limited
from harness.types import HarnessError


@dataclass
class Reply:
    """What came of a piece of work."""

    result: Any = None
    error: BaseException | None = None
    said: list[tuple[str, str]] = field(default_factory=list)
    """Warnings: (logger, text)."""
    place: str = ""
    """The node and the process."""


class Host:
    def __init__(self, folders: Sequence[str], cores: int) -> None:
        """`folders`: the one the command was called in, from which files of the user's own are found, and all that
        modules of theirs are found in."""
        with suppress(OSError):
            os.chdir(folders[0])
        sys.path.extend(folders)  # last, so that nothing of it hides a library
        self._stack = ExitStack()
        self._stack.enter_context(limited(cores))
        self._place = f"the node {socket.gethostname()} ({_address()}), process {os.getpid()}"
        self._replica: Any = None
        self._said = _Heard()
        logging.getLogger().addHandler(self._said)

    def make(self, target: str, options: bytes) -> bytes:
        """Makes a replica, in place of the one before."""
        reply = Reply()
        try:
            self._forget()
            module, _, name = target.rpartition(".")
            self._replica = getattr(importlib.import_module(module), name)(**pickle.loads(options))
        except Exception as error:
            reply.error = _sendable(error)
        return self._sent(reply)

    def load(self) -> None:
        """Lets the replica load what it works with; what goes wrong, its first piece of work says."""
        if hasattr(self._replica, "load"):
            with suppress(Exception):
                self._replica.load()

    def work(self, item: bytes) -> bytes:
        """What the replica gives for an item."""
        reply = Reply()
        try:
            reply.result = self._replica(pickle.loads(item))
            return self._sent(reply)
        except Exception as error:
            reply = Reply(error=_sendable(error))
        return self._sent(reply)

    def _sent(self, reply: Reply) -> bytes:
        reply.said, reply.place = self._said.taken(), self._place
        return pickle.dumps(reply, 5)

    def _forget(self) -> None:
        """Ends the replica that is there, and frees what it held."""
        if self._replica is None:
            return
        if hasattr(self._replica, "close"):
            self._replica.close()
        self._replica = None
        gc.collect()
        torch = sys.modules.get("torch")
        if torch is not None and torch.cuda.is_available():
            torch.cuda.empty_cache()


def _address() -> str:
    import ray

    return str(ray.util.get_node_ip_address())


class _Heard(logging.Handler):
    """Keeps warnings, each once, until they are sent to whoever started the run."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._known: set[tuple[str, str]] = set()
        self._new: list[tuple[str, str]] = []

    def emit(self, record: logging.LogRecord) -> None:
        said = record.name, record.getMessage()
        if said not in self._known:
            self._known.add(said)
            self._new.append(said)

    def taken(self) -> list[tuple[str, str]]:
        new, self._new = self._new, []
        return new


def _sendable(error: Exception) -> Exception:
    """The error with its traceback as a note, or what it says where it cannot be pickled."""
    text = "".join(traceback.format_exception(error))
    if not isinstance(error, HarnessError):
        error.add_note(f"in a replica:\n{text}")
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}\n{text}")
    return error
