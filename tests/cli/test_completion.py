"""The Tab key, and the options of a choice with the comments of its YAML."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from harness.cli.choices_of_groups import Configs
from harness.cli.commands.completion import MARK, SCRIPTS, install
from harness.cli.completing import candidates
from harness.cli.main import _parser
from harness.cli.run_help import help_text
from harness.types import HarnessError
from tests.made_up import write_run


def offered(line: str) -> list[str]:
    (commands,) = (action for action in _parser()._actions if isinstance(action, argparse._SubParsersAction))
    return candidates(line, commands.choices)


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("harness comp", ["compare", "completion"]),
        ("harness run data", ["dataset="]),
        ("harness run system=sm", ["system=smollm2"]),
        ("harness run 'metrics=[bleu,chr", ["metrics=[bleu,chrf", "metrics=[bleu,chrfpp"]),
        ("harness run system=openai system.base", ["system.base_url="]),
        ("harness run system.senten", ["system.sentences="]),  # of the system where none is chosen
        ("harness run stop.thr", ["stop.threshold="]),
        ("harness run --mul", ["--multirun"]),
        ("harness compare --corr", ["--correction"]),
        ("harness run dataset.path=de", []),  # a file: for the shell
        ("harness", []),
    ],
)
def test_what_is_offered(line: str, wanted: list[str]) -> None:
    assert offered(line) == wanted


def test_names_of_runs_the_newest_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert offered("harness compare dev") == []
    for i, name in enumerate(("dev-old-0a1b2c3d", "dev-new-0a1b2c3d", "dev-new-1a1b2c3d")):
        folder = write_run(tmp_path / "runs" / "harness" / name, name)
        os.utime(folder / "manifest.json", (i, i))
    assert offered("harness compare dev") == ["dev-new", "dev-old"]
    assert offered("harness run --from dev-o") == ["dev-old"]
    assert offered("harness run dev") == []


def test_a_folder_of_ones_own_comes_with_it(tmp_path: Path) -> None:
    (tmp_path / "system").mkdir()
    (tmp_path / "system" / "mine.yaml").write_text("_target_: my.System\nspeed: 3   # metres a second\n")
    assert offered(f"harness run --config-dir {tmp_path} system=mi") == ["system=mine"]
    assert offered(f"harness run --config-dir {tmp_path} system=mine system.s") == ["system.speed="]
    shown = help_text(["--config-dir", str(tmp_path), "system=mine"])
    assert "speed: 3   # metres a second" in shown and "_target_" not in shown


def test_help_shows_options_with_their_comments() -> None:
    whole = help_text([])
    assert "tokenize: 13a" in whole and "limit: null           # the first N examples only" in whole
    assert "resamples: " in whole and "_target_" not in whole
    chosen = help_text(["system=smollm2", "limit=3"])
    assert "system=huggingface, which system=smollm2 is built on" in chosen
    assert "num_beams: 1" in chosen and "tokenize: 13a" not in chosen
    with pytest.raises(HarnessError, match=r"there is no system=opnai \(did you mean 'openai'\?\)"):
        help_text(["system=opnai"])


def test_every_choice_has_a_help() -> None:
    configs = Configs.of([])
    for group in configs.groups():
        for choice in configs.choices(group):
            assert f"{group}={choice}" in help_text([f"{group}={choice}"]) or group in ("experiment", "tracking")


def test_installing_twice_changes_a_profile_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / ".bashrc").write_text("alias ll='ls -l'")
    for shell in SCRIPTS:
        for _ in range(2):
            script = install(shell, tmp_path)
        assert script.read_text() == SCRIPTS[shell]
    profile = (tmp_path / ".bashrc").read_text()
    assert profile.startswith("alias ll='ls -l'\n[ -r ") and profile.count(MARK) == 1
    assert (tmp_path / ".config" / "fish" / "completions" / "harness.fish").is_file()


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash on this machine")
@pytest.mark.parametrize(
    ("line", "reply"),
    [("harness run system=sm", "smollm2 "), ("harness run sys", "system="), ("harness comple", "completion ")],
)
def test_bash_itself(tmp_path: Path, line: str, reply: str) -> None:
    (tmp_path / "harness").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m harness "$@"\n')
    (tmp_path / "harness").chmod(0o755)
    code = f"{SCRIPTS['bash']}\nCOMP_LINE='{line}'; COMP_POINT=${{#COMP_LINE}}; _harness; printf '%s' \"${{COMPREPLY[@]}}\""
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(["bash", "-c", code], env=environment, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == (reply, "")
