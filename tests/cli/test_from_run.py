"""`harness run --from RUN`: composed again from what the manifest records; and configs that Hydra would not read."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Called
from tests.made_up import ARGUMENTS, calls, install

Cli = Callable[..., Called]
RUN = (
    "run", "dataset=file", "dataset.path=dev.jsonl", "system=predictions", "system.path=good.jsonl", "metrics=[bleu]",
    "tracking=none", "stats.resamples=50",
)  # fmt: skip


@pytest.fixture
def stored(files: Path, cli: Cli) -> Path:
    called = cli(*RUN, "output_dir=first", "limit=3")
    assert called.code == 0, called.err
    return files / "first"


def test_the_same_run_again(stored: Path, cli: Cli) -> None:
    called = cli("run", "--from", "first", "--trust", "output_dir=second")
    assert called.code == 0, called.err
    assert "is not as it" not in called.err
    for name in ("scores.json", "examples.parquet", "statistics.parquet", "config.yaml"):
        mine = (stored.parent / "second" / name).read_text("latin-1").replace("output_dir: second", "output_dir: first")
        assert mine == (stored / name).read_text("latin-1"), name


def test_overrides_go_on_top(stored: Path, cli: Cli) -> None:
    called = cli("run", "--from=first", "--trust", "output_dir=second", "system.path=bad.jsonl", "metrics=[chrf]")
    assert called.code == 0, called.err
    manifest = json.loads(Path("second/manifest.json").read_text())
    assert manifest["config"]["limit"] == 3
    assert manifest["config"]["system"]["path"] == "bad.jsonl"
    assert list(manifest["metrics"]) == ["chrf"]
    assert "output_dir=first" not in manifest["command"]["overrides"]


def test_another_system_leaves_out_the_options_of_the_stored_one(stored: Path, cli: Cli) -> None:
    called = cli("run", "--from", "first", "--trust", "output_dir=second", "system=lead")
    assert called.code == 0, called.err
    assert json.loads(Path("second/manifest.json").read_text())["system"]["name"] == "lead"


def test_it_says_what_it_would_run_and_refuses(files: Path, cli: Cli) -> None:
    install(files)
    assert cli(*ARGUMENTS, "output_dir=first").code == 0
    before = calls()
    called = cli("run", "--from", "first", "output_dir=second")
    assert called.code == 3
    assert "would run system: tests.made_up.MadeUp" in called.err
    assert "expected --trust" in called.err
    assert calls() == before
    assert not Path("second").exists()
    again = cli("run", "--from", "first", "output_dir=second", "--trust", "cache=none")
    assert again.code == 0, again.err  # its own YAML is found in the folder that was named
    assert len(calls()) == 2 * len(before)


def test_a_default_that_changed_is_named(stored: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    manifest = json.loads((stored / "manifest.json").read_text())
    manifest["config"]["stats"]["level"] = 0.9  # as if the default had been this
    (stored / "manifest.json").write_text(json.dumps(manifest))
    called = cli("run", "--from", "first", "--trust", "output_dir=second")
    assert called.code == 0, called.err
    assert "stats.level (0.9 there, 0.95 here)" in called.err


def test_secrets_come_from_the_environment(files: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    install(files)
    monkeypatch.setenv("MY_PROMPT", "Geheim12")
    assert cli(*ARGUMENTS, "output_dir=first", "system.prompt=${oc.env:MY_PROMPT}").code == 0
    assert "Geheim12" not in Path("first/manifest.json").read_text()
    command = json.loads(Path("first/manifest.json").read_text())["command"]
    assert "system.prompt=${oc.env:MY_PROMPT}" in command["overrides"]
    monkeypatch.setenv("MY_PROMPT", "Anderes34")
    called = cli("run", "--from", "first", "--trust", "output_dir=second")
    assert called.code == 0, called.err
    assert "given as a secret" not in called.err
    keys = [json.loads(Path(folder, "manifest.json").read_text())["system"]["key"] for folder in ("first", "second")]
    assert keys[0] != keys[1]


@pytest.mark.parametrize(
    ("arguments", "code", "expected"),
    [
        (["--from", "nowhere", "--trust"], 1, "there is no run 'nowhere'"),
        (["--from"], 1, "--from has no value"),
        (["--trust"], 1, "--trust without --from RUN"),
        (["--from", "rescored", "--trust"], 1, "it was made by harness score first"),
        (["--config-dir", "first", "--config-name", "config"], 1, "first/config.yaml would not be read: this package has a config.yaml too, which comes first; expected harness run --from first"),
        (["--config-dir=first"], 1, "expected harness run --from first"),
        (["-cd", "mine"], 1, "another name for it"),
    ],
)  # fmt: skip
def test_what_it_refuses(stored: Path, cli: Cli, arguments: list[str], code: int, expected: str) -> None:
    Path("mine").mkdir()
    shutil.copy(stored / "config.yaml", "mine/config.yaml")
    if "rescored" in arguments:
        assert cli("score", "first", "metrics=[chrf]", "output_dir=rescored").code == 0
    called = cli("run", *arguments)
    assert called.code == code, called.err
    assert expected in called.err
    assert "Traceback" not in called.err
