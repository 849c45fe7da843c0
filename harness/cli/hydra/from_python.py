"""`harness.run(…)`: the command `harness run` from Python. Its JSON says which runs it made; they are read back."""

from __future__ import annotations

import io
import json
import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import Any, TextIO

import hydra._internal.utils as hydra_utils

from harness.analysis.stored.loading import load_run
from harness.cli.hydra import application
from harness.types import HarnessError, RunResult, RunResults

MANY = ("--multirun", "-m")
INTERRUPTED = 130
SILENT = ("--json", "json=true")
SHOWING = ("--help", "-h", "--hydra-help", "--version", "--dry-run", "dry_run=true", *application.SHOWING)
"""What shows something and runs nothing."""


def run(*words: str) -> RunResult | RunResults:
    """Runs what `harness run WORDS…` does, and returns the run, or a list where the words make several.

    A word is an override as it is typed, without the shell's quotes: `harness.run("dataset=file",
    "dataset.path=dev.jsonl", "system=lead", "metrics=[bleu,rouge]")`; `--multirun` and `--config-dir` are words, too.
    Run folders and MLflow are as after the command: the same words find their run again. What goes wrong is raised as
    a `HarnessError`; of several cells the others are run first. Progress and warnings go to standard error.
    """
    if odd := next((word for word in words if not isinstance(word, str)), None):
        raise HarnessError(f"harness.run: {odd!r} is no word; expected strings, of a list harness.run(*words)")
    if shown := [word for word in words if word in SHOWING]:
        raise HarnessError(f"{shown[0]} runs nothing; expected words of a run (`harness run {shown[0]}` shows it)")
    heard = _Heard(sys.stderr)
    written = io.StringIO()
    with _as_it_was(), redirect_stdout(written), redirect_stderr(heard):
        sys.argv = ["harness"]
        sys.path.append(os.getcwd())
        try:
            application.run([*(word for word in words if word not in SILENT), "--json"])
        except SystemExit as ended:
            code = ended.code
    if code == INTERRUPTED:
        raise KeyboardInterrupt(heard.message)
    if not code:
        heard.tell()
    if not written.getvalue():
        raise HarnessError(heard.message or f"harness run ended with {code}")
    document = json.loads(written.getvalue())
    if failures := document["failures"]:
        errors = [(f"{failure['label']}: " if failure["label"] else "") + failure["error"] for failure in failures]
        raise HarnessError("\n".join(errors))
    runs = RunResults(load_run(made["folder"]) for made in document["runs"])
    return runs[0] if len(runs) == 1 and not any(word in MANY for word in words) else runs


class _Heard:
    """Standard error that keeps the last message of a command, which is raised where the command failed."""

    def __init__(self, stream: TextIO) -> None:
        self._stream, self.message = stream, ""

    def write(self, text: str) -> int:
        if text.startswith("harness: "):
            self.tell()
            self.message = text.removeprefix("harness: ").rstrip("\n")
        elif not (self.message and text == "\n"):  # that ends the message
            self._stream.write(text)
        return len(text)

    def tell(self) -> None:
        """The message was a warning: it is shown."""
        if self.message:
            self._stream.write(f"harness: {self.message}\n")
        self.message = ""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def _as_it_was() -> Iterator[None]:
    """What the command sets for a process of its own is as it was before: the caller's process goes on."""
    root, report = logging.getLogger(), hydra_utils.run_and_report
    handlers, level, argv, path, hook = root.handlers[:], root.level, sys.argv, sys.path[:], sys.excepthook
    try:
        yield
    finally:
        root.handlers[:], sys.argv, sys.path[:], sys.excepthook = handlers, argv, path, hook
        root.setLevel(level)
        hydra_utils.run_and_report = report
