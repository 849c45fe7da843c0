"""The store that runs are logged to: where it is, whether it answers, and that it is made once.

A SQLite store is used by one process at a time, under a lock beside the file, and is made in a file of its own that
then takes its name: eight processes that start at once on a store that does not exist find one that is whole, and a
full disk leaves none that is half made.
"""

from __future__ import annotations

import logging
import os
import re
import signal
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from harness.compiled import made_once
from harness.inputs.files import digest
from harness.inputs.garbage import left_alone
from harness.inputs.locks import NoLocks, held
from harness.types import HarnessError

TABLE_OF_RUNS = {"mlflow.experimentKind": "custom_model_development"}  # else the pages open on empty traces
DATABASES = {"sqlite": 0, "postgresql": 5432, "mysql": 3306, "mssql": 1433}
PORTS = {"http": 80, "https": 443, **DATABASES}
CREDENTIALS = (
    "MLFLOW_TRACKING_USERNAME", "MLFLOW_TRACKING_PASSWORD", "MLFLOW_TRACKING_TOKEN", "MLFLOW_TRACKING_AUTH",
    "MLFLOW_TRACKING_AWS_SIGV4", "MLFLOW_TRACKING_CLIENT_CERT", "AWS_", "AZURE_", "GOOGLE_", "DATABRICKS_",
)  # fmt: skip
"""How the names of variables begin by which MLflow and the stores of artifacts log in."""
PATIENCE = 15
"""Seconds that a server has to answer; where it is sent files, a second more for each megabyte."""


def default_uri(runs: Path) -> str:
    """The environment's store, else SQLite in the runs folder."""
    return os.environ.get("MLFLOW_TRACKING_URI") or f"sqlite:///{runs.absolute() / 'mlflow.db'}"


def same(uri: str, other: str) -> bool:
    """Whether two addresses are of one store, whoever logs in there and however the path is written.

    >>> same("https://me:***@host/mlflow/", "https://host/mlflow"), same("http://host", "http://host:5000")
    (True, False)
    """
    return _place(uri) == _place(other)


def _place(uri: str) -> tuple[Any, ...]:
    file = sqlite_file(uri)
    if file is not None:
        return ("sqlite", os.path.realpath(file))
    try:
        parts = urlsplit(uri)
        port = parts.port or PORTS.get(_scheme(uri))
    except ValueError:  # no address at all
        return (uri,)
    return (parts.scheme, parts.hostname, port, parts.path.rstrip("/"), parts.query)


@contextmanager
def anonymous() -> Iterator[None]:
    """Within it nobody is logged in anywhere: no user, token or key of the environment or the home folder is seen."""
    own = {name: value for name, value in os.environ.items() if name.startswith(CREDENTIALS)}
    homes = {name: os.environ.get(name) for name in ("HOME", "USERPROFILE", "NETRC")}
    with tempfile.TemporaryDirectory(prefix="harness-") as empty:
        for name in own:
            del os.environ[name]
        os.environ.update(HOME=empty, USERPROFILE=empty, NETRC=os.devnull)
        try:
            yield
        finally:
            for name, value in homes.items():
                os.environ.pop(name, None)
                if value is not None:
                    os.environ[name] = value
            os.environ.update(own)


def check_uri(uri: str) -> None:
    """Refuses what MLflow 3 no longer writes."""
    if uri.startswith(("file:", ".", "/", "~")) or Path(uri).is_dir():
        raise HarnessError(
            f"tracking.uri={uri} is a folder store, which MLflow 3 no longer writes; "
            "expected sqlite:///FILE, http://HOST:PORT or a database URI"
        )


def sqlite_file(uri: str) -> Path | None:
    """The file of a SQLite store; None where it is another kind."""
    return Path(uri.removeprefix("sqlite:///")) if uri.startswith("sqlite:///") else None


def _scheme(uri: str) -> str:
    """`postgresql` of `postgresql+psycopg2://…`."""
    return uri.partition(":")[0].partition("+")[0]


