"""Servers that this process starts, waits for and ends: each a command with a free port, in a process group of its own.

What a server says goes to a log. It is ended with all that it started, by its group, first asked to and then made to;
should this process be killed before it can do that, a guard beside the server does. A server that dies is started again
once.

>>> start = Start(("serve", "{model}", "--port", "{port}"), "models/base")
>>> start.words(8000)
['serve', 'models/base', '--port', '8000']
"""

from __future__ import annotations

import http.client
import json
import logging
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
import weakref
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from harness.types import HarnessError

log = logging.getLogger(__name__)
HOST = "127.0.0.1"
LOOK = 0.2
"""Seconds between two looks at a server."""
GRACE = 10.0
"""Seconds for a server to end by itself."""
LINES = 12
"""Of a server's log, in a message."""
MOST_STARTS = 2
GROUPS = hasattr(os, "killpg")
"""Not on Windows."""
PATIENCE = 10.0
"""Seconds after which one who waits is told what for."""
GUARD = f"""
import os, signal, sys, time
sys.stdin.buffer.read()  # until whoever started the server is gone
for number, pause in ((signal.SIGTERM, {GRACE}), (signal.SIGKILL, 0)):
    try:
        os.killpg(int(sys.argv[1]), number)
    except OSError:
        break
    end = time.monotonic() + pause
    while time.monotonic() < end:
        time.sleep(0.1)
        try:
            os.killpg(int(sys.argv[1]), 0)
        except OSError:
            sys.exit()
"""
_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))
"""No proxy leads to this machine."""


@dataclass(frozen=True)
class Start:
    """How servers are started, and when they are ready."""

    command: tuple[str, ...]
    """With `{port}` and `{model}`."""
    model: str
    name: str = "server"
    """For messages."""
    health: str = "/health"
    """What answers 200 when the server is ready."""
    seconds: float = 600.0
    """To become ready."""
    environment: Mapping[str, str] = field(default_factory=dict)
    replicas: int = 1
    devices: Sequence[str] | None = None
    """Each one's CUDA_VISIBLE_DEVICES; None: one device each where there are several servers, else as it is."""

    def words(self, port: int) -> list[str]:
        values = {"{port}": str(port), "{host}": HOST, "{model}": self.model}
        words = []
        for word in self.command:
            for placeholder, value in values.items():
                word = word.replace(placeholder, value)
            words.append(word)
        return words

    def surroundings(self, replica: int) -> dict[str, str]:
        """The environment of one of the servers."""
        own = {**os.environ, "PYTHONUNBUFFERED": "1", **self.environment}
        if self.devices is not None:
            own["CUDA_VISIBLE_DEVICES"] = self.devices[replica]
        elif self.replicas > 1:
            visible = own.get("CUDA_VISIBLE_DEVICES")
            there = [str(i) for i in range(self.replicas)] if visible is None else visible.split(",")
            if len(there) < self.replicas:
                raise HarnessError(
                    f"system.replicas={self.replicas} and CUDA_VISIBLE_DEVICES={visible}; expected a device for each, "
                    "or system.devices"
                )
            own["CUDA_VISIBLE_DEVICES"] = there[replica]
        return own


