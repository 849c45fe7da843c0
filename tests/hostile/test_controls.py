"""Escape sequences, overrides of the direction and other controls in names, outputs, errors and files: whatever a command
tells, on a terminal or in a pipe, shows them and obeys none. A case a line."""

from __future__ import annotations

import ast
import json
import os
import pty
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.inputs.visible import in_json, in_line, visible
from tests.conftest import Called
from tests.hostile import bounded, folders

Cli = Callable[..., Called]
EVIL = "\x1b[2J\x1b]0;owned\x07 evil\u202e \x9b31m\rover"
SHOWN = r"\x1b[2J\x1b]0;owned\x07 evil\u202e \x9b31m\rover"
UNSEEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("\x1b[31mred\x1b[0m", r"\x1b[31mred\x1b[0m"), ("a\x07\x08\r\x00\x7f", r"a\x07\x08\r\x00\x7f"), ("\x9b2J\x85", r"\x9b2J\x85"),
        ("\u202eabc\u2066d\u2069", r"\u202eabc\u2066d\u2069"), ("a\u2028b\u2029", r"a\u2028b\u2029"), ("half \ud83d", r"half \ud83d"),
        ("two\n\tlines", "two\n\tlines"), ("日本 naïve ☃ \u00a0é", "日本 naïve ☃ \u00a0é"), ("👩\u200d👩 \u200eאב", "👩\u200d👩 \u200eאב"),
        (r"C:\new", r"C:\new"),
    ],
)  # fmt: skip
def test_controls_are_visible(text: str, expected: str) -> None:
    assert visible(text) == visible(visible(text)) == expected
    assert in_line(text) == expected.replace("\n", r"\n").replace("\t", r"\t")


def test_json_has_the_same_values() -> None:
    document = json.dumps({"name": "a\u202e\x9b\x7f\x1b é"}, ensure_ascii=False)
    assert json.loads(in_json(document)) == json.loads(document)
    assert not UNSEEN.search(in_json(document)) and "é" in in_json(document)