def quiet() -> None:
    """Importing mlflow sets its loggers to INFO, and imports polars where it is installed, which puts a handler before
    Python's under which Ctrl-C no longer breaks off what is waited for; so it is imported here first."""
    import mlflow  # noqa: F401

    for noisy in ("mlflow", "mlflow.store.db.utils", "alembic"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
    if hasattr(signal, "siginterrupt"):  # not on Windows
        signal.siginterrupt(signal.SIGINT, True)


def reachable(uri: str) -> None:
    """MLflow retries for minutes where nobody listens or nobody answers; ask first."""
    parts = urlsplit(uri)
    scheme, host = _scheme(uri), parts.hostname
    if scheme not in PORTS or not host:
        return
    import http.client
    import socket
    from urllib.request import getproxies, proxy_bypass

    if scheme in getproxies() and not proxy_bypass(host):
        return
    port = parts.port or PORTS[scheme]
    try:
        if scheme == "http":  # a server that hangs takes connections
            with closing(http.client.HTTPConnection(host, port, timeout=PATIENCE)) as connection:
                connection.request("GET", f"{parts.path.rstrip('/')}/health")
                connection.getresponse().close()
        else:
            socket.create_connection((host, port), timeout=PATIENCE).close()
    except (OSError, http.client.HTTPException) as error:
        reason = str(error) or type(error).__name__
        raise ConnectionError(f"no answer from {scheme}://{host}:{port} ({reason})") from None


@contextmanager
def bounded(size: int) -> Iterator[None]:
    """Within it MLflow gives up on a server after seconds, not minutes; `size`: bytes of the largest file to send."""
    limits = {
        "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1",
        "MLFLOW_HTTP_REQUEST_TIMEOUT": str(PATIENCE + size // 2**20),
    }
    own = {name: value for name, value in limits.items() if name not in os.environ}
    os.environ.update(own)
    retries = logging.getLogger("urllib3.connectionpool")
    level = retries.level
    retries.setLevel(logging.ERROR)  # what comes of it is said once
    try:
        yield
    finally:
        retries.setLevel(level)
        for name in own:
            os.environ.pop(name, None)


@contextmanager
def alone(uri: str) -> Iterator[None]:
    """One process at a time writes to a SQLite store; elsewhere the server sees to that."""
    file = sqlite_file(uri)
    with ExitStack() as stack:
        if file is not None:
            with suppress(NoLocks):  # SQLite's own must do
                stack.enter_context(held(Path(f"{file}.lock"), 60 * PATIENCE))
        yield


def opened(uri: str) -> Any:
    """MLflow's client on the store, which is made if it is SQLite and does not exist; call it `alone`."""
    with left_alone():
        quiet()
        file = sqlite_file(uri)
        if file is not None and not file.exists():
            _make(file)
        return client_of(uri)


def client_of(uri: str) -> Any:
    """MLflow's client; of a database that a newer MLflow has changed MLflow says the contrary, that it is out of date
    and should be upgraded, which no command of this version can do."""
    import mlflow
    from mlflow import MlflowClient
    from mlflow.exceptions import MlflowException

    quiet()
    try:
        return MlflowClient(tracking_uri=uri)
    except MlflowException as error:
        tables = re.search(r"out-of-date database schema \(found version (\w+)", str(error))
        if tables is None or list(_changes_of_tables(f"{tables[1]}_*.py")):
            raise
        raise HarnessError(
            f"the store was last opened by a newer MLflow than {mlflow.__version__}, which is installed here; "
            "expected that version (pip install --upgrade mlflow), or another tracking.uri"
        ) from None


def _changes_of_tables(pattern: str) -> Iterator[Path]:
    """A file a change, named by its id, from MLflow's first version on."""
    import mlflow.store

    return Path(mlflow.store.__path__[0]).glob(f"db_migrations/versions/{pattern}")


def _make(file: Path) -> None:
    """With the tables of a store that MLflow made before: to make them takes it a second, as it begins with those of
    its first version and goes through every change since. The first experiment is each store's own: it has a folder."""
    from mlflow import MlflowClient

    file.parent.mkdir(parents=True, exist_ok=True)
    new = file.with_name(f".{file.name}.new")
    new.unlink(missing_ok=True)
    places, name = made_once.folders(__file__), f"mlflow-{_version_of_tables()}.db"
    tables = made_once.read(places, name)
    try:
        if tables is not None:
            new.write_bytes(tables)
        MlflowClient(tracking_uri=f"sqlite:///{new}").search_experiments(max_results=1)
        if tables is None:
            made_once.keep(places, name, _tables(new))
        os.replace(new, file)
    finally:
        with suppress(OSError):
            new.unlink(missing_ok=True)


def _version_of_tables() -> str:
    """Of MLflow and of its changes to the tables."""
    import mlflow

    return digest([mlflow.__version__, sorted(path.name for path in _changes_of_tables("*.py"))])[:16]


def _tables(file: Path) -> bytes:
    """A store without its experiments."""
    with closing(sqlite3.connect(file)) as store, closing(sqlite3.connect(":memory:")) as copy:
        store.backup(copy)
        copy.execute("delete from experiments")
        copy.commit()
        return copy.serialize()


def experiment(client: Any, uri: str, name: str, artifacts: Path) -> Any:
    """The experiment of that name, made if there is none; where no server keeps artifacts, they go to a folder."""
    from mlflow.exceptions import MlflowException

    known = client.get_experiment_by_name(name)
    if known is None:
        # without a server MLflow would put artifacts in ./mlruns of whatever folder it is called in
        location = artifacts.absolute().as_uri() if _scheme(uri) in DATABASES else None
        try:
            client.create_experiment(name, location, tags=TABLE_OF_RUNS)
        except MlflowException:  # another process was quicker
            if client.get_experiment_by_name(name) is None:
                raise
        known = client.get_experiment_by_name(name)
    if known.lifecycle_stage == "deleted":
        raise HarnessError(
            f"the MLflow experiment {name!r} was deleted; expected another tracking.experiment, or restore it in MLflow"
        )
    return known
