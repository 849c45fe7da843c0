"""`harness ui`: MLflow's pages on the store that the runs were logged to."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from typing import Any, NoReturn

from harness.cli.output import tell

GRACE = 5.0
"""Seconds for a server to end by itself."""


def add(commands: Any) -> None:
    ui = commands.add_parser("ui", help="MLflow's pages on the store the runs were logged to")
    ui.add_argument(
        "--uri",
        help="the tracking store (default: MLFLOW_TRACKING_URI, else the store of the newest run below runs/, "
        "else runs/mlflow.db)",
    )
    ui.add_argument("--host", default="127.0.0.1", help="(default: %(default)s)")
    ui.add_argument("--port", type=int, default=5000, help="(default: %(default)s)")
    ui.set_defaults(call=call)


def _newest_uri() -> str | None:
    """The store that the newest run below runs/ was logged to: a page to be told of, or a file below this folder. A run
    folder may come from anyone, so no other store is opened because one names it."""
    from pathlib import Path

    from harness.masking import redacted
    from harness.store.places import RUNS, stored_runs
    from harness.types import HarnessError

    places = [(manifest["ended"], manifest["mlflow"] or {}) for _, manifest in stored_runs(RUNS)]
    logged = [(ended, place["uri"]) for ended, place in places if "uri" in place]
    if not logged:
        return None
    uri: str = max(logged)[1]
    file = Path(uri.removeprefix("sqlite:///")).resolve()
    if uri.startswith("http") or (uri.startswith("sqlite:///") and file.is_relative_to(Path.cwd())):
        return uri
    raise HarnessError(
        f"the newest run folder names the store {redacted(uri)}, and you did not; expected --uri or MLFLOW_TRACKING_URI"
    )


def call(options: Any) -> NoReturn:
    """Runs MLflow's server."""
    from pathlib import Path

    from harness.masking import MASK, redacted
    from harness.tracking.backend import default_uri
    from harness.types import HarnessError

    uri = options.uri or os.environ.get("MLFLOW_TRACKING_URI") or _newest_uri() or default_uri(Path("runs"))
    if uri.startswith("http"):
        tell(f"These runs are on a tracking server; open {redacted(uri).replace('***@', '')}")
        sys.exit(0)
    if uri.startswith("sqlite:///") and not Path(uri.removeprefix("sqlite:///")).exists():
        raise HarnessError(
            f"{uri.removeprefix('sqlite:///')} does not exist; expected the store of earlier runs "
            "(call this in the folder where you called harness run, or give --uri)"
        )
    if MASK in uri:
        raise HarnessError(
            f"the runs are in {uri}, whose credentials are not kept; expected --uri or MLFLOW_TRACKING_URI"
        )
    # without the parameter MLflow opens on its pages for traces, which evaluations do not have
    page = f"http://{options.host}:{options.port}/#/experiments?workflowType=machine_learning"
    tell(f"MLflow on {redacted(uri)}\nopen {page}\n(Ctrl-C ends it)")
    command = ["server", "--backend-store-uri", uri, "--host", options.host, "--port", str(options.port)]
    command += ["--workers", "1"]  # for one person: MLflow's four take four times as long to start
    sys.exit(served([sys.executable, "-m", "mlflow", *command]))


def served(command: list[str]) -> int:
    """The exit code of a server, which runs until it ends or this command is asked to; what the server has started
    itself (MLflow has workers) ends with it."""
    import subprocess

    server = subprocess.Popen(command, start_new_session=True)
    try:
        return server.wait()
    finally:
        for number in (signal.SIGTERM, getattr(signal, "SIGKILL", signal.SIGTERM)):
            with suppress(OSError, AttributeError):  # nothing of it is left; no groups on Windows
                os.killpg(server.pid, number)
            with suppress(subprocess.TimeoutExpired):
                server.wait(GRACE)
        server.kill()
