"""`harness ui`: MLflow's pages on the store that the runs were logged to."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from typing import Any, NoReturn

from harness.cli.output import tell

GRACE, START = 5.0, 60.0
"""Seconds for a server to end by itself, and to answer after its start."""


def add(commands: Any) -> None:
    ui = commands.add_parser(
        "ui",
        help="MLflow's pages on the store the runs were logged to",
        description="Serves MLflow's pages on the store that runs were logged to, and opens them; Ctrl-C ends it.",
    )
    ui.add_argument(
        "--uri",
        help="the tracking store (default: MLFLOW_TRACKING_URI, else the store of the newest run below runs/, "
        "else runs/mlflow.db)",
    )
    ui.add_argument("--host", default="127.0.0.1", help="(default: %(default)s)")
    ui.add_argument("--port", type=int, default=5000, help="(default: %(default)s)")
    ui.add_argument("--no-open", action="store_true", help="do not open the page in a browser")
    ui.set_defaults(call=call)


def _newest() -> tuple[str | None, str]:
    """(the store that the newest run below runs/ was logged to, its experiment); None where none was logged."""
    from harness.inputs.project import runs_folder
    from harness.store.places import stored_runs

    stored = stored_runs(runs_folder())
    places = [(manifest["ended"], manifest["mlflow"] or {}, manifest["config"]) for _, manifest in stored]
    logged = [
        (ended, place["uri"], config.get("tracking", {}).get("experiment") or "harness")
        for ended, place, config in places
        if "uri" in place
    ]
    return max(logged)[1:] if logged else (None, "harness")


def _followed(uri: str | None) -> str | None:
    """A page to be told of, or a file below this folder. A run folder may come from anyone, so no other store is opened
    because one names it."""
    from pathlib import Path

    from harness.masking import redacted
    from harness.types import HarnessError

    if uri is None:
        return None
    file = Path(uri.removeprefix("sqlite:///")).resolve()
    if uri.startswith("http") or (uri.startswith("sqlite:///") and file.is_relative_to(Path.cwd())):
        return uri
    raise HarnessError(
        f"the newest run folder names the store {redacted(uri)}, and you did not; expected --uri or MLFLOW_TRACKING_URI"
    )


def call(options: Any) -> NoReturn:
    """Runs MLflow's server."""
    from pathlib import Path

    from harness.inputs.project import runs_folder
    from harness.masking import MASK, redacted
    from harness.tracking.backend import default_uri
    from harness.tracking.opening_view import runs_page
    from harness.types import HarnessError

    newest, experiment = _newest()
    uri = options.uri or os.environ.get("MLFLOW_TRACKING_URI") or _followed(newest) or default_uri(runs_folder())
    if uri.startswith("http"):
        place = runs_page(uri, redacted(uri).replace("***@", ""), experiment)
        tell(f"These runs are on a tracking server; open {place}")
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
    page = runs_page(uri, f"http://{options.host}:{options.port}", experiment)
    if not options.no_open:
        _open_when_served(page)
    tell(f"MLflow on {redacted(uri)}\nopen {page}\n(Ctrl-C ends it)")
    command = ["server", "--backend-store-uri", uri, "--host", options.host, "--port", str(options.port)]
    command += ["--workers", "1"]  # for one person: MLflow's four take four times as long to start
    sys.exit(served([sys.executable, "-m", "mlflow", *command]))


def _open_when_served(page: str) -> None:
    """Opens the page in a browser, where there is a screen, as soon as the server answers."""
    import threading
    import time
    import webbrowser
    from urllib.request import urlopen

    shown = os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY") or sys.platform in ("darwin", "win32")
    if not shown or not sys.stdout.isatty():
        return

    def wait() -> None:
        until = time.monotonic() + START
        while time.monotonic() < until:
            with suppress(OSError):
                urlopen(f"{page.partition('/#')[0]}/health", timeout=1).close()
                webbrowser.open(page)
                return
            time.sleep(0.5)

    threading.Thread(target=wait, daemon=True).start()


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