class Running:
    """A server that was started."""

    def __init__(self, start: Start, replica: int, port: int, path: Path | None) -> None:
        """`path`: where its log goes."""
        self.start, self.path, self.root = start, path, f"http://{HOST}:{port}"
        words, surroundings = start.words(port), start.surroundings(replica)
        self._log: IO[bytes] = open(path, "ab+") if path else tempfile.TemporaryFile()  # noqa: SIM115
        self._before = self._log.seek(0, os.SEEK_END)
        try:
            self.process = subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=self._log,
                stderr=subprocess.STDOUT,
                env=surroundings,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            self._log.close()
            raise HarnessError(
                f"{start.name}: {words[0]!r} cannot be started ({error}); expected a program on the PATH, or its path"
            ) from None
        self._guard: subprocess.Popen[bytes] | None = None
        try:
            if GROUPS:
                guard = [sys.executable, "-I", "-S", "-c", GUARD, str(self.process.pid)]
                self._guard = subprocess.Popen(guard, stdin=subprocess.PIPE, start_new_session=True)
        except BaseException:  # Ctrl-C, too, must leave nothing behind
            self.end()
            raise

    @property
    def ended(self) -> bool:
        return self.process.poll() is not None

    def wait(self) -> None:
        """Until it is healthy; `HarnessError` with the end of its log where it will not be."""
        begun, last, quiet = time.monotonic(), "no answer", True
        while not self.ended:
            try:
                with _DIRECT.open(self.root + self.start.health, timeout=5) as answer:
                    if answer.status == 200:
                        return
                    last = f"HTTP {answer.status}"
            except urllib.error.HTTPError as error:
                last = f"HTTP {error.code}"
                error.close()
            except (OSError, http.client.HTTPException) as error:
                last = str(getattr(error, "reason", error))
            waited = time.monotonic() - begun
            if waited > PATIENCE and quiet:
                quiet = False
                log.warning(
                    "%s: waiting for the server%s", self.start.name, f" (its log: {self.path})" if self.path else ""
                )
            if waited > self.start.seconds:
                raise HarnessError(
                    f"{self.start.name}: the server was not healthy within system.start_timeout="
                    f"{self.start.seconds:g} seconds ({self.start.health}: {last}); expected 200 from "
                    f"system.health. {self.tail()}"
                )
            time.sleep(LOOK)
        raise HarnessError(
            f"{self.start.name}: the server ended with code {self.process.returncode} before it was healthy; "
            f"expected one that stays. {self.tail()}"
        )

    def post(self, route: str, content: Mapping[str, Any], seconds: float) -> str | None:
        """What is wrong, if something is."""
        body, kind = json.dumps(content).encode(), {"Content-Type": "application/json"}
        try:
            with _DIRECT.open(urllib.request.Request(self.root + route, body, kind), timeout=seconds) as answer:
                answer.read(2**16)
            return None
        except urllib.error.HTTPError as error:
            with error:
                return f"HTTP {error.code}: {error.read(2**16).decode(errors='replace')[:500]}"
        except (OSError, http.client.HTTPException) as error:
            return str(getattr(error, "reason", error))

    def tail(self) -> str:
        """The last lines of its log, for messages."""
        if self._log.closed:
            return ""
        self._log.seek(max(self._before, self._log.seek(0, os.SEEK_END) - 8192))
        lines = self._log.read().decode(errors="replace").rstrip().splitlines()[-LINES:]
        where = f" ({self.path})" if self.path else ""
        return f"The end of its log{where}:\n" + ("\n".join(f"  {line[:300]}" for line in lines) or "  empty")

    def end(self) -> None:
        """Ends it and all that it started; asked to at first."""
        if self._log.closed:
            return
        _signal(self.process, signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(GRACE)
        _signal(self.process, getattr(signal, "SIGKILL", signal.SIGTERM))
        self.process.wait()
        if self._guard is not None:
            self._guard.kill()
            self._guard.wait()
            if self._guard.stdin is not None:
                self._guard.stdin.close()
        self._log.close()


def _signal(process: subprocess.Popen[bytes], number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        if GROUPS:
            os.killpg(process.pid, number)
        elif process.poll() is None:
            process.send_signal(number)


class Fleet:
    """The servers of a system, started when they are first needed and again, once each, where they die."""

    def __init__(self, start: Start) -> None:
        self.start = start
        self.folder: Path | None = None
        """Where the logs go."""
        self._running: list[Running | None] = [None] * start.replicas
        self._starts = [0] * start.replicas
        self._end = weakref.finalize(self, _end_all, self._running)  # also where nobody ends them

    def ready(self) -> tuple[list[Running], list[Running]]:
        """(all servers, those of them that were started just now), once all are healthy."""
        missing = [i for i, running in enumerate(self._running) if running is None or running.ended]
        for i, port in zip(missing, _free_ports(len(missing)), strict=True):
            before = self._running[i]
            if before is not None and self._starts[i] >= MOST_STARTS:
                raise HarnessError(
                    f"{self.start.name}: the server ended {MOST_STARTS} times, the last time with code "
                    f"{before.process.returncode}; expected one that stays. What was answered before is kept; the same "
                    f"command continues from there. {before.tail()}"
                )
            if before is not None:
                before.end()
            path = self.folder and self.folder / ("server.log" if self.start.replicas == 1 else f"server-{i}.log")
            self._running[i] = Running(self.start, i, port, path)
            self._starts[i] += 1
        running = [server for server in self._running if server is not None]
        started = [running[i] for i in missing]
        for server in started:
            server.wait()
        return running, started

    @property
    def up(self) -> list[Running]:
        """Those that run."""
        return [server for server in self._running if server is not None and not server.ended]

    def ended(self, patience: float = 0.0) -> Running | None:
        """One that has ended, or does so within so many seconds."""
        deadline = time.monotonic() + patience
        while True:
            for server in self._running:
                if server is not None and server.ended:
                    return server
            if time.monotonic() >= deadline:
                return None
            time.sleep(0.05)

    def end(self) -> None:
        """Ends all of them; they may be started again."""
        _end_all(self._running)
        self._running[:] = [None] * self.start.replicas
        self._starts[:] = [0] * self.start.replicas


def _end_all(running: Sequence[Running | None]) -> None:
    servers = [server for server in running if server is not None]
    for server in servers:  # all at once, so that their times to end do not add up
        _signal(server.process, signal.SIGTERM)
    for server in servers:
        server.end()


def _free_ports(n: int) -> list[int]:
    """So many different ones."""
    with ExitStack() as stack:
        held = [stack.enter_context(socket.create_server((HOST, 0))) for _ in range(n)]
        return [each.getsockname()[1] for each in held]
