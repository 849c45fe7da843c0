"""A Ray cluster: found or started, and what its nodes have room for.

Ray is told to be quiet, to send nothing anywhere, to let workers run as fast as anybody (they are at nice 15 otherwise)
and not to end them because other processes of the machine take memory. Of a cluster that runs already, whoever started
it decides that (docs/scale.md).
"""

from __future__ import annotations

import logging
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from harness.inputs.cores import cores
from harness.types import HarnessError

log = logging.getLogger(__name__)
ENVIRONMENT = {
    "RAY_worker_niceness": "0",
    "RAY_memory_monitor_refresh_ms": "0",
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
}
STORE = 2**29
"""Bytes that blocks in flight wait in, of a cluster that is started here; what does not fit goes to disk."""
WAIT = 5.0
"""Seconds in which a head node answers."""
SETTINGS = b"\x04"
"""The kind of the frame with which both ends of HTTP/2 begin: head nodes speak it (RFC 9113, sections 3.4 and 6.5)."""
HELLO = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0" + SETTINGS + b"\0\0\0\0\0"
EXPECTED = "expected the address of a head node (ray start --head prints it), or null to start a cluster here"


@dataclass(frozen=True)
class Node:
    """A node that is alive."""

    name: str
    cpus: float
    gpus: float

    def room(self, cpus: float, gpus: float) -> int:
        """How many replicas of this size fit on it."""
        return int(min(self.cpus // cpus, self.gpus // gpus if gpus else self.cpus // cpus))

    def __str__(self) -> str:
        return f"{self.name} with {self.cpus:g} CPUs and {self.gpus:g} GPUs"


def connect(address: str | None) -> None:
    """Connects to the cluster that the address stands for, or starts one. A process stays connected until it ends: what
    runs after this run finds the cluster there."""
    ray = imported()
    if ray.is_initialized():
        return
    begun = time.perf_counter()
    os.environ.update({name: value for name, value in ENVIRONMENT.items() if name not in os.environ})
    _silence(ray)
    wanted, option = address, "engine.address"
    if address is None and os.environ.get("RAY_ADDRESS"):
        wanted, option = os.environ["RAY_ADDRESS"], "RAY_ADDRESS"
    with _signals_kept():
        if wanted != "local":
            _take_token()
        if wanted not in (None, "auto", "local"):
            _join(ray, str(wanted), option)
        elif wanted == "local" or not _found(ray):
            if wanted == "auto":
                raise HarnessError(f"{option}=auto: no Ray cluster runs on this machine; {EXPECTED}")
            _start(ray)
            seconds = time.perf_counter() - begun
            reason = "" if wanted == "local" else "no Ray cluster is running here that this command can join; "
            log.warning("%sa Ray cluster was started, in %.1f s, with %d CPUs", reason, seconds, cores())


def imported() -> Any:
    try:
        import ray
    except ImportError:
        raise HarnessError(
            "engine=ray needs ray, which is not installed; expected this package with its extra: "
            "pip install '.[ray]' in a checkout"
        ) from None
    return ray


def _join(ray: Any, address: str, option: str) -> None:
    host, _, port = address.rpartition(":")
    if "://" in address or not host or not port.isdecimal():
        raise HarnessError(f"{option}={address} is not HOST:PORT; {EXPECTED}")
    try:
        _ask(host.strip("[]"), int(port))
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or error
        raise HarnessError(f"{option}={address}: no Ray cluster answers there ({reason}); {EXPECTED}") from None
    try:
        with _unprinted():
            ray.init(address=address, **_quiet())
    except (ConnectionError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
        reason = str(error).strip().splitlines()[0]
        raise HarnessError(
            f"{option}={address}: the cluster cannot be joined ({reason}); expected a cluster of Ray {ray.__version__} "
            "that this machine is a node of (ray start --address) and whose token it has (RAY_AUTH_TOKEN, or "
            "~/.ray/auth_token)"
        ) from None


def _ask(host: str, port: int) -> None:
    """Raises an OSError where nothing answers as a head node does: Ray itself would try for minutes, and where another
    server listens without end."""
    with socket.create_connection((host, port), WAIT) as connection:
        connection.settimeout(WAIT)
        connection.sendall(HELLO)
        answer = connection.recv(9)
    if answer[3:4] != SETTINGS:
        raise OSError(f"something else does: {answer!r}" if answer else "something else does, and hangs up")


def _take_token() -> None:
    """Clusters of Ray 2.60 and later ask for a token, which `ray start` looks for and `ray.init` does not."""
    with suppress(ImportError):  # before there were any
        from ray._private.authentication import authentication_token_setup as tokens

        tokens.maybe_enable_token_auth_if_token_available(warn_if_disabled=False)


def _found(ray: Any) -> bool:
    try:
        with _unprinted():
            ray.init(address="auto", **_quiet())
    except ConnectionError:
        return False
    return True


def _start(ray: Any) -> None:
    ray.init(
        address="local",
        num_cpus=cores(),
        object_store_memory=STORE,
        include_dashboard=False,
        _node_ip_address="127.0.0.1",
        **_quiet(),
    )


def _quiet() -> dict[str, Any]:
    return {"logging_level": logging.ERROR, "log_to_driver": False, "configure_logging": False}


def _silence(ray: Any) -> None:
    """What Ray says is in its own logs; what a user must know of it is said by whoever finds it."""
    logging.getLogger("ray").setLevel(logging.CRITICAL)
    worker: Any = getattr(getattr(ray, "_private", None), "worker", None)
    if hasattr(worker, "_worker_logs_enabled"):
        worker._worker_logs_enabled = False  # it prints that a worker died, whatever was asked for


@contextmanager
def _unprinted() -> Iterator[None]:
    """What Ray's own library prints while it tries to connect goes nowhere."""
    sys.stderr.flush()
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


@contextmanager
def _signals_kept() -> Iterator[None]:
    """Ray puts a handler of its own on SIGTERM, which would end a command without a word."""
    main = threading.current_thread() is threading.main_thread()
    before = signal.getsignal(signal.SIGTERM) if main else None
    try:
        yield
    finally:
        if main:
            signal.signal(signal.SIGTERM, before)


def nodes() -> list[Node]:
    """Those that are alive."""
    alive = [node for node in imported().nodes() if node["Alive"]]
    return [
        Node(node["NodeManagerAddress"], node["Resources"].get("CPU", 0.0), node["Resources"].get("GPU", 0.0))
        for node in alive
    ]


def on_this_machine() -> bool:
    """Whether all nodes are."""
    here = imported().util.get_node_ip_address()
    return all(node.name == here for node in nodes())


def check_room(replicas: int | None, cpus: float, gpus: float) -> int:
    """How many replicas there will be: those asked for, or as many as there is room for."""
    there = nodes()
    room = sum(node.room(cpus, gpus) for node in there)
    if room >= (replicas or 1):
        return replicas or room
    size = f"{cpus:g} CPUs" + (f" and {gpus:g} GPUs" if gpus else "")
    raise HarnessError(
        f"engine.replicas={'null' if replicas is None else replicas} of {size} each do not fit; there is room for "
        f"{room} on {shown(there)}; expected no more than that"
    )


def shown(there: Sequence[Node]) -> str:
    some = ", ".join(map(str, there[:4])) or "no node"
    return some + (f" and {len(there) - 4} other nodes" if len(there) > 4 else "")
