"""What the tests of tracking talk to: a real PostgreSQL, a real `mlflow server` on it, and a proxy that makes faults."""

from __future__ import annotations

import http.client
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest


def client(uri: str) -> Any:
    from mlflow import MlflowClient

    return MlflowClient(tracking_uri=uri)


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def answers(address: str) -> bool:
    try:
        urllib.request.urlopen(address, timeout=5).close()
    except OSError:
        return False
    return True


@contextmanager
def served(port: int, folder: Path, *arguments: str) -> Iterator[str]:
    """`python -m ARGUMENTS` until it answers on loopback; its output is in `folder`/log."""
    with open(folder / "log", "w") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", *arguments], cwd=folder, stdout=log, stderr=log, start_new_session=True
        )
    uri = f"http://127.0.0.1:{port}"
    try:
        until = time.monotonic() + 300  # a busy machine takes its time to import MLflow in every worker
        while not answers(f"{uri}/health"):
            assert process.poll() is None and time.monotonic() < until, (folder / "log").read_text()
            time.sleep(0.2)
        yield uri
    finally:
        for each in (*_descendants(process.pid), process.pid):  # `harness ui` has MLflow in a session of its own
            with suppress(ProcessLookupError):
                os.kill(each, signal.SIGKILL)  # asked nicely, it takes ten seconds
        process.wait()


def _descendants(process: int) -> list[int]:
    """What a process has started, and what that has."""
    parents = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            parents[int(path.parent.name)] = int(path.read_text().rpartition(")")[2].split()[1])
    children = [child for child, parent in parents.items() if parent == process]
    return [*children, *(other for child in children for other in _descendants(child))]


def _program(name: str) -> str | None:
    """One of PostgreSQL's programs; Debian keeps them out of the path."""
    programs = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    return shutil.which(name) or (str(programs[-1]) if programs else None)


@contextmanager
def postgresql() -> Iterator[str]:
    """The URI of a PostgreSQL made for this, on loopback; skips the test where there is none."""
    pytest.importorskip("psycopg2", reason="psycopg2 is not installed")
    initdb, postgres = _program("initdb"), _program("postgres")
    if initdb is None or postgres is None:
        pytest.skip("PostgreSQL is not installed")
    user = None
    if os.getuid() == 0:  # PostgreSQL refuses to run as root
        names = {entry.pw_name for entry in pwd.getpwall()}
        user = next(name for name in ("postgres", "nobody") if name in names)
    folder, port = Path(tempfile.mkdtemp(prefix="harness-postgresql-")), free_port()
    try:
        if user is not None:
            shutil.chown(folder, user)
        made = [
            initdb,
            "-D",
            str(folder / "data"),
            "--auth=trust",
            "--username=harness",
            "--no-sync",
            "--locale=C",
            "--encoding=UTF8",
        ]
        subprocess.run(made, user=user, cwd=folder, check=True, capture_output=True)
        settings = (f"port={port}", "listen_addresses=127.0.0.1", "unix_socket_directories=", "fsync=off")
        with open(folder / "log", "w") as log:
            process = subprocess.Popen(
                [postgres, "-D", str(folder / "data"), *(part for setting in settings for part in ("-c", setting))],
                user=user, cwd=folder, stdout=log, stderr=log,
            )  # fmt: skip
        try:
            address = f"harness@127.0.0.1:{port}/postgres"
            _until_it_answers(f"postgresql://{address}", process, folder / "log")
            yield f"postgresql+psycopg2://{address}"
        finally:
            process.send_signal(2)  # its fast shutdown
            process.wait()
    finally:
        shutil.rmtree(folder)


def _until_it_answers(uri: str, process: subprocess.Popen[bytes], log: Path) -> None:
    import psycopg2

    until = time.monotonic() + 60
    while True:
        try:
            psycopg2.connect(uri).close()
            return
        except psycopg2.OperationalError:
            assert process.poll() is None and time.monotonic() < until, log.read_text()
            time.sleep(0.1)


@contextmanager
def mlflow_server(folder: Path, store: str) -> Iterator[str]:
    """`mlflow server` on loopback, its artifacts in `folder`."""
    port = free_port()
    stores = ("--backend-store-uri", store, "--artifacts-destination", str(folder / "artifacts"))
    address = ("--host", "127.0.0.1", "--port", str(port), "--workers", "1")
    with served(port, folder, "mlflow", "server", *address, *stores) as uri:
        yield uri


Fault = Callable[[str, str], str | None]
"""What becomes of a request (method, path): `500`, `drop` (no answer), `hang`, or None: it is passed on."""


class Proxy(ThreadingHTTPServer):
    """Stands before a server and makes faults; `seen` has every request."""

    daemon_threads = True

    def __init__(self, upstream: str, fault: Fault) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.upstream, self.fault = upstream.removeprefix("http://"), fault
        self.seen: list[tuple[str, str]] = []
        self.over = threading.Event()

    @property
    def uri(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that gave up is what the tests are about."""


class _Handler(BaseHTTPRequestHandler):
    server: Proxy

    def _pass(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server.seen.append((self.command, self.path))
        fault = self.server.fault(self.command, self.path)
        self.close_connection = True
        if fault == "hang":
            self.server.over.wait(60)
        if fault in ("hang", "drop"):
            self.connection.close()
            return
        if fault is not None:
            self.send_error(int(fault))
            return
        connection = http.client.HTTPConnection(self.server.upstream, timeout=60)
        headers = {k: v for k, v in self.headers.items() if k.lower() not in ("host", "connection")}
        connection.request(self.command, self.path, body, headers)
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in ("transfer-encoding", "connection", "content-length"):
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = _pass

    def log_message(self, format: str, *args: Any) -> None:
        pass


@contextmanager
def faulty(upstream: str, fault: Fault) -> Iterator[Proxy]:
    proxy = Proxy(upstream, fault)
    thread = threading.Thread(target=proxy.serve_forever, daemon=True)
    thread.start()
    try:
        yield proxy
    finally:
        proxy.over.set()
        proxy.shutdown()
        proxy.server_close()