@pytest.fixture(scope="module")
def evil(finished: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs whose every name is hostile, below a folder with a hostile name too."""
    place = tmp_path_factory.mktemp("evil")
    for name in ("good", "bad"):
        folder = place / "runs" / "harness" / f"{name} \x1b[1m"
        shutil.copytree(finished / name, folder)
        folders.put(folder, "manifest.json", "name", f"{EVIL}{name}")
        folders.put(folder, "manifest.json", "system.name", f"{EVIL}{name}")
        folders.put(folder, "manifest.json", "dataset.name", EVIL)
        place_in_mlflow = {"run_id": "1", "uri": "x", "where": f"http://h/{EVIL}"}
        folders.put(folder, "manifest.json", "mlflow", place_in_mlflow)
    (place / "runs" / "harness" / "broken \x1b[5m").mkdir()
    (place / "runs" / "harness" / "broken \x1b[5m" / "manifest.json").write_text("{")
    return place


RUNS = ("runs/harness/good \x1b[1m", "runs/harness/bad \x1b[1m")
COMMANDS = [
    (0, "runs"),
    (0, "runs", "--json"),
    (0, "compare", *RUNS, "--resamples", "100"),
    (0, "compare", *RUNS, "--resamples", "100", "--json"),
    (0, "power", *RUNS, "--resamples", "100"),
    (0, "best", *RUNS, "--resamples", "100"),
    (0, "table", *RUNS, "--resamples", "100"),
    (0, "table", *RUNS, "--resamples", "100", "--format", "latex"),
    (0, "table", *RUNS, "--resamples", "100", "--format", "csv"),
    (0, "plot", *RUNS, "--resamples", "100", "--figure", "forest", "-o", "fig\x1b[1m.json"),
    (0, "report", *RUNS, "--resamples", "100", "-o", "page\x1b[1m.html"),
    (0, "cache"),
    (1, "sync", *RUNS, "--uri", f"http://127.0.0.1:9/{EVIL}"),
    (1, "compare", EVIL, EVIL),
    (1, "compare", RUNS[0], "runs/harness/broken \x1b[5m"),
    (0, "runs", f"{EVIL}>3"),
    (1, "runs", "--in", EVIL),
    (0, "ui", "--uri", f"http://h/{EVIL}"),
    (1, "score", EVIL),
    (1, "score", RUNS[0], f"nothing.{EVIL}=3"),
    (2, "table", RUNS[0], "--format", EVIL),
    (1, "run", f"+nothing={EVIL}", "tracking=none"),
    (1, "run", "dataset=file", f"dataset.path='{EVIL}'", "tracking=none"),
    (1, "run", "system=predictions", f"system.path='{EVIL}'", "tracking=none"),
    (1, "run", f"limit='{EVIL}'", "tracking=none"),
]


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: " ".join(map(str, command))[:30].encode("unicode_escape").decode())  # fmt: skip
def test_what_a_command_tells(command: tuple[Any, ...], evil: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    code, *arguments = command
    monkeypatch.chdir(evil)
    called = cli(*arguments)
    said = called.out + called.err
    assert not UNSEEN.search(said), ascii(said)
    assert "Traceback" not in said
    assert (called.code == 0) == (code == 0), ascii(said)


def test_names_are_shown_and_json_keeps_them(evil: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(evil)
    assert SHOWN in cli("runs").out and SHOWN in cli("compare", *RUNS, "--resamples", "100").out
    assert {run["dataset"] for run in json.loads(cli("runs", "--json").out)["runs"]} == {EVIL}
    message = cli("compare", EVIL, EVIL).err
    assert SHOWN in message


CODE = """
import logging
EVIL = {evil!r}
def answer(example):
    if example["id"] == "a":
        raise ValueError(EVIL)
    logging.getLogger(EVIL).warning("told %s", EVIL)
    return EVIL
def broken(example):
    raise SystemError(EVIL)
"""


def test_a_run_with_hostile_answers(files: Path, cli: Cli) -> None:
    (files / "answers.py").write_text(CODE.format(evil=EVIL))
    words = ("run", "dataset=file", "dataset.path=dev.jsonl", "metrics=bleu", "tracking=none", "system=python", "stats.resamples=20")  # fmt: skip
    for function in ("answer", "broken"):
        called = cli(*words, f"system.function=answers.py:{function}", f"name='{EVIL}'")
        assert not UNSEEN.search(called.out + called.err), ascii(called.out + called.err)
    called = cli(*words, "system.function=answers.py:answer", f"name='{EVIL}'", "max_failed=0")
    assert called.code == 1 and SHOWN in called.err


@pytest.mark.parametrize("debug", [(), ("--debug",)])
def test_tracebacks(debug: tuple[str, ...], evil: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(bounded.ROOT)}
    command = [sys.executable, "-m", "harness", *debug, "compare", EVIL, EVIL]
    done = subprocess.run(command, cwd=evil, env=environment, capture_output=True, text=True)
    assert done.returncode == 1 and SHOWN in done.stderr
    assert ("Traceback" in done.stderr) == bool(debug)
    assert not UNSEEN.search(done.stderr)


def test_on_a_terminal_only_styles_and_links_of_ours(evil: Path) -> None:
    """Rich's own escape codes: styles, and links to folders whose names are quoted."""
    environment = {**os.environ, "PYTHONPATH": str(bounded.ROOT), "TERM": "xterm-256color", "COLUMNS": "200"}
    for command in (["runs"], ["compare", *RUNS, "--resamples", "100"]):
        reader, writer = pty.openpty()
        process = subprocess.Popen(
            [sys.executable, "-m", "harness", *command],
            cwd=evil, env=environment, stdout=writer, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(writer)
        printed = b""
        try:
            while chunk := os.read(reader, 65_536):
                printed += chunk
        except OSError:  # how a terminal ends on Linux
            pass
        os.close(reader)
        assert process.wait() == 0 and process.stderr is not None and process.stderr.read() == b""
        process.stderr.close()
        screen = printed.decode().replace("\r\n", "\n")
        assert SHOWN in screen and "\x1b[" in screen
        ours = re.sub(r"\x1b\[[\d;]*m|\x1b\]8;(?:id=\d+)?;[!-~]*\x1b\\", "", screen)
        assert not UNSEEN.search(ours), ascii(ours)


def test_commands_print_through_one_place() -> None:
    """`print` is called in cli/output.py, and elsewhere for what no stranger has a part in."""
    allowed = {"main.py": 1, "cache.py": 1, "explaining.py": 1}
    for path in sorted((bounded.ROOT / "harness" / "cli").rglob("*.py")):
        if path.name != "output.py":
            calls = [
                node
                for node in ast.walk(ast.parse(path.read_text()))
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
            ]
            assert len(calls) == allowed.get(path.name, 0), path
