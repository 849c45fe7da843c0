"""Damaged run folders: every command says which file and what is wrong with it, and goes on where there are others."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.test_bad_input import RUN
from tests.conftest import Called

Cli = Callable[..., Called]
COMMANDS = (("compare",), ("table",), ("power",), ("report", "-o", "r.html"), ("plot", "-o", "figures"))


@pytest.fixture
def two(files: Path, cli: Cli) -> tuple[Path, Path]:
    """Two finished runs on the same data."""
    assert cli(*RUN, "output_dir=runs/a").code == 0
    shutil.copytree("runs/a", "runs/b")
    return Path("runs/a"), Path("runs/b")


def test_files_that_are_not_those_of_a_run(two: tuple[Path, Path], cli: Cli) -> None:
    good, damaged = two
    scores = json.loads((good / "scores.json").read_text())
    manifest = json.loads((good / "manifest.json").read_text())
    bleu = scores["scores"]["bleu"]
    for name, content, said in (
        ("manifest.json", [], "is not that of a finished run ([] for an object)"),
        ("manifest.json", {}, "is not that of a finished run (no 'schema')"),
        ("manifest.json", "x", "is not that of a finished run ('x' for an object)"),
        ("manifest.json", {"schema": 1}, "is not that of a finished run (no 'dataset')"),
        ("manifest.json", {**manifest, "schema": 9}, "has schema 9, written by a newer harness"),
        ("manifest.json", {**manifest, "ended": "soon"}, "is not that of a finished run ('soon' for a time)"),
        ("scores.json", [], "is not that of a finished run ([] for an object)"),
        ("scores.json", {}, "is not that of a finished run (no 'schema')"),
        ("scores.json", {"schema": 1, "scores": {}}, "is not that of a finished run (no 'name')"),
        ("scores.json", {**scores, "scores": {"bleu": 3}}, "is not that of a finished run (3 for 'scores.bleu')"),
        ("scores.json", {**scores, "scores": {"bleu": {**bleu, "low": "1"}}}, "is not that of a finished run ('1' for 'scores.bleu.low')"),
        ("scores.json", {**scores, "scores": {"bleu": {**bleu, "odd": 1}}}, "is not that of a finished run (the score bleu has 'odd')"),
        ("manifest.json", {**manifest, "schema": 0}, "has schema 0, written by an earlier harness (this one reads schema 1)"),
        ("scores.json", {**scores, "schema": 9}, "has schema 9, written by a newer harness (this one reads schema 1)"),
    ):  # fmt: skip
        (damaged / name).write_text(json.dumps(content))
        for command in COMMANDS if content in ({}, {**scores, "schema": 9}) else COMMANDS[:1]:
            called = cli(command[0], str(good), str(damaged), *command[1:])
            assert (called.code, called.out) == (1, ""), (command, content)
            assert called.err.startswith(f"harness: {damaged / name} {said}"), (command, content, called.err)
            assert called.err.count("\n") == 1
        assert f"{damaged / name} {said}" in cli("score", str(damaged), "metrics=[chrf]", "tracking=none").err
        (unfinished,) = json.loads(cli("runs", "--json").out)["unfinished"]
        assert unfinished["folder"] == str(damaged)
        assert unfinished["reason"].startswith(
            ("not as this harness writes it: ", "schema 9, written by a newer", "schema 0, written by an earlier")
        )
        shutil.copy(good / name, damaged / name)
    assert cli("compare", str(good), str(damaged)).code == 0


def test_a_damaged_folder_does_not_keep_the_others_from_mlflow(two: tuple[Path, Path], cli: Cli) -> None:
    damaged = two[1]
    shutil.copytree(damaged, "runs/c")
    shutil.copytree(damaged, "runs/d")
    for folder, name, content in (
        ("b", "manifest.json", "[]"),
        ("c", "manifest.json", "{"),
        ("d", "scores.json", "{}"),
    ):
        Path("runs", folder, name).write_text(content)
    for given in ((), ("runs",), ("runs/a", "runs/b", "runs/c", "runs/d")):
        called = cli("sync", "--json", *given)
        assert (called.code, called.err) == (1, "")
        reported = {Path(entry["folder"]).name: entry for entry in json.loads(called.out)["runs"]}
        assert reported.pop("a")["status"] == ("already there" if given else "logged")
        assert {folder: entry["status"] for folder, entry in reported.items()} == dict.fromkeys("bcd", "failed")
        assert reported["b"]["error"].startswith(
            "runs/b/manifest.json is not that of a finished run ([] for an object)"
        )


def test_what_is_listed_can_be_compared(two: tuple[Path, Path], cli: Cli) -> None:
    good, damaged = two
    for name in ("examples.parquet", "statistics.parquet"):
        (damaged / name).rename("away")
        compared = cli("compare", str(good), str(damaged))
        assert compared.code == 1
        assert ("harness score runs/b computes them from its outputs" in compared.err) == (name == "statistics.parquet")
        shown = cli("runs").out.splitlines()
        assert shown[-2:] == ["1 run, 95% intervals", f"1 folder is not a finished run: runs/b (no {name}: incomplete)"]
        Path("away").rename(damaged / name)
    assert cli("runs").out.splitlines()[-1] == "2 runs, 95% intervals"


@pytest.mark.parametrize("name", ["examples.parquet", "statistics.parquet"])
def test_tables_that_are_none(two: tuple[Path, Path], cli: Cli, name: str) -> None:
    good, damaged = two
    (damaged / name).write_text("junk")
    for command in COMMANDS:
        called = cli(command[0], str(good), str(damaged), *command[1:])
        assert (called.code, called.out) == (1, "")
        assert called.err.startswith(f"harness: {damaged / name} cannot be read (") and called.err.count("\n") == 1
