"""`harness ui`: MLflow's pages on the store that the runs were logged to."""

from __future__ import annotations

import os
import sys
from typing import Any, NoReturn


def add(commands: Any) -> None:
    ui = commands.add_parser("ui", help="MLflow's pages on the store the runs were logged to")
    ui.add_argument(
        "--uri",
        help="the tracking store (default: MLFLOW_TRACKING_URI, else the one that the newest run below runs/ was "
        "logged to, else runs/mlflow.db)",
    )
    ui.add_argument("--host", default="127.0.0.1", help="(default: %(default)s)")
    ui.add_argument("--port", type=int, default=5000, help="(default: %(default)s)")
    ui.set_defaults(call=call)


def _newest_uri() -> str | None:
    """The store that the newest run below runs/ was logged to."""
    from harness.runner import RUNS
    from harness.store.folder import stored_runs

    logged = [(m["ended"], m["mlflow"]["uri"]) for _, m in stored_runs(RUNS) if m["mlflow"]]
    return max(logged)[1] if logged else None


def call(options: Any) -> NoReturn:
    """Becomes MLflow's server."""
    from pathlib import Path

    from harness.masking import MASK, redacted
    from harness.tracking.mlflow import default_uri
    from harness.types import HarnessError

    uri = options.uri or os.environ.get("MLFLOW_TRACKING_URI") or _newest_uri() or default_uri(Path("runs"))
    if uri.startswith("http"):
        print(f"These runs are on a tracking server; open {redacted(uri).replace('***@', '')}")
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
    print(f"MLflow on {redacted(uri)}\nopen {page}\n(Ctrl-C ends it)", flush=True)
    command = ["server", "--backend-store-uri", uri, "--host", options.host, "--port", str(options.port)]
    command += ["--workers", "1"]  # for one person: MLflow's four take four times as long to start
    os.execv(sys.executable, [sys.executable, "-m", "mlflow", *command])
